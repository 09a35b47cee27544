/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * causes.c - a process whose resident set has grown for one known reason, of sizes and numbers that are drawn by lot.
 *
 *   causes KIND SEED
 *
 * KIND is stacks (threads that stay, each with much on its stack), arenas (threads that freed nearly all they had, each in an arena of its own),
 * fragments (each page has a survivor) or mapped (segments by mmap).  Beside that are live blocks and some mapped memory, which
 * together are less than a third of it.  Prints what must be said: how many stacks or arenas there are.
 */
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

/* No function: it would be the one that maps. */
#define MAP(size) mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)

enum { MIB = 1 << 20, PAGE = 4096, THREADS_MAX = 64 };

static pthread_barrier_t there;
static uint64_t state;
static size_t wanted;	    /* bytes of the cause */
static size_t each;	    /* of a thread, or of a segment */
static size_t block;	    /* bytes */
static void *volatile kept; /* nothing is optimized away */

static size_t between(size_t low, size_t high)
{
	uint64_t bits = state += UINT64_C(0x9e3779b97f4a7c15);

	bits = (bits ^ bits >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	bits = (bits ^ bits >> 27) * UINT64_C(0x94d049bb133111eb);
	return low + (bits ^ bits >> 31) % (high - low + 1);
}

NOINLINE static void other_blocks(size_t size)
{
	for (size_t used = 0; used < size; used += block) {
		kept = malloc(block);
		memset(kept, 1, block);
	}
}

NOINLINE static void other_memory(size_t size)
{
	memset(MAP(size), 1, size);
}

static void start(size_t threads, void *(*run)(void *))
{
	pthread_t thread;

	pthread_barrier_init(&there, NULL, (unsigned)threads + 1);
	while (threads--)
		pthread_create(&thread, NULL, run, NULL);
	pthread_barrier_wait(&there);
}

/* --- kinds ------------------------------------------------------------------------------------ */

static void *use_stack(void *unused)
{
	char room[each];

	kept = memset(room, 1, each);
	pthread_barrier_wait(&there);
	for (;;)
		pause();
	return unused;
}

NOINLINE static void stacks(void)
{
	size_t threads = between(8, THREADS_MAX); /* a stack has 8 MiB */

	each = wanted / threads;
	start(threads, use_stack);
	printf("%zu\n", threads + 1);
}

static void *fill_and_free(void *unused)
{
	size_t count = each / block;
	char **blocks = (char **)MAP((count + 1) * sizeof(*blocks));

	for (size_t i = 0; i < count; i++)
		blocks[i] = memset(malloc(block), 1, block);
	/* The last one keeps the arena's end from being given back. */
	for (size_t i = 0; i + 1 < count; i++)
		free(blocks[i]);
	munmap(blocks, (count + 1) * sizeof(*blocks));
	pthread_barrier_wait(&there);
	for (;;)
		pause();
	return unused;
}

NOINLINE static void arenas(void)
{
	size_t threads = between(3, 12);

	mallopt(M_ARENA_MAX, THREADS_MAX);
	each = wanted / threads;
	start(threads, fill_and_free);
	printf("%zu\n", threads + 1);
}

/* One of so many stays that no page is without. */
NOINLINE static void fragments(void)
{
	size_t size = between(40, 300), part = PAGE * 3 / 4 / (size + 16),
	       count = wanted / (size + 8);
	char **blocks = (char **)MAP((count + 1) * sizeof(*blocks));

	for (size_t i = 0; i < count; i++)
		blocks[i] = memset(malloc(size), 1, size);
	for (size_t i = 0; i < count; i++)
		if (i % part)
			free(blocks[i]);
	munmap(blocks, (count + 1) * sizeof(*blocks));
	puts("0");
}

NOINLINE static void map_more(void)
{
	memset(MAP(each), 1, each);
}

NOINLINE static void mapped(void)
{
	each = between(1, 64) * PAGE;
	for (size_t used = 0; used < wanted; used += each)
		map_more();
	puts("0");
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} kinds[] = {
		{"stacks", stacks}, {"arenas", arenas}, {"fragments", fragments}, {"mapped", mapped}};

	state = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	wanted = between(12, 48) * MIB;
	block = between(64, 4000);
	other_blocks(between(0, wanted / 6));
	other_memory(between(1, wanted / 6));
	for (size_t i = 0; argc > 2 && i < sizeof(kinds) / sizeof(*kinds); i++)
		if (strcmp(argv[1], kinds[i].name) == 0)
			kinds[i].run();
	return 0;
}
