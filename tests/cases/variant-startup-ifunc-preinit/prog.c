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

/* The resolver runs while the loader relocates the program, the preinit function before any library's constructor. */
static void *early[3];
NOINL void *in_resolver(void) { return calloc(3, 100); }
NOINL void *in_preinit(size_t n) { return malloc(n); }
NOINL void *grow_in_preinit(void *p) { return realloc(p, 5000); }
static int answer(void) { return 42; }
static int (*resolve(void))(void) {
  void *gone = in_resolver(); early[0] = in_resolver(); free(gone);
  return answer; }
int chosen(void) __attribute__((ifunc("resolve")));
static void before_all(void) {
  char *p = in_preinit(1000); memset(p, 7, 1000); early[1] = grow_in_preinit(p); early[2] = in_preinit(2000); }
__attribute__((section(".preinit_array"), used)) static void (*const preinit)(void) = before_all;
int main(void) {
  CHECK(chosen() == 42);
  CHECK(early[0] && early[1] && early[2]);
  for (int i = 0; i < 300; i++) CHECK(((char *)early[0])[i] == 0);
  for (int i = 0; i < 1000; i++) CHECK(((char *)early[1])[i] == 7);
  free(early[2]);
  early[0] = realloc(early[0], 400); CHECK(early[0]);
  for (int i = 0; i < 300; i++) CHECK(((char *)early[0])[i] == 0);
  use(early[0]);
  say("OK\n"); return 0; }
