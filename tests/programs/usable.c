/* SPDX-License-Identifier: BSD-2-Clause */
/* usable.c - keeps one block of each size from 1 to 2000 and writes all of its usable bytes. */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

static char *kept[2001];

__attribute__((noinline, noclone)) static char *make(size_t size)
{
	char *block = malloc(size);

	memset(block, (int)size, malloc_usable_size(block));
	return block;
}

int main(void)
{
	for (size_t size = 1; size <= 2000; size++)
		kept[size] = make(size);
	for (size_t size = 1; size <= 2000; size++)
		for (size_t i = 0; i < malloc_usable_size(kept[size]); i++)
			if (kept[size][i] != (char)size)
				return 1;
	return 0;
}
