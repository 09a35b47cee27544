/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * retained.c - processes of which most is free memory, and some that only look like it.
 *
 *   retained MODE MIB [wait]
 *
 * Builds a heap of MIB, and goes on working for five times as long as that took, 3 s at least, in MODE
 *   fragments  with one block in ten: each page has some
 *   shrunk     with nothing but its last block, and frees that at the end too
 *   healthy    with all of it, and frees all at the end
 *   leaks      with one block in ten, and keeps one more at each step
 *   short      as healthy, for a fifth of a second
 *   rests      as fragments, but makes no call in all that time
 *   holds      as healthy, likewise
 * then, with wait, prints "ready" and reads a line.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SIZE = 100, PART = 10, STEPS = 400, KEPT = 4096 };

static void **blocks;
static size_t count;

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void *filled(size_t size)
{
	return memset(malloc(size), 1, size);
}

__attribute__((noinline)) void build(void)
{
	for (size_t i = 0; i < count; i++)
		blocks[i] = filled(SIZE);
	__asm__ volatile("");
}

__attribute__((noinline)) void *keep(void)
{
	char *block = malloc(KEPT);

	for (int i = 0; i < KEPT; i++)
		block[i] = 1;
	return block;
}

static void release(size_t part)
{
	for (size_t i = 0; i + 1 < count; i++) {
		if (part && i % part == 0)
			continue;
		free(blocks[i]);
		blocks[i] = NULL;
	}
}

static void work(double seconds, int leaks)
{
	static void *volatile kept;
	double step = seconds / STEPS;

	for (int i = 0; i < STEPS; i++) {
		usleep((useconds_t)(step * 1e6));
		for (int j = 0; j < 100; j++)
			free(filled(SIZE));
		if (leaks)
			kept = keep();
	}
	(void)kept;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	double begin = now(), took;

	count = (argc > 2 ? strtoul(argv[2], NULL, 10) : 1) * (1 << 20) / SIZE;
	blocks = calloc(count, sizeof(*blocks));
	build();
	if (!strcmp(mode, "fragments") || !strcmp(mode, "leaks") || !strcmp(mode, "rests"))
		release(PART);
	else if (!strcmp(mode, "shrunk"))
		release(0);
	took = now() - begin;
	if (!strcmp(mode, "rests") || !strcmp(mode, "holds"))
		usleep((useconds_t)((took > 0.6 ? 5 * took : 3) * 1e6));
	else if (!strcmp(mode, "short"))
		work(0.2, 0);
	else
		work(took > 0.6 ? 5 * took : 3, !strcmp(mode, "leaks"));
	if (argc > 3) {
		ssize_t ignored = write(STDOUT_FILENO, "ready\n", 6);

		ignored = read(STDIN_FILENO, blocks, 1);
		(void)ignored;
	}
	if (!strcmp(mode, "shrunk") || !strcmp(mode, "healthy") || !strcmp(mode, "holds"))
		for (size_t i = 0; i < count; i++)
			free(blocks[i]);
	return 0;
}
