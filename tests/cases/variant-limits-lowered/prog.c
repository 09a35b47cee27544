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

#include <sys/resource.h>
static long status(const char *key) { static char b[4096]; FILE *f = fopen("/proc/self/status", "r"); size_t n = fread(b, 1, sizeof b - 1, f); fclose(f); b[n] = 0;
  char *s = strstr(b, key); return s ? atol(s + strlen(key)) << 10 : 0; }
NOINL void *under_all(void) { return malloc(1 << 20); }
NOINL void *small(void) { return malloc(1000); }
static void lower(int what, rlim_t to) { struct rlimit r; CHECK(!getrlimit(what, &r)); r.rlim_cur = to; CHECK(!setrlimit(what, &r)); }
int main(void) { void *q = malloc(10); use(q); free(q);
  lower(RLIMIT_AS, status("VmSize:") + (40l << 20)); lower(RLIMIT_DATA, status("VmData:") + (24l << 20));
  lower(RLIMIT_FSIZE, 0); lower(RLIMIT_NPROC, 1);
  for (int i = 0; i < 16; i++) { char *p = under_all(); CHECK(p); p[0] = p[1048575] = 1; use(p); }
  for (int i = 0; i < 1000; i++) { char *p = small(); CHECK(p); use(p); }
  for (int i = 0; i < 300000; i++) { void *x = malloc(i % 500); CHECK(x); use(x); free(x); }
  lower(RLIMIT_FSIZE, RLIM_INFINITY);
  for (int i = 0; i < 300000; i++) { void *x = malloc(i % 500); CHECK(x); use(x); free(x); }
  say("OK\n"); return 0; }
