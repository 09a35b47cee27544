#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define NOINL __attribute__((noinline, noclone))
static void say(const char *s) { if (write(1, s, strlen(s)) < 0) _exit(9); }
static void die(const char *w, int l) { dprintf(2, "FAIL line %d: %s (errno %d)\n", l, w, errno); _exit(1); }
#define CHECK(c) do { if (!(c)) die(#c, __LINE__); } while (0)
static void *volatile sink;   /* keeps the compiler from removing allocations */
static inline void use(void *p) { sink = p; __asm__ volatile("" ::: "memory"); }

#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>
enum { ROUNDS = 800 };
static sigjmp_buf back; static volatile int turn; static char other[64 * 1024];
NOINL void handler_keeps(void) { use(malloc(20)); }
NOINL void *after_jump(void) { return malloc(4); }
static void h(int s) { handler_keeps(); siglongjmp(back, 1); }
NOINL int wait_below(int depth) { volatile int zero = 0, *null = 0, x = depth;
  if (depth) return wait_below(depth - 1) + x;
  if (turn % 4 == 1) *null = 1;
  if (turn % 4 == 2) x = 1 / zero;
  if (turn % 4 == 3) abort();
  struct itimerval once = {{0, 0}, {0, 50}}; CHECK(!setitimer(ITIMER_REAL, &once, 0));
  for (;;) x++;
  return x; }
NOINL void rounds(void) { for (turn = 0; turn < ROUNDS; turn++) {
    if (sigsetjmp(back, 1) == 0) wait_below(turn % 60);
    void *p = after_jump(); use(p); if (turn % 8) free(p); } }
int main(void) { stack_t ss = {.ss_sp = other, .ss_size = sizeof other}; CHECK(!sigaltstack(&ss, 0));
  int all[] = {SIGALRM, SIGSEGV, SIGFPE, SIGABRT};
  for (int i = 0; i < 4; i++) { struct sigaction sa = {.sa_handler = h, .sa_flags = i % 2 ? SA_ONSTACK : 0}; CHECK(!sigaction(all[i], &sa, 0)); }
  rounds(); say("OK\n"); return 0; }
