/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hook.h - the entry points that allocate, as a call stack's innermost frame.
 */
#ifndef PMEM_LIBPMEM_HOOK_H
#define PMEM_LIBPMEM_HOOK_H
#include <stdint.h>

enum hook {
	HOOK_MALLOC,
	HOOK_CALLOC,
	HOOK_REALLOC,
	HOOK_REALLOCARRAY,
	HOOK_POSIX_MEMALIGN,
	HOOK_ALIGNED_ALLOC,
	HOOK_MEMALIGN,
	HOOK_VALLOC,
	HOOK_PVALLOC,
	HOOK_COUNT,
};

/* "malloc" and so on, and the address of the exported function. */
const char *hook_name(enum hook hook);
uintptr_t hook_address(enum hook hook);

#endif
