/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sampled.c - allocates at sites whose sums it knows, for the estimates of a sample.
 *
 * Usage: sampled [THREADS]
 *
 * Each thread: small blocks of which a third stays, large ones, blocks that grow by realloc(), and temporary ones; the order
 * is the same in each run.  Prints a JSON object: bytes allocated and live at each site.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SITES = 4, ROUNDS = 6000, THREADS_MAX = 16 };

struct sums {
	uint64_t allocated[SITES];
	uint64_t live[SITES];
	void *kept[2 * ROUNDS];
	size_t kept_count;
};

static struct sums sums[THREADS_MAX];

static uint32_t next(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

static __attribute__((noinline, noclone)) void *small_site(size_t size)
{
	void *volatile block = malloc(size);

	return block;
}

static __attribute__((noinline, noclone)) void *large_site(size_t size)
{
	void *volatile block = malloc(size);

	return block;
}

static __attribute__((noinline, noclone)) void *growing_site(void *old, size_t size)
{
	void *volatile block = realloc(old, size);

	return block;
}

static __attribute__((noinline, noclone)) void *temporary_site(size_t size)
{
	void *volatile block = calloc(1, size);

	return block;
}

static void *count(struct sums *s, unsigned site, void *block, size_t size, int stays)
{
	s->allocated[site] += size;
	if (!stays)
		return block;
	s->live[site] += size;
	s->kept[s->kept_count++] = block;
	return block;
}

static void grow_one(struct sums *s, uint32_t *state)
{
	size_t size = 16;
	void *block = NULL;

	for (; size < 40000; size *= 2) {
		block = growing_site(block, size);
		s->allocated[2] += size;
	}
	size /= 2;
	if (next(state) % 4)
		free(block);
	else
		s->live[2] += size, s->kept[s->kept_count++] = block;
}

static void *work(void *arg)
{
	struct sums *s = arg;
	uint32_t state = 2463534242u + (uint32_t)(s - sums), i;
	size_t size;

	for (i = 0; i < ROUNDS; i++) {
		int stays = next(&state) % 3 == 0;
		void *block;

		size = 16 + next(&state) % 500;
		block = count(s, 0, small_site(size), size, stays);
		if (!stays)
			free(block);
		if (i % 32 == 0) {
			size = 1000 + next(&state) % 100000;
			stays = next(&state) % 2;
			block = count(s, 1, large_site(size), size, stays);
			if (!stays)
				free(block);
			grow_one(s, &state);
		}
		size = 24 + next(&state) % 200;
		free(count(s, 3, temporary_site(size), size, 0));
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static const char *const names[SITES] = {"small_site", "large_site", "growing_site",
						 "temporary_site"};
	int threads = argc > 1 ? atoi(argv[1]) : 1, i, site;
	pthread_t ids[THREADS_MAX];

	for (i = 1; i < threads; i++)
		pthread_create(&ids[i], NULL, work, &sums[i]);
	work(&sums[0]);
	for (i = 1; i < threads; i++)
		pthread_join(ids[i], NULL);
	for (site = 0; site < SITES; site++) {
		uint64_t allocated = 0, live = 0;

		for (i = 0; i < threads; i++)
			allocated += sums[i].allocated[site], live += sums[i].live[site];
		printf("%s\"%s\": [%llu, %llu]", site ? ", " : "{", names[site],
		       (unsigned long long)allocated, (unsigned long long)live);
	}
	printf("}\n");
	return 0;
}
