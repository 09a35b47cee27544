/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * prog.c - exports malloc & co. that count, guard each block by a header, and pass on to the next ones (RTLD_NEXT).
 *
 * Everything that libc and libraries allocate comes through here too, before main() and after it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HEADER = 32, MAGIC = 0x600dcafe };

struct header {
	size_t size;
	uint64_t magic;
};

static void *(*next_malloc)(size_t size);
static void (*next_free)(void *block);
static unsigned long balance;

static void *wrapped_malloc(size_t size)
{
	struct header *header;

	if (!next_malloc)
		next_malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
	header = next_malloc(size + HEADER);
	if (!header)
		return NULL;
	*header = (struct header){size, MAGIC};
	__atomic_fetch_add(&balance, 1, __ATOMIC_RELAXED);
	return (char *)header + HEADER;
}

void *malloc(size_t size)
{
	return wrapped_malloc(size);
}

void free(void *block)
{
	struct header *header = (struct header *)((char *)block - HEADER);

	if (!block)
		return;
	if (header->magic != MAGIC) {
		static const char text[] = "FAIL: a block that is not of this malloc\n";

		if (write(2, text, sizeof(text) - 1)) {
		}
		_exit(1);
	}
	header->magic = 0;
	if (!next_free)
		next_free = (void (*)(void *))dlsym(RTLD_NEXT, "free");
	__atomic_fetch_sub(&balance, 1, __ATOMIC_RELAXED);
	next_free(header);
}

void *calloc(size_t count, size_t size)
{
	void *block = malloc(count * size);

	return block ? memset(block, 0, count * size) : NULL;
}

void *realloc(void *old, size_t size)
{
	void *block = malloc(size);
	size_t before;

	if (block && old) {
		before = ((struct header *)((char *)old - HEADER))->size;
		memcpy(block, old, before < size ? before : size);
	}
	if (block)
		free(old);
	return block;
}

static void *kept[10];

static void keep_blocks(void)
{
	int i;

	for (i = 0; i < 10; i++)
		kept[i] = malloc(1000);
	for (i = 0; i < 5; i++)
		free(kept[i]);
	kept[0] = realloc(malloc(68), 968);
}

int main(void)
{
	unsigned long before = balance;
	char *text;

	keep_blocks();
	text = strdup("hello");
	free(text);
	if (balance != before + 6)
		return 2;
	if (write(1, "OK\n", 3) != 3)
		return 3;
	return 0;
}
