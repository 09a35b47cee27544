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
#include <semaphore.h>
enum { THREADS = 8 };
static sem_t ready;
NOINL void *known(void) { return malloc(100); }
NOINL void main_keeps(void) { use(malloc(9)); }
NOINL void *deep(int n) { void *p = n ? deep(n - 1) : malloc(50); use(p); return p; }
static void *brief(void *a) { for (int i = 0; i < 50; i++) free(deep(i)); return a; }
static void start(void *(*body)(void *), void *arg, int may_fail) { pthread_t t; int failed = pthread_create(&t, 0, body, arg); CHECK(!failed || may_fail); if (!failed) pthread_detach(t); }
static void *body(void *number) {
  for (int i = 0; i < 10; i++) { void *p = known(); use(p); if (i % 2) free(p); }
  sem_post(&ready);
  for (;;) { for (int i = 0; i < 200; i++) free(deep(i)); if ((long)number == 0) start(brief, 0, 1); }
  return 0; }
int main(void) { CHECK(!sem_init(&ready, 0, 0));
  for (long i = 0; i < THREADS; i++) start(body, (void *)i, 0);
  for (int i = 0; i < THREADS; i++) sem_wait(&ready);
  main_keeps(); say("OK\n"); return 0; }
