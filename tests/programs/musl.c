/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * musl.c - every way to allocate that musl has, with known bytes for each function that calls it.
 *
 *   musl entries          each entry point, and the results of those that can fail
 *   musl threads          four threads of 1,000 blocks each
 *   musl fork             a child frees what its parent allocated, and allocates
 *   musl plugin FILE      a block by a function of a library that is loaded meanwhile
 *   musl exit|_exit|quick_exit   blocks freed by a handler and, at exit, a destructor
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, BLOCKS = 1000, LARGE = 3 << 20 };

#define SITE __attribute__((noinline))

static void *volatile kept[32];
static char *in_destructor, *in_handler;

static void check(int right, const char *what)
{
	if (right)
		return;
	fprintf(stderr, "wrong: %s\n", what);
	_exit(1);
}

SITE static void *by_malloc(size_t size)
{
	void *block = malloc(size);

	check(block && malloc_usable_size(block) >= size, "malloc");
	return block;
}

SITE static void *by_calloc(size_t count, size_t size)
{
	char *block = calloc(count, size);
	size_t i;

	for (i = 0; i < count * size; i++)
		check(block[i] == 0, "calloc");
	return block;
}

SITE static void *by_realloc(void *old, size_t size)
{
	return realloc(old, size);
}

SITE static void *by_reallocarray(size_t count, size_t size)
{
	return reallocarray(NULL, count, size);
}

SITE static void *by_posix_memalign(size_t alignment, size_t size)
{
	void *block;

	check(posix_memalign(&block, alignment, size) == 0 && (uintptr_t)block % alignment == 0,
	      "posix_memalign");
	return block;
}

SITE static void *by_aligned_alloc(size_t alignment, size_t size)
{
	void *block = aligned_alloc(alignment, size);

	check((uintptr_t)block % alignment == 0, "aligned_alloc");
	return block;
}

SITE static void *by_memalign(size_t alignment, size_t size)
{
	void *block = memalign(alignment, size);

	check((uintptr_t)block % alignment == 0, "memalign");
	return block;
}

SITE static void *by_valloc(size_t size)
{
	extern void *valloc(size_t size);
	void *block = valloc(size);

	check((uintptr_t)block % 4096 == 0, "valloc");
	return block;
}

SITE static void entries(void)
{
	volatile size_t huge = SIZE_MAX;
	void *block = NULL;
	char *dirty;

	kept[0] = by_malloc(1000);
	kept[1] = by_malloc(0);
	kept[2] = by_malloc(8); /* two of the smallest, as close as they get */
	kept[3] = by_malloc(8);
	dirty = malloc(640);
	memset(dirty, 'x', 640);
	free(dirty);
	kept[4] = by_calloc(10, 64);
	kept[5] = by_calloc(1, LARGE);
	kept[6] = by_realloc(by_malloc(10), 5000);
	memset(kept[6], 'y', 5000);
	kept[6] = by_realloc(kept[6], 1 << 20);
	check(((char *)kept[6])[4999] == 'y', "realloc");
	kept[7] = by_reallocarray(6, 111);
	kept[8] = by_posix_memalign(64, 333);
	kept[9] = by_aligned_alloc(32, 3200);
	kept[10] = by_memalign(128, 444);
	kept[11] = by_valloc(555);
	errno = 0;
	check(!calloc(huge, 16) && errno == ENOMEM, "calloc of too much");
	check(posix_memalign(&block, 3, 8) == EINVAL && !block, "posix_memalign by 3");
	errno = 0;
	check(!aligned_alloc(64, huge - 63) && errno == ENOMEM, "aligned_alloc of too much");
}

SITE static void *in_thread(void *none)
{
	void *blocks[BLOCKS];
	int i;

	(void)none;
	for (i = 0; i < BLOCKS; i++)
		blocks[i] = malloc((size_t)i + 1);
	for (i = 0; i < BLOCKS; i += 2)
		free(blocks[i]);
	return blocks[1];
}

static void threads(void)
{
	pthread_t made[THREADS];
	int i;

	for (i = 0; i < THREADS; i++)
		check(pthread_create(&made[i], NULL, in_thread, NULL) == 0, "pthread_create");
	for (i = 0; i < THREADS; i++)
		pthread_join(made[i], NULL);
}

SITE static void forks(void)
{
	int status;
	pid_t pid;

	kept[0] = by_malloc(1000);
	pid = fork();
	if (pid == 0) {
		free(kept[0]);
		kept[1] = by_malloc(4242);
		exit(0);
	}
	check(waitpid(pid, &status, 0) == pid && status == 0, "the child");
}

SITE static void plugin(const char *path)
{
	void *handle = dlopen(path, RTLD_NOW);
	void *(*allocate)(size_t);

	check(handle != NULL, "dlopen");
	allocate = (void *(*)(size_t))dlsym(handle, "plugin_allocate");
	kept[0] = allocate(1234);
}

static void handler(void)
{
	free(in_handler);
}

__attribute__((destructor)) static void destructor(void)
{
	free(in_destructor);
}

SITE static void ends(const char *how)
{
	in_destructor = by_malloc(100);
	in_handler = by_malloc(200);
	kept[0] = by_malloc(300);
	atexit(handler);
	at_quick_exit(handler);
	puts("ok");
	fflush(stdout);
	if (strcmp(how, "_exit") == 0)
		_exit(0);
	if (strcmp(how, "quick_exit") == 0)
		quick_exit(0);
	exit(0);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (strcmp(what, "entries") == 0)
		entries();
	else if (strcmp(what, "threads") == 0)
		threads();
	else if (strcmp(what, "fork") == 0)
		forks();
	else if (strcmp(what, "plugin") == 0 && argc > 2)
		plugin(argv[2]);
	else
		ends(what);
	puts("ok");
	return 0;
}
