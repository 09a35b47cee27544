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

NOINL void *make(size_t n) { return malloc(n); }
NOINL void *make_aligned(size_t a, size_t n) { return aligned_alloc(a, n); }
NOINL void *resize(void *p, size_t n) { return realloc(p, n); }
NOINL int refuse(void **p, size_t a, size_t n) { return posix_memalign(p, a, n); }
static volatile size_t big = SIZE_MAX / 2;
static int all(const unsigned char *p, unsigned char c, size_t n) { while (n--) if (*p++ != c) return 0; return 1; }
int main(void) {
  size_t live = 0;
  for (size_t n = 0; n < 600; n++) {           /* all that malloc_usable_size() allows is the program's, and moves with the block */
    unsigned char *p = make(n); CHECK(p);
    size_t usable = malloc_usable_size(p); CHECK(usable >= n);
    memset(p, 1 + n % 250, usable);
    p = resize(p, n % 3 == 0 ? usable + 1 : n % 3 == 1 ? 100000 : n / 2 + 1); CHECK(p);
    size_t kept = n % 3 == 2 && n / 2 + 1 < usable ? n / 2 + 1 : usable;
    CHECK(all(p, 1 + n % 250, kept));
    memset(p, 3, malloc_usable_size(p));
    if (n % 3 == 1) { live += 100000; continue; }
    free(p); }
  for (size_t a = 16; a <= 65536; a *= 2) {
    unsigned char *p = make_aligned(a, 3 * a); CHECK(p && (uintptr_t)p % a == 0);
    memset(p, 9, malloc_usable_size(p));
    p = resize(p, 7 * a); CHECK(p && all(p, 9, 3 * a));
    p = resize(p, a); CHECK(p && all(p, 9, a));
    memset(p, 4, malloc_usable_size(p));
    free(p); }
  for (int i = 0; i < 100; i++) {
    void *kept = make(50), *p = kept;
    CHECK(refuse(&p, 64, big) == ENOMEM && p == kept);
    CHECK(refuse(&p, 24, 10) == EINVAL && p == kept);
    CHECK(refuse(&p, 0, 10) == EINVAL && p == kept);
    CHECK(refuse(&p, 4, 10) == EINVAL && p == kept);
    if (i) free(kept); else use(kept); }
  CHECK(live == 20000000);
  say("OK\n"); return 0; }
