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

#include <dlfcn.h>
NOINL void keep_all(void) { for (int i = 0; i < 50; i++) use(malloc(1000)); }
int main(int c, char **v) { char plug[4096], other[4096]; void *h; void *(*make)(void);
  snprintf(plug, sizeof plug, "%s/plug.so", v[1]); snprintf(other, sizeof other, "%s/other.so", v[1]);
  CHECK(!unlink(v[2]));
  CHECK(h = dlopen(plug, RTLD_NOW)); CHECK(make = dlsym(h, "first_make")); for (int i = 0; i < 30; i++) use(make());
  CHECK(!unlink(plug)); CHECK(!dlclose(h)); CHECK(!rename(other, plug));
  CHECK(h = dlopen(plug, RTLD_NOW)); CHECK(make = dlsym(h, "second_make")); for (int i = 0; i < 30; i++) use(make());
  keep_all(); for (int i = 0; i < 100000; i++) { void *p = malloc(i % 700); use(p); free(p); }
  say("OK\n"); return 0; }
