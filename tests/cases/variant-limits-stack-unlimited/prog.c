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
NOINL void at_bottom(void) { use(malloc(1000)); }
NOINL int down(long room) { volatile char frame[65536]; frame[0] = frame[65535] = (char)room; if (room > 0) return down(room - 65536) + frame[0]; at_bottom(); return frame[65535]; }
static void *thread(void *p) { down(24l << 20); return p; }
int main(void) { pthread_t t[4]; pthread_attr_t a; CHECK(!pthread_attr_init(&a)); CHECK(!pthread_attr_setstacksize(&a, 32l << 20));
  down(64l << 20);
  for (int i = 0; i < 4; i++) CHECK(!pthread_create(&t[i], &a, thread, NULL));
  for (int i = 0; i < 4; i++) CHECK(!pthread_join(t[i], NULL));
  say("OK\n"); return 0; }
