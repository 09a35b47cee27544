/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * many_walks.c - allocates at ever other call stacks, so that the recorder must walk the stack each time.
 *
 * Usage: many_walks [ROUNDS]     walks ROUNDS (300) times over a binary tree of calls; prints what its own bookkeeping says as JSON
 *
 * At each of 2^DEPTH leaves a block is allocated, and one in eight stays.  Before that calm() allocates 1,000 blocks at one call stack.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { DEPTH = 12, BLOCK = 40, CALM = 1000, CALM_BLOCK = 24, KEEP = 8 };

static uint64_t bytes, blocks, kept_bytes;

static __attribute__((noinline)) void *leaf_site(size_t size)
{
	void *block = malloc(size);

	if (!block)
		abort();
	bytes += size;
	blocks++;
	return block;
}

static __attribute__((noinline)) void walk(uint32_t path, int depth)
{
	if (depth < DEPTH) {
		walk(path << 1, depth + 1);
		walk(path << 1 | 1, depth + 1);
		__asm__ volatile("");
		return;
	}
	void *block = leaf_site(BLOCK);

	if (path % KEEP)
		free(block);
	else
		kept_bytes += BLOCK;
}

static __attribute__((noinline)) void calm(void)
{
	static void *blocks_of_mine[CALM];
	int i;

	for (i = 0; i < CALM; i++)
		blocks_of_mine[i] = malloc(CALM_BLOCK);
	for (i = 0; i < CALM; i++)
		if (!blocks_of_mine[i])
			abort();
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 300, i;

	calm();
	for (i = 0; i < rounds; i++)
		walk(0, 0);
	printf("{\"bytes\": %llu, \"blocks\": %llu, \"kept\": %llu, \"calm\": %d}\n",
	       (unsigned long long)bytes, (unsigned long long)blocks,
	       (unsigned long long)kept_bytes, CALM * CALM_BLOCK);
	fflush(stdout);
	return 0;
}
