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
int main(int c, char **v) { void *h[2]; char *(*keep[2])(void); char *(*churn[2])(int);
  char path[4096]; snprintf(path, sizeof path, "%s/plug.so", v[1]);
  CHECK(h[0] = dlmopen(LM_ID_NEWLM, path, RTLD_NOW)); CHECK(h[1] = dlopen(path, RTLD_NOW)); CHECK(h[0] != h[1]);
  for (int i = 0; i < 2; i++) { CHECK(keep[i] = dlsym(h[i], "plug_keep")); CHECK(churn[i] = dlsym(h[i], "plug_churn")); }
  CHECK(keep[0] != keep[1]);
  for (int n = 0; n < 2; n++) for (int i = 0; i < 2; i++) { char *p = keep[i](); CHECK(p[999] == 'k'); use(p); }
  for (int i = 0; i < 2; i++) CHECK(!strcmp(churn[i](5000), "churned"));
  CHECK(!dlclose(h[0]));
  use(malloc(300)); say("OK\n"); return 0; }
