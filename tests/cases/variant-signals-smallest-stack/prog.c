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

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
static volatile int depth; static void *kept;
NOINL void *in_handler(void) { return malloc(24); }
NOINL void *inner(void) { return malloc(5000); }
NOINL void *first_of_thread(void) { return malloc(34); }
static void small_stack(size_t more) { long least = sysconf(_SC_MINSIGSTKSZ); CHECK(least > 0); size_t size = ((size_t)least + more + 4095) & ~(size_t)4095;
  char *m = mmap(0, 4096 + size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); CHECK(m != MAP_FAILED); CHECK(!mprotect(m + 4096, size, PROT_READ | PROT_WRITE));
  stack_t ss = {.ss_sp = m + 4096, .ss_size = size}; CHECK(!sigaltstack(&ss, 0)); }
static void h1(int s) { free(kept); kept = in_handler(); use(in_handler()); }
static void h2(int s) { free(inner()); if (!depth) { depth = 1; raise(SIGUSR2); depth = 0; } }
static void h3(int s) { use(first_of_thread()); }
static void *body(void *a) { small_stack(8192); pthread_kill(pthread_self(), SIGTERM); return a; }
int main(void) { struct sigaction a1 = {.sa_handler = h1, .sa_flags = SA_ONSTACK}, a2 = {.sa_handler = h2, .sa_flags = SA_ONSTACK | SA_NODEFER}, a3 = {.sa_handler = h3, .sa_flags = SA_ONSTACK};
  small_stack(8192); CHECK(!sigaction(SIGUSR1, &a1, 0)); CHECK(!sigaction(SIGUSR2, &a2, 0)); CHECK(!sigaction(SIGTERM, &a3, 0));
  for (int i = 0; i < 400; i++) raise(SIGUSR2);
  for (int i = 0; i < 400; i++) raise(SIGUSR1);
  free(kept);
  for (int i = 0; i < 20; i++) { pthread_t t; CHECK(!pthread_create(&t, 0, body, 0)); pthread_join(t, 0); }
  say("OK\n"); return 0; }
