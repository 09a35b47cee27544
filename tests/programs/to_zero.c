/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * to_zero.c - shrinks blocks to 0 bytes: glibc frees them, other allocators return their smallest block, of 8 bytes.
 *
 * Prints how many blocks realloc() returned.  Every fourth of them stays.
 */
#include <stdio.h>
#include <stdlib.h>

enum { BLOCKS = 4000 };

static void *blocks[BLOCKS];

static __attribute__((noinline)) void *shrink(void *block)
{
	volatile size_t zero = 0;
	void *result = realloc(block, zero);

	__asm__ volatile("" : "+r"(result) : : "memory");
	return result;
}

int main(void)
{
	int count = 0;

	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = malloc(100);
	for (int i = 0; i < BLOCKS; i++) {
		blocks[i] = shrink(blocks[i]);
		count += blocks[i] != NULL;
	}
	for (int i = 0; i < BLOCKS; i++)
		if (i % 4)
			free(blocks[i]);
	printf("%d\n", count);
	return 0;
}
