/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * many_maps.c - maps memory at ever other call stacks, past malloc().
 *
 * Usage: many_maps [ROUNDS]     walks ROUNDS (100) times over a binary tree of calls; prints what its own bookkeeping says as JSON
 *
 * At each of 2^DEPTH leaves a page is mapped; of those of the first round one in eight stays until the end.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { DEPTH = 10, PAGE = 4096, KEEP = 8 };

static uint64_t bytes, calls, kept_bytes;
static int is_first;

static __attribute__((noinline)) void *map_site(size_t size)
{
	void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		abort();
	bytes += size;
	calls++;
	return page;
}

static __attribute__((noinline)) void walk(uint32_t path, int depth)
{
	if (depth < DEPTH) {
		walk(path << 1, depth + 1);
		walk(path << 1 | 1, depth + 1);
		__asm__ volatile("");
		return;
	}
	void *page = map_site(PAGE);

	if (path % KEEP || !is_first)
		munmap(page, PAGE);
	else
		kept_bytes += PAGE;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 100, i;

	for (i = 0; i < rounds; i++) {
		is_first = i == 0;
		walk(0, 0);
	}
	printf("{\"bytes\": %llu, \"calls\": %llu, \"kept\": %llu}\n", (unsigned long long)bytes,
	       (unsigned long long)calls, (unsigned long long)kept_bytes);
	fflush(stdout);
	return 0;
}
