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
enum { ROUNDS = 200, BLOCKS = 64 };
static void *blocks[BLOCKS]; static sem_t full, empty;
NOINL void *aligned(int i) { return memalign((size_t)16 << i % 9, 10 * i + 1); }
NOINL void *paged(int i) { return i % 2 ? valloc(i) : pvalloc(i); }
NOINL void *posix(int i) { void *p = NULL; CHECK(posix_memalign(&p, (size_t)8 << i % 10, i) == 0); return p; }
NOINL void *grown(void *p) { return realloc(p, 700); }
static void *consume(void *a) {
  for (int r = 0; r < ROUNDS; r++) { sem_wait(&full);
    for (int i = 0; i < BLOCKS; i++) { unsigned char *p = blocks[i];
      if (i % 4 == 3) { p = grown(p); CHECK(p); memset(p, 1, 700); }
      if (r == ROUNDS - 1 && i >= BLOCKS - 4) continue;       /* the last four stay */
      free(p); }
    sem_post(&empty); }
  return a; }
int main(void) {
  pthread_t t; sem_init(&full, 0, 0); sem_init(&empty, 0, 0); CHECK(!pthread_create(&t, 0, consume, 0));
  for (int r = 0; r < ROUNDS; r++) {
    for (int i = 0; i < BLOCKS; i++) {
      blocks[i] = i % 3 == 0 ? aligned(i) : i % 3 == 1 ? paged(i) : posix(i); CHECK(blocks[i]);
      memset(blocks[i], 5, malloc_usable_size(blocks[i])); }
    sem_post(&full); sem_wait(&empty); }
  CHECK(!pthread_join(t, 0));
  say("OK\n"); return 0; }
