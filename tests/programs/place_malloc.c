/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * place_malloc.c - a library with an allocator that puts a block where it is told, and never uses a place again on its own.
 *
 *   gcc -shared -fPIC -fno-builtin -Wl,-Bsymbolic place_malloc.c -o place_malloc.so
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { ROOM = 8 << 20, ALIGN = 32 };

static char room[ROOM] __attribute__((aligned(4096)));
static size_t used;
static void *wanted;

void *place_next(void *place);
void *memalign(size_t alignment, size_t size);
void *aligned_alloc(size_t alignment, size_t size);

/* The next block lies there. */
void *place_next(void *place)
{
	return wanted = place;
}

void *malloc(size_t size)
{
	void *block = wanted ? wanted : &room[used];

	if (!wanted && size > ROOM - used - ALIGN) {
		errno = ENOMEM;
		return NULL;
	}
	if (!wanted)
		used += (size / ALIGN + 1) * ALIGN;
	wanted = NULL;
	return block;
}

void free(void *block)
{
	(void)block;
}

void *calloc(size_t count, size_t size)
{
	void *block = malloc(count * size);

	return block ? memset(block, 0, count * size) : NULL;
}

void *realloc(void *old, size_t size)
{
	void *block = malloc(size);
	const char *from = old;

	for (size_t i = 0; block && old && i < size; i++)
		((char *)block)[i] = from[i];
	return block;
}

void *memalign(size_t alignment, size_t size)
{
	if (!wanted)
		used = (used + alignment - 1) / alignment * alignment;
	return malloc(size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return memalign(alignment, size);
}

int posix_memalign(void **block, size_t alignment, size_t size)
{
	*block = memalign(alignment, size);
	return *block ? 0 : ENOMEM;
}
