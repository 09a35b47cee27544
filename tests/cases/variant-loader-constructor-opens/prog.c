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
#include <link.h>
extern void *first_handle; extern void *second_open(void);
static int objects;
NOINL void *in_callback(int i) { return malloc(100 + i); }
static int callback(struct dl_phdr_info *i, size_t n, void *d) { void *p = in_callback(objects++); use(p); free(p); return 0; }
int main(void) { CHECK(first_handle); dl_iterate_phdr(callback, NULL); CHECK(objects >= 5);
  CHECK(!dlclose(first_handle)); CHECK(second_open()); objects = 0; dl_iterate_phdr(callback, NULL); CHECK(objects >= 5);
  say("OK\n"); return 0; }
