/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * thread_sizes.c - threads that allocate blocks of many sizes at the same places, with the truth about them.
 *
 * Usage: thread_sizes THREADS COUNT
 *
 * COUNT blocks in each thread, from two functions, of pseudo-random sizes; then a mapping, a block that grows and an allocation that
 * fails.  Then "ready", one line of JSON, the number of blocks of each class of sizes for each function, and nothing until standard
 * input ends.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { THREADS_MAX = 64, CLASSES = 24, PLACES = 2 };

static _Atomic uint64_t truth[PLACES][CLASSES];
static long count;

/* Up to 8 bytes, to 16, ... */
static int class_of(size_t size)
{
	int class = 0;

	for (size_t limit = 8; size > limit && class < CLASSES - 1; limit *= 2)
		class ++;
	return class;
}

__attribute__((noinline)) static void *at_one(size_t size)
{
	return malloc(size);
}

__attribute__((noinline)) static void *at_other(size_t size)
{
	return calloc(1, size);
}

/* A few sizes again and again, some others. */
static size_t some_size(uint64_t random)
{
	if (random % 8)
		return 8 + random / 8 % 6 * 20;
	return random / 8 % 4096;
}

static void *work(void *seed)
{
	uint64_t random = (uintptr_t)seed * 7919 + 1;

	for (long i = 0; i < count; i++) {
		size_t size;

		random = random * 6364136223846793005u + 1442695040888963407u;
		size = some_size(random >> 33);
		free(i % 3 ? at_one(size) : at_other(size));
		atomic_fetch_add(&truth[i % 3 == 0][class_of(size)], 1);
	}
	return NULL;
}

__attribute__((noinline)) static void grow(void)
{
	static void *volatile kept;

	for (size_t size = 100; size < 10000000; size *= 2)
		kept = realloc(kept, size);
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS_MAX];
	long number = argc > 1 ? atol(argv[1]) : 1, i;
	void *volatile none = NULL;

	count = argc > 2 ? atol(argv[2]) : 1000;
	for (i = 0; i < number && i < THREADS_MAX; i++)
		pthread_create(&threads[i], NULL, work, (void *)i);
	for (i = 0; i < number && i < THREADS_MAX; i++)
		pthread_join(threads[i], NULL);
	mmap(NULL, 123 * 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	grow();
	none = malloc(PTRDIFF_MAX - 4096);
	printf("ready\n{");
	for (int place = 0; place < PLACES; place++) {
		printf("%s\"%s\": [", place ? ", " : "", place ? "at_other" : "at_one");
		for (int class = 0; class < CLASSES; class ++)
			printf("%s%llu", class ? ", " : "", (unsigned long long)truth[place][class]);
		printf("]");
	}
	printf("}\n");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return none != NULL;
}
