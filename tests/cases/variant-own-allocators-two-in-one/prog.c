/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * prog.c - an allocator with a prefix beside the C library's, in four threads: it cuts blocks out of large ones, which it takes
 * from malloc() and from mmap() by turns.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CHUNK = 65536, PIECE = 64, THREADS = 4, PIECES = 4096 };

struct pool {
	char *chunk;
	size_t used;
	int chunks;
};

static void *chunk_by_malloc(void)
{
	return malloc(CHUNK);
}

static void *chunk_by_mmap(void)
{
	void *chunk = mmap(NULL, CHUNK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return chunk == MAP_FAILED ? NULL : chunk;
}

void *je_malloc(struct pool *pool);

void *je_malloc(struct pool *pool)
{
	if (!pool->chunk || pool->used == CHUNK) {
		pool->chunk = pool->chunks++ % 2 ? chunk_by_mmap() : chunk_by_malloc();
		pool->used = 0;
	}
	if (!pool->chunk)
		_exit(3);
	pool->used += PIECE;
	return pool->chunk + pool->used - PIECE;
}

static void *own_copy(const char *text)
{
	char *copy = malloc(128);

	return strcpy(copy, text);
}

static void *work(void *argument)
{
	struct pool pool = {0};
	long i;

	for (i = 0; i < PIECES; i++)
		memset(je_malloc(&pool), (int)i, PIECE);
	for (i = 0; i < 100; i++)
		free(own_copy("temporary"));
	return pool.chunks == PIECES * PIECE / CHUNK ? argument : NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	void *result;
	int i;

	for (i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, &threads) != 0)
			return 1;
	for (i = 0; i < THREADS; i++)
		if (pthread_join(threads[i], &result) != 0 || !result)
			return 2;
	if (write(1, "OK\n", 3) != 3)
		return 3;
	return 0;
}
