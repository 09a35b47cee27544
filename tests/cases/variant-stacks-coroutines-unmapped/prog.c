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

#include <sys/mman.h>
#include <ucontext.h>
enum { ROUNDS = 200, SIZE = 64 * 1024, GUARD = 4096 };
static ucontext_t back, co;
NOINL void *odd(void) { return malloc(101); }
NOINL void *even(void) { return malloc(102); }
NOINL void *even_deeper(void) { void *p = even(); use(p); return p; }
static void pause_here(int n) { if (n) pause_here(n - 1); else swapcontext(&co, &back); __asm__ volatile(""); }
NOINL void run_odd(int n) { for (int i = 0; i < 30; i++) { void *p = odd(); use(p); if (i) free(p); } pause_here(n % 20); CHECK(0); }
NOINL void run_even(int n) { for (int i = 0; i < 30; i++) { void *p = even_deeper(); use(p); if (i) free(p); } pause_here(n % 30); CHECK(0); }
int main(void) { char *at = 0;
  for (int i = 0; i < ROUNDS; i++) { char *base = 0, *stack;
    if (i % 5) { base = mmap(at, SIZE + 2 * GUARD, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); CHECK(base != MAP_FAILED); at = base; stack = base + GUARD; CHECK(!mprotect(stack, SIZE, PROT_READ | PROT_WRITE)); }
    else CHECK(stack = malloc(SIZE));
    getcontext(&co); co.uc_stack.ss_sp = stack; co.uc_stack.ss_size = SIZE; co.uc_link = &back;
    makecontext(&co, (void (*)(void))(i % 2 ? run_odd : run_even), 1, i); swapcontext(&back, &co);
    if (base) CHECK(!munmap(base, SIZE + 2 * GUARD)); else free(stack); }
  say("OK\n"); return 0; }
