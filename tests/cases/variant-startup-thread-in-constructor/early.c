/* A library of the program: its constructor runs before those of preloaded libraries and starts a thread, which allocates until main ends it. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#define NOINL __attribute__((noinline, noclone))
enum { KEPT = 50 };
static pthread_t thread;
static void *volatile kept[KEPT];
static atomic_int enough, turns;
NOINL void *in_early_thread(void) { void *p = malloc(60); __asm__ volatile("" : "+r"(p) : : "memory"); return p; }
NOINL void *in_early_churn(void) { void *p = malloc(24); __asm__ volatile("" : "+r"(p) : : "memory"); return p; }
NOINL void *in_early_ctor(void) { void *p = calloc(11, 11); __asm__ volatile("" : "+r"(p) : : "memory"); return p; }
static void *run(void *from_ctor) {
  free(from_ctor);
  for (int i = 0; i < KEPT; i++) kept[i] = in_early_thread();
  do { free(in_early_churn()); atomic_fetch_add(&turns, 1); } while (!atomic_load(&enough));
  return NULL; }
__attribute__((constructor)) static void start(void) {
  kept[0] = in_early_ctor();
  if (pthread_create(&thread, NULL, run, in_early_ctor())) abort();
  while (atomic_load(&turns) < 1000) ; }
int end_early_thread(void) {
  atomic_store(&enough, 1);
  return pthread_join(thread, NULL) == 0 && atomic_load(&turns) >= 1000; }
