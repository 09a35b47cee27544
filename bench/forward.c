/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * forward.c - the least that any preloaded recorder costs: each function of the malloc family calls the next one, and returns
 * to its caller itself, as it would have to look at the result.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

static void *(*next_malloc)(size_t size);
static void *(*next_calloc)(size_t count, size_t size);
static void *(*next_realloc)(void *old, size_t size);
static void (*next_free)(void *block);

/* What dlsym() allocates for itself. */
static _Alignas(16) char boot[4096];
static size_t boot_used;

static void find(void)
{
	static int finding;

	if (finding++)
		return;
	*(void **)&next_malloc = dlsym(RTLD_NEXT, "malloc");
	*(void **)&next_calloc = dlsym(RTLD_NEXT, "calloc");
	*(void **)&next_realloc = dlsym(RTLD_NEXT, "realloc");
	*(void **)&next_free = dlsym(RTLD_NEXT, "free");
}

static void *boot_block(size_t size)
{
	void *block = boot + boot_used;

	size = (size + 15) & ~(size_t)15;
	if (size > sizeof(boot) - boot_used)
		return NULL;
	boot_used += size;
	return block;
}

/* Keeps the call before it from being the last thing that a function does. */
static inline void *looked_at(void *block)
{
	__asm__ volatile("" : "+r"(block));
	return block;
}

void *malloc(size_t size)
{
	if (__builtin_expect(!next_malloc, 0))
		find();
	return looked_at(next_malloc ? next_malloc(size) : boot_block(size));
}

void *calloc(size_t count, size_t size)
{
	if (__builtin_expect(!next_calloc, 0))
		find();
	return looked_at(next_calloc ? next_calloc(count, size) : boot_block(count * size));
}

void *realloc(void *old, size_t size)
{
	if (__builtin_expect(!next_realloc, 0))
		find();
	return looked_at(next_realloc ? next_realloc(old, size) : boot_block(size));
}

void free(void *block)
{
	if (__builtin_expect(!next_free, 0))
		find();
	if (next_free && (uintptr_t)block - (uintptr_t)boot >= sizeof(boot))
		next_free(block);
}
