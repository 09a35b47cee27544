/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * real.h - the allocator that the hooks pass on to: the next one in the search order.
 *
 * Until it is resolved the pointers lead to functions that resolve it first; what dlsym() itself
 * allocates meanwhile comes from a boot arena, whose blocks are never given back.
 */
#ifndef PMEM_LIBPMEM_REAL_H
#define PMEM_LIBPMEM_REAL_H
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/format.h"
#include "libpmem/live_table.h"

/* In the two-cell layout (live_table.h) requests that are too small for it are raised on the way.
 *
 * Immutable after real_resolve().  A function that the allocator lacks is NULL, but for those that
 * every C library has: malloc, calloc, realloc, free. */
struct real {
	void *(*malloc)(size_t size);
	void *(*calloc)(size_t count, size_t size);
	void *(*realloc)(void *old, size_t size);
	void (*free)(void *block);
	int (*posix_memalign)(void **block, size_t alignment, size_t size);
	void *(*aligned_alloc)(size_t alignment, size_t size);
	void *(*memalign)(size_t alignment, size_t size);
	void *(*valloc)(size_t size);
	void *(*pvalloc)(size_t size);
	size_t (*malloc_usable_size)(void *block);
	int (*dlclose)(void *handle);
	int (*prctl)(int option, ...);
	void *(*mmap)(void *addr, size_t size, int protection, int flags, int fd, off_t offset);
	int (*munmap)(void *addr, size_t size);
	int (*mprotect)(void *addr, size_t size, int protection);
	void (*exit)(int status); /* _exit() */
	void *(*mremap)(void *addr, size_t old_size, size_t new_size, int flags, ...);
	void *(*sbrk)(intptr_t change);
	int (*brk)(void *addr);
	enum live_layout layout;
	enum format_allocator allocator;
	bool has_reallocarray; /* of its own, not the C library's over realloc() */
	void *next_malloc; /* the next allocator's own, also where malloc above stands before it */
	void *first_malloc; /* what the program's calls of malloc() reach: ours, unless own_malloc.h finds otherwise */
};

extern struct real real __attribute__((visibility("hidden")));

/* Finds the functions; at most once.  Returns false while this call chain is finding them. */
bool real_resolve(void);

/* What a C library's own function makes of a system call's result: -errno becomes -1 and errno. */
static inline long real_raw_result(long result)
{
	if (result >= 0 || result < -4095)
		return result;
	errno = (int)-result;
	return -1;
}

enum { REAL_BOOT_SIZE = 64 * 1024 };

extern char real_boot_arena[REAL_BOOT_SIZE] __attribute__((visibility("hidden")));

/* True for a block of the boot arena. */
static inline bool real_is_boot(const void *block)
{
	return (uintptr_t)block - (uintptr_t)real_boot_arena < (uintptr_t)REAL_BOOT_SIZE;
}

/* Requested size of a boot block. */
size_t real_boot_size(const void *block);

#endif
