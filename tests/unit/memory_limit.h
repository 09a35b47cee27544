/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * memory_limit.h - for tests of what happens when the kernel gives no more memory.
 */
#ifndef PMEM_TESTS_UNIT_MEMORY_LIMIT_H
#define PMEM_TESTS_UNIT_MEMORY_LIMIT_H
#include <sys/resource.h>

/* A sanitizer brings an allocator of its own, without glibc's chunk headers; and ThreadSanitizer does not
 * survive a process without memory. */
#if defined(__SANITIZE_ADDRESS__)
enum { MALLOC_IS_GLIBC = 0, MEMORY_MAY_RUN_OUT = 1 };
#elif defined(__SANITIZE_THREAD__)
enum { MALLOC_IS_GLIBC = 0, MEMORY_MAY_RUN_OUT = 0 };
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
enum { MALLOC_IS_GLIBC = 0, MEMORY_MAY_RUN_OUT = 1 };
#elif __has_feature(thread_sanitizer)
enum { MALLOC_IS_GLIBC = 0, MEMORY_MAY_RUN_OUT = 0 };
#else
enum { MALLOC_IS_GLIBC = 1, MEMORY_MAY_RUN_OUT = 1 };
#endif
#else
enum { MALLOC_IS_GLIBC = 1, MEMORY_MAY_RUN_OUT = 1 };
#endif

/* From here on every mmap() fails; skips the running test where that cannot be.  Call
 * memory_restore() before anything that allocates, assertions included. */
static inline struct rlimit memory_exhaust(void)
{
	struct rlimit before;
	struct rlimit none;

	if (!MEMORY_MAY_RUN_OUT)
		skip();
	assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
	none = before;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_AS, &none), 0);
	return before;
}

static inline void memory_restore(struct rlimit before)
{
	assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
}

#endif
