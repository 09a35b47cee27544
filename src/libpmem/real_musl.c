/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * real_musl.c - see real_musl.h.
 *
 * musl's calloc() calls malloc(), and posix_memalign(), memalign() and valloc() call aligned_alloc(): by the names that
 * programs use, which lead to our hooks.  So these four are made here from the two that call nobody.  Results and errno
 * are those of musl 1.2 (src/malloc, src/legacy/valloc.c).
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dladdr */
#endif
#include "libpmem/real_musl.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/auxv.h>

enum { PAGE = 4096 };

extern const char *gnu_get_libc_version(void) __attribute__((weak)); /* glibc only */

/* Immutable after real_musl_unnest(). */
static void *(*next_malloc)(size_t size);
static void *(*next_aligned_alloc)(size_t alignment, size_t size);

static bool is_zero(const char *bytes, size_t size)
{
	return bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0;
}

/* Large blocks are fresh from the kernel: what is only read takes no memory. */
static void clear(char *bytes, size_t size)
{
	size_t part;

	for (; size; bytes += part, size -= part) {
		part = size < PAGE ? size : PAGE;
		if (!is_zero(bytes, part))
			memset(bytes, 0, part);
	}
}

static void *clear_malloc(size_t count, size_t size)
{
	size_t total;
	void *block;

	if (__builtin_mul_overflow(count, size, &total)) {
		errno = ENOMEM;
		return NULL;
	}
	block = next_malloc(total);
	if (block)
		clear(block, total);
	return block;
}

static int aligned_posix_memalign(void **block, size_t alignment, size_t size)
{
	void *made;

	if (alignment < sizeof(void *))
		return EINVAL;
	made = next_aligned_alloc(alignment, size);
	if (!made)
		return errno;
	*block = made;
	return 0;
}

static void *aligned_memalign(size_t alignment, size_t size)
{
	return next_aligned_alloc(alignment, size);
}

static void *aligned_valloc(size_t size)
{
	return next_aligned_alloc(PAGE, size);
}

static bool is_of_libc(void *function)
{
	Dl_info here, libc;

	return dladdr(function, &here) && dladdr((void *)getauxval, &libc) &&
	       here.dli_fbase == libc.dli_fbase;
}

void real_musl_unnest(struct real *found)
{
	if (gnu_get_libc_version || !is_of_libc((void *)found->malloc))
		return;
	next_malloc = found->malloc;
	next_aligned_alloc = found->aligned_alloc;
	found->calloc = clear_malloc;
	found->posix_memalign = aligned_posix_memalign;
	found->memalign = aligned_memalign;
	found->valloc = aligned_valloc;
}
