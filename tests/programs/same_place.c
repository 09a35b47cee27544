/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * same_place.c - allocates and frees one buffer of SIZE bytes COUNT times: each time it lies at the same address.
 *
 *   same_place SIZE COUNT
 */
#include <stdlib.h>

static __attribute__((noinline)) void *same_site(size_t size)
{
	void *block = malloc(size);

	__asm__ volatile("" : "+r"(block) : : "memory");
	return block;
}

int main(int argc, char **argv)
{
	size_t size = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	unsigned long count = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;

	while (count-- > 0)
		free(same_site(size));
	return 0;
}
