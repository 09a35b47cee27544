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
#include <sys/wait.h>
enum { FORKERS = 2, FORKS = 40 };
static int stop; static __thread void *pending; static __thread pid_t made;
NOINL void *before(void) { return malloc(70); }
NOINL void *in_parent(void) { return malloc(30); }
NOINL void *in_child(void) { return malloc(41); }
NOINL void *child_body(void) { return malloc(100); }
static void on_prepare(void) { pending = before(); }
static void on_parent(void) { free(pending); use(in_parent()); }
static void on_child(void) { free(pending); use(in_child()); }
static void be_child(void) { alarm(20); for (int i = 0; i < 60; i++) { void *p = child_body(); use(p); if (i % 6) free(p); } }
static void h(int s) { made = fork(); if (!made) { be_child(); _exit(0); } }
static void *forker(void *a) {
  for (int i = 0; i < FORKS; i++) { int st;
    if (i % 2) pthread_kill(pthread_self(), SIGUSR1);       /* delivered before it returns */
    else { made = fork(); if (!made) { be_child(); _exit(0); } }
    CHECK(made > 0); CHECK(waitpid(made, &st, 0) == made); CHECK(st == 0); }
  return a; }
NOINL void *worker(void *a) { unsigned n = 1; void *q[32] = {0};
  while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) { n = n * 1103515245 + 12345; unsigned k = n >> 27; free(q[k]); q[k] = malloc(16 + (n >> 8) % 3000); }
  for (int i = 0; i < 32; i++) free(q[i]);
  return a; }
int main(void) { pthread_t f[FORKERS], w[2]; struct sigaction sa = {.sa_handler = h}; CHECK(!sigaction(SIGUSR1, &sa, 0));
  CHECK(!pthread_atfork(on_prepare, on_parent, on_child));
  for (int i = 0; i < 2; i++) CHECK(!pthread_create(w + i, 0, worker, 0));
  for (int i = 0; i < FORKERS; i++) CHECK(!pthread_create(f + i, 0, forker, 0));
  for (int i = 0; i < FORKERS; i++) pthread_join(f[i], 0);
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED); for (int i = 0; i < 2; i++) pthread_join(w[i], 0);
  say("OK\n"); return 0; }
