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

#include <fcntl.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
NOINL void *keep_before(void) { return malloc(777); }
NOINL void keep_after(void) { for (int i = 0; i < 100; i++) use(malloc(1000)); }
static void fail(int fd, int code) { if (write(fd, &code, sizeof code) < 0) _exit(8); _exit(7); }
#define SURE(c) do { if (!(c)) fail(out, __LINE__); } while (0)
static void daemonized(char **v, int out) { struct stat mine, st; fd_set set; struct timeval now = {0, 0}; int s, f; char note[32];
  SURE(!syscall(SYS_close_range, 3u, (unsigned)out - 1, 0u) && !syscall(SYS_close_range, (unsigned)out + 1, ~0u, 0u));
  for (int i = 0; i < 3; i++) close(i);
  for (int i = 0; i < 3; i++) SURE(open("/dev/null", O_RDWR) == i);
  f = open(v[1], O_CREAT | O_RDWR | O_TRUNC, 0644); SURE(f == 3 && !fstat(f, &mine));
  for (int i = 4; i < 1024; i++) if (i != out) SURE(dup2(f, i) == i);
  keep_after();
  for (int i = 0; i < 200000; i++) { void *x = malloc(i % 500); use(x); free(x); }
  for (int i = 3; i < 1024; i++) if (i != out) SURE(!fstat(i, &st) && st.st_ino == mine.st_ino && st.st_size == 0);
  FD_ZERO(&set); for (int i = 3; i < 1023; i++) if (i != out) FD_SET(i, &set); SURE(select(1024, &set, NULL, NULL, &now) > 1000);
  for (int i = 4; i < 1024; i++) if (i != out) close(i);
  pid_t p = fork(); SURE(p >= 0);
  if (!p) { free(keep_before()); for (int i = 4; i < 1024; i++) if (i != out && fcntl(i, F_GETFD) != -1) SURE(fcntl(i, F_GETFD) & FD_CLOEXEC && i >= 512);
    snprintf(note, sizeof note, "%d", out); execl(v[0], v[0], "look", note, NULL); _exit(6); }
  SURE(waitpid(p, &s, 0) == p && s == 0);
  fail(out, 0); }
int main(int c, char **v) { int pipes[2], code = -1, s; void *q;
  if (!strcmp(v[1], "look")) { for (int i = 4; i < 2048; i++) if (i != atoi(v[2]) && fcntl(i, F_GETFD) != -1 && !(fcntl(i, F_GETFD) & FD_CLOEXEC)) return 5; return 0; }
  q = keep_before(); use(q); CHECK(!pipe(pipes)); CHECK(dup2(pipes[1], 1023) == 1023); close(pipes[1]);
  pid_t p = fork(); CHECK(p >= 0);
  if (!p) { free(q); void *z = keep_before(); use(z); free(z); daemonized(v, 1023); }
  close(1023); CHECK(read(pipes[0], &code, sizeof code) == sizeof code);
  if (code) dprintf(2, "line %d of the daemon\n", code);
  CHECK(code == 0); CHECK(waitpid(p, &s, 0) == p); say("OK\n"); return 0; }
