/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * paths - a tree of calls: 2^N call stacks that allocate, each N + 2 frames long.  Every other block stays.
 */
#include <stdlib.h>

static void *volatile last;

static void left(unsigned depth, unsigned path);
static void right(unsigned depth, unsigned path);

static void __attribute__((noinline)) leaf(unsigned path)
{
	last = malloc(path % 100 + 1);
	if (path % 2)
		free(last);
}

static void __attribute__((noinline)) left(unsigned depth, unsigned path)
{
	if (depth == 0) {
		leaf(path);
		return;
	}
	left(depth - 1, path * 2);
	right(depth - 1, path * 2 + 1);
	last = NULL; /* no tail call */
}

static void __attribute__((noinline)) right(unsigned depth, unsigned path)
{
	if (depth == 0) {
		leaf(path);
		return;
	}
	left(depth - 1, path * 2);
	right(depth - 1, path * 2 + 1);
	last = NULL;
}

int main(int argc, char **argv)
{
	unsigned depth = argc > 1 ? (unsigned)atoi(argv[1]) : 4;

	left(depth, 1);
	last = NULL;
	return 0;
}
