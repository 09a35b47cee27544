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

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
enum { CHILDREN = 60, STACK = 256 * 1024 };
static void *volatile given;
NOINL void *shared(void) { return malloc(125); }
NOINL void *main_keeps(void) { return malloc(200); }
NOINL void *daemon_keeps(void) { return malloc(770); }
static int child(void *number) { long n = (long)number; given = shared();
  if (n % 3 == 0) _exit(0);
  if (n % 3 == 1) syscall(SYS_exit_group, 0);
  syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
  return 1; }
int main(void) { char *stack = mmap(0, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); int st; CHECK(stack != MAP_FAILED);
  for (long i = 0; i < CHILDREN; i++) {
    pid_t p = clone(child, stack + STACK, CLONE_VM | CLONE_FILES | SIGCHLD, (void *)i);       /* the thread pointer is shared: wait */
    CHECK(p > 0); CHECK(waitpid(p, &st, 0) == p); CHECK(i % 3 == 2 ? WTERMSIG(st) == SIGKILL : st == 0);
    CHECK(given); if (i % 2) free(given); given = 0; use(main_keeps()); }
  int ends[2]; char byte; CHECK(!pipe(ends)); pid_t p = fork(); CHECK(p >= 0);
  if (!p) { CHECK(!daemon(1, 1)); use(daemon_keeps()); CHECK(write(ends[1], "d", 1) == 1); return 0; }
  CHECK(waitpid(p, &st, 0) == p && st == 0); close(ends[1]); CHECK(read(ends[0], &byte, 1) == 1);
  CHECK(read(ends[0], &byte, 1) == 0);      /* the grandchild has ended, its profile with it */
  say("OK\n"); return 0; }
