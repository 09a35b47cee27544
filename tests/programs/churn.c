/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * churn.c - allocates and frees blocks of 4 KiB with some work on each.
 *
 * Usage: churn COUNT [WORK]: COUNT blocks (0 = for ever), WORK passes of memset over each.  A few call
 * sites, one block in 100 stays until the end.  Prints the bytes allocated, then "done".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 4096, KEPT = 64 };

static char *kept[KEPT];

__attribute__((noinline, noclone)) static char *one(void)
{
	return malloc(SIZE);
}

__attribute__((noinline, noclone)) static char *two(void)
{
	return calloc(1, SIZE);
}

static void use(char *block, long work)
{
	for (long k = 0; k < work; k++) {
		memset(block, (int)k, SIZE);
		__asm__ volatile("" : : "r"(block) : "memory");
	}
}

int main(int argc, char **argv)
{
	long count = argc > 1 ? atol(argv[1]) : 1000, work = argc > 2 ? atol(argv[2]) : 1;

	for (long i = 0; !count || i < count; i++) {
		char *block = i % 2 ? one() : two();

		use(block, work);
		if (i % 100 == 0) {
			free(kept[i / 100 % KEPT]);
			kept[i / 100 % KEPT] = block;
		} else {
			free(block);
		}
	}
	for (int i = 0; i < KEPT; i++)
		free(kept[i]);
	printf("%ld\ndone\n", count * SIZE);
	return 0;
}
