/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * across_pages.c - COUNT times frees a block at the end of one page whose second 16 bytes are where, at the start of the next
 * page, another block began, which its allocator took back without a word.  Over place_malloc.c.
 *
 *   gcc across_pages.c place_malloc.so -o across_pages; across_pages COUNT
 */
#include <stdlib.h>
#include <sys/mman.h>

enum { PAGE = 4096, SIZE = 40000 /* sure to be sampled */ };

void *place_next(void *place);

static __attribute__((noinline)) void *kept_site(char *place)
{
	void *block = place_next(place) ? malloc(SIZE) : NULL;

	__asm__ volatile("" : "+r"(block) : : "memory");
	return block;
}

static __attribute__((noinline)) void *freed_site(char *place)
{
	void *block = place_next(place) ? malloc(SIZE) : NULL;

	__asm__ volatile("" : "+r"(block) : : "memory");
	return block;
}

int main(int argc, char **argv)
{
	unsigned long count = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	char *area = mmap(NULL, (2 * count + 16) * PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (area == MAP_FAILED)
		return 1;
	for (char *page = area + PAGE; count-- > 0; page += 2 * PAGE)
		if (kept_site(page) != page || freed_site(page - 16) != page - 16)
			return 2;
		else
			free(page - 16);
	return 0;
}
