/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mappings.c - maps memory in every way; what each function must be charged with is in tests/test_mappings.py.
 *
 *   mappings each | fork | threads | moved | signals | resident
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(x)                                                                \
	do {                                                                    \
		if (!(x)) {                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x); \
			_exit(1);                                               \
		}                                                               \
	} while (0)
#define P ((size_t)4096)
#define NOINLINE __attribute__((noinline))

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

enum { RW = PROT_READ | PROT_WRITE, ANON = MAP_PRIVATE | MAP_ANONYMOUS };

static char *volatile held; /* no tail calls, nothing optimized away */

/* Unseen: without the C library's function. */
static char *reserve(size_t size)
{
	return (char *)syscall(SYS_mmap, NULL, size, PROT_NONE, ANON, -1, 0);
}

#define MAPS(name, addr, size, flags)                      \
	NOINLINE char *name(void *at)                      \
	{                                                  \
		(void)at;                                  \
		held = mmap(addr, size, RW, flags, -1, 0); \
		CHECK(held != MAP_FAILED);                 \
		return held;                               \
	}

MAPS(plain, NULL, 10 * P - 5, ANON)
MAPS(shared, NULL, 3 * P, MAP_SHARED | MAP_ANONYMOUS)
MAPS(reserved, NULL, 7 * P, ANON | MAP_NORESERVE)
MAPS(middle, NULL, 8 * P, ANON)
MAPS(first, at, 4 * P, ANON | MAP_FIXED)
MAPS(second, at, 4 * P, ANON | MAP_FIXED)
MAPS(fixed_old, NULL, 6 * P, ANON)
MAPS(fixed_new, at, 2 * P, ANON | MAP_FIXED)
MAPS(file_old, NULL, 4 * P, ANON)
MAPS(grown_old, NULL, 2 * P, ANON)
MAPS(shrunk_old, NULL, 10 * P, ANON)
MAPS(moved_old, NULL, 3 * P, ANON)
MAPS(target_old, NULL, 5 * P, ANON)
MAPS(part_old, NULL, 6 * P, ANON)
MAPS(dont_old, NULL, 2 * P, ANON)
MAPS(copied_old, NULL, 2 * P, MAP_SHARED | MAP_ANONYMOUS)
MAPS(failing, NULL, 4 * P, ANON)
MAPS(unseen_end, NULL, 5 * P, ANON)
MAPS(taken_over, at, 5 * P, ANON | MAP_FIXED)
MAPS(in_handler, NULL, 2 * P, ANON)
MAPS(inherited, NULL, 5 * P, ANON)
MAPS(inherited_too, NULL, 3 * P, ANON)
MAPS(child_maps, NULL, 2 * P, ANON)

NOINLINE void grown_new(char *old)
{
	held = mremap(old, 2 * P, 20 * P, MREMAP_MAYMOVE);
	CHECK(held != MAP_FAILED);
}

NOINLINE void shrunk_new(char *old)
{
	held = mremap(old, 10 * P, 4 * P, 0);
	CHECK(held == old);
}

NOINLINE void moved_new(char *old, char *to)
{
	held = mremap(old, 3 * P, 3 * P, MREMAP_MAYMOVE | MREMAP_FIXED, to);
	CHECK(held == to);
}

/* Two pages in the middle go elsewhere. */
NOINLINE void part_new(char *old)
{
	held = mremap(old + 2 * P, 2 * P, 4 * P, MREMAP_MAYMOVE);
	CHECK(held != MAP_FAILED);
}

NOINLINE void dont_new(char *old)
{
	held = mremap(old, 2 * P, 2 * P, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL);
	CHECK(held != MAP_FAILED || errno == EINVAL);
	printf("dontunmap %d\n", held != MAP_FAILED);
}

NOINLINE void copied_new(char *old)
{
	held = mremap(old, 0, 2 * P, MREMAP_MAYMOVE);
	CHECK(held != MAP_FAILED && held != old);
}

NOINLINE void churned(void)
{
	for (int i = 0; i < 1000; i++) {
		held = mmap(NULL, 3 * P, RW, ANON, -1, 0);
		CHECK(held != MAP_FAILED && munmap(held, 3 * P) == 0);
	}
}

NOINLINE void by_sbrk(void)
{
	held = sbrk(1000);
	CHECK(held != (void *)-1);
	held = sbrk(2000);
	CHECK(held != (void *)-1 && sbrk(-500) == held + 2000);
}

NOINLINE void by_brk(void)
{
	char *end = sbrk(0);

	CHECK(brk(end + 3000) == 0 && brk(end + 1000) == 0 && sbrk(0) == end + 1000);
}

/* Files do not count, neither do what is put over them nor what they are put over. */
static void files(void)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	char *old = file_old(NULL), *map;

	CHECK(fd >= 0);
	map = mmap(NULL, P, PROT_READ, MAP_PRIVATE, fd, 0);
	CHECK(map != MAP_FAILED);
	CHECK(mmap(old + P, P, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) == old + P);
	CHECK(mremap(map, P, P, MREMAP_MAYMOVE | MREMAP_FIXED, old + 2 * P) == old + 2 * P);
	close(fd);
}

/* Neither changes anything, and errno is the call's. */
static void failures(void)
{
	char *map = failing(NULL);

	errno = 0;
	CHECK(munmap(map + 1, P) == -1 && errno == EINVAL);
	errno = 0;
	CHECK(munmap(map, 0) == -1 && errno == EINVAL);
	errno = 0;
	CHECK(mmap(map + 1, P, RW, ANON | MAP_FIXED, -1, 0) == MAP_FAILED && errno == EINVAL);
	errno = 0;
	CHECK(mmap(NULL, (size_t)1 << 60, RW, ANON, -1, 0) == MAP_FAILED && errno == ENOMEM);
	errno = 0;
	CHECK(mremap(map, 4 * P, (size_t)1 << 60, MREMAP_MAYMOVE) == MAP_FAILED && errno);
	errno = 0;
	CHECK(mremap(map, 4 * P, 0, 0) == MAP_FAILED && errno == EINVAL);
	errno = 77;
	CHECK(munmap(map, P) == 0 && errno == 77);
	held = plain(NULL);
	CHECK(errno == 77);
}

static void handler(int signal)
{
	(void)signal;
	in_handler(NULL);
}

static void each(void)
{
	char *at, *to;

	plain(NULL);
	shared(NULL);
	reserved(NULL);
	at = middle(NULL);
	CHECK(munmap(at + 3 * P, 2 * P - 1) == 0 && munmap(at + 3 * P, 2 * P) == 0);
	at = reserve(8 * P);
	first(at);
	second(at + 4 * P);
	CHECK(munmap(at + 2 * P, 4 * P) == 0);
	at = fixed_old(NULL);
	fixed_new(at + 2 * P);
	files();
	grown_new(grown_old(NULL));
	shrunk_new(shrunk_old(NULL));
	at = moved_old(NULL);
	to = target_old(NULL);
	moved_new(at, to + P);
	part_new(part_old(NULL));
	dont_new(dont_old(NULL));
	copied_new(copied_old(NULL));
	failures();
	at = unseen_end(NULL);
	CHECK(syscall(SYS_munmap, at, 5 * P) == 0);
	taken_over(at);
	churned();
	by_sbrk();
	by_brk();
	signal(SIGUSR1, handler);
	raise(SIGUSR1);
	CHECK(munmap(reserve(P), P) == 0);
}

/* --- resident -------------------------------------------------------------------------------- */

#define MIB ((size_t)1 << 20)

MAPS(touched, NULL, 8 * MIB, ANON)
MAPS(half_touched, NULL, 8 * MIB, ANON)
MAPS(untouched, NULL, 64 * MIB, ANON | MAP_NORESERVE)
MAPS(shared_touched, NULL, 4 * MIB, MAP_SHARED | MAP_ANONYMOUS)

/* Maps that lie side by side are one to the kernel.  Waits for its input to end. */
static void resident(void)
{
	char *maps[] = {touched(NULL), half_touched(NULL), untouched(NULL), shared_touched(NULL)};
	const size_t sizes[] = {8 * MIB, 4 * MIB, 0, 4 * MIB};
	char *unseen;

	for (int i = 0; i < 4; i++)
		memset(maps[i], 1, sizes[i]);
	unseen = (char *)syscall(SYS_mmap, NULL, 2 * MIB, RW, ANON, -1, 0);
	memset(unseen, 1, 2 * MIB);
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		continue;
}

/* --- a child ---------------------------------------------------------------------------------- */

NOINLINE void child_grows(char *old)
{
	held = mremap(old, 3 * P, 6 * P, MREMAP_MAYMOVE);
	CHECK(held != MAP_FAILED);
}

static void forks(void)
{
	char *gone = inherited(NULL), *grows = inherited_too(NULL);
	pid_t child = fork();
	int status;

	if (child == 0) {
		CHECK(munmap(gone, 5 * P) == 0);
		child_grows(grows);
		child_maps(NULL);
		exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	/* Only unmaps: leaves no profile. */
	child = fork();
	if (child == 0)
		_exit(munmap(gone, 5 * P));
	CHECK(waitpid(child, &status, 0) == child && status == 0);
}

/* --- threads ---------------------------------------------------------------------------------- */

enum { THREADS = 8, ROUNDS = 2000, MOVES = 4000, SLOTS = 64 };

static _Atomic(char *) slots[SLOTS]; /* of pages; whoever takes one out unmaps it */
static _Atomic size_t left_moved;

NOINLINE char *thread_maps(void)
{
	held = NULL;
	char *map = mmap(NULL, 2 * P, RW, ANON, -1, 0);

	CHECK(map != MAP_FAILED);
	return map;
}

NOINLINE char *thread_grows(char *map)
{
	map = mremap(map, 2 * P, 5 * P, MREMAP_MAYMOVE);
	CHECK(map != MAP_FAILED);
	/* Back to two, so that everybody knows the size. */
	CHECK(munmap(map + 2 * P, 3 * P) == 0);
	return map;
}

static void *thread(void *arg)
{
	unsigned state = (unsigned)(uintptr_t)arg + 1;

	for (int i = 0; i < ROUNDS; i++) {
		char *map = thread_maps(), *old;

		if (rand_r(&state) % 4 == 0)
			map = thread_grows(map);
		old = __atomic_exchange_n((char **)&slots[rand_r(&state) % SLOTS], map,
					  __ATOMIC_ACQ_REL);
		if (old)
			CHECK(munmap(old, 2 * P) == 0);
	}
	return NULL;
}

static void threads(void)
{
	pthread_t ids[THREADS];
	size_t left = 0;

	for (uintptr_t i = 0; i < THREADS; i++)
		CHECK(pthread_create(&ids[i], NULL, thread, (void *)i) == 0);
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_join(ids[i], NULL) == 0);
	for (int i = 0; i < SLOTS; i++)
		left += slots[i] ? 2 * P : 0;
	printf("left %zu\n", left);
}

/* Where a mapping was before it moved, others map at once. */
static void *moves(void *arg)
{
	for (int i = 0; i < MOVES; i++) {
		char *map = thread_maps();

		map = mremap(map, 2 * P, 5 * P, MREMAP_MAYMOVE);
		CHECK(map != MAP_FAILED);
		if (i % 8 == 0)
			atomic_fetch_add(&left_moved, 5 * P);
		else
			CHECK(munmap(map, 5 * P) == 0);
	}
	return arg;
}

static void moved(void)
{
	pthread_t ids[THREADS];

	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_create(&ids[i], NULL, moves, NULL) == 0);
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_join(ids[i], NULL) == 0);
	printf("left %zu\n", atomic_load(&left_moved));
}

/* --- handlers --------------------------------------------------------------------------------- */

static void unmaps_at_once(int signal)
{
	int before = errno;
	char *map = mmap(NULL, 2 * P, RW, ANON, -1, 0);

	(void)signal;
	CHECK(map != MAP_FAILED && munmap(map, 2 * P) == 0);
	errno = before;
}

/* A timer whose handler maps, while the program does little else than being inside the recorder. */
static void signals(void)
{
	const struct itimerval soon = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};
	char *map;

	signal(SIGALRM, unmaps_at_once);
	CHECK(setitimer(ITIMER_REAL, &soon, NULL) == 0);
	for (int i = 0; i < 20000; i++) {
		free(malloc(100));
		map = thread_maps();
		CHECK(munmap(map, 2 * P) == 0);
	}
	CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "each"))
		each();
	else if (!strcmp(what, "fork"))
		forks();
	else if (!strcmp(what, "threads"))
		threads();
	else if (!strcmp(what, "moved"))
		moved();
	else if (!strcmp(what, "signals"))
		signals();
	else if (!strcmp(what, "resident"))
		resident();
	else
		return 2;
	return 0;
}
