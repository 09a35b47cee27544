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

#include <alloca.h>
#include <pthread.h>
enum { FRAMES = 50000 };
NOINL void deepest(void) { use(malloc(110)); }
NOINL void *on_the_way(void) { return malloc(10); }
NOINL int go(int n); NOINL int go_with_alloca(int n);
static int (*volatile way)(int) = go;
NOINL int go(int n) { if (n == 0) { for (int i = 0; i < 10; i++) deepest(); return 0; }
  int r = n % 7 == 0 ? way(n - 1) : go_with_alloca(n - 1);
  if (n > FRAMES - 700 && n % 70 == 0) { void *p = on_the_way(); use(p); if (n % 140) free(p); }
  return r + 1; }
NOINL int go_with_alloca(int n) { volatile char *room = alloca(16 + n % 500); room[0] = 1;
  if (n == 0) { for (int i = 0; i < 10; i++) deepest(); return 0; }
  return go(n - 1) + room[0]; }
static void *body(void *a) { for (int i = 0; i < 7; i++) CHECK(go(FRAMES) >= FRAMES / 2);
  return a; }
int main(void) { pthread_t t; pthread_attr_t big; CHECK(!pthread_attr_init(&big)); CHECK(!pthread_attr_setstacksize(&big, 128 << 20));
  CHECK(!pthread_create(&t, &big, body, 0)); pthread_join(t, 0); say("OK\n"); return 0; }
