/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hill.c - one call site that allocates COUNT blocks of SIZE bytes and frees them all, three times, each hill higher: its peak is known.
 *
 * Usage: hill COUNT SIZE [THREADS]
 *
 * Threads begin together, and wait for each other on each top.
 */
#include <pthread.h>
#include <stdlib.h>

enum { HILLS = 3, THREADS_MAX = 16 };

static size_t count, size;
static pthread_barrier_t barrier;

static __attribute__((noinline, noclone)) void *climb(void)
{
	void *volatile block = malloc(size);

	return block;
}

static void *walk(void *arg)
{
	void **blocks = calloc(count, sizeof(*blocks));
	size_t hill, i;

	for (hill = HILLS; hill > 0; hill--) {
		pthread_barrier_wait(&barrier);
		for (i = 0; i < count / hill; i++)
			blocks[i] = climb();
		pthread_barrier_wait(&barrier);
		while (i-- > 0)
			free(blocks[i]);
	}
	free(blocks);
	return arg;
}

int main(int argc, char **argv)
{
	unsigned threads = argc > 3 ? (unsigned)atoi(argv[3]) : 1, i;
	pthread_t ids[THREADS_MAX];

	if (argc < 3 || threads < 1 || threads > THREADS_MAX)
		return 2;
	count = strtoul(argv[1], NULL, 10);
	size = strtoul(argv[2], NULL, 10);
	pthread_barrier_init(&barrier, NULL, threads);
	for (i = 1; i < threads; i++)
		pthread_create(&ids[i], NULL, walk, NULL);
	walk(NULL);
	for (i = 1; i < threads; i++)
		pthread_join(ids[i], NULL);
	return 0;
}
