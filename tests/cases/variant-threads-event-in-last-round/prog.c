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

#include <limits.h>
#include <pthread.h>
enum { THREADS = 300, AT_ONCE = 6, ROUNDS = 4 };
int __cxa_thread_atexit_impl(void (*)(void *), void *, void *);
extern void *__dso_handle;
static pthread_key_t late, steady;
NOINL void *last_round(void) { return malloc(21); }
NOINL void *each_round(void) { return malloc(32); }
NOINL void *at_object_end(void) { return malloc(25); }
static void on_late(void *round) { if ((long)round < ROUNDS) pthread_setspecific(late, (void *)((long)round + 1)); else use(last_round()); }
static void on_steady(void *round) { free(each_round()); if ((long)round < ROUNDS) pthread_setspecific(steady, (void *)((long)round + 1)); }
static void on_object(void *a) { void *p = at_object_end(); use(at_object_end()); free(p); }
static void *body(void *kind) {
  if ((long)kind == 0) pthread_setspecific(late, (void *)1);
  if ((long)kind == 1) pthread_setspecific(steady, (void *)1);
  if ((long)kind == 2) CHECK(!__cxa_thread_atexit_impl(on_object, 0, &__dso_handle));
  return 0; }
int main(void) { pthread_attr_t small; CHECK(!pthread_attr_init(&small)); CHECK(!pthread_attr_setstacksize(&small, PTHREAD_STACK_MIN));
  CHECK(!pthread_key_create(&steady, on_steady)); CHECK(!pthread_key_create(&late, on_late));
  for (long i = 0; i < 3 * THREADS; i += AT_ONCE) { pthread_t t[AT_ONCE];
    for (long k = 0; k < AT_ONCE; k++) CHECK(!pthread_create(t + k, k % 2 ? &small : 0, body, (void *)((i + k) % 3)));
    for (long k = 0; k < AT_ONCE; k++) pthread_join(t[k], 0); }
  say("OK\n"); return 0; }
