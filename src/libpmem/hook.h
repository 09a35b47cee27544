/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hook.h - the entry points that allocate or map memory, as a call stack's innermost frame.
 */
#ifndef PMEM_LIBPMEM_HOOK_H
#define PMEM_LIBPMEM_HOOK_H
#include <stdint.h>

#include "core/format.h"

/* "malloc" and so on. */
const char *hook_name(enum format_hook hook);

/* The address of the exported function; of those of the heap, below FORMAT_HOOK_MMAP. */
uintptr_t hook_address(enum format_hook hook);

/* Where the hooks are that move a block: their code lies together. */
void hook_describe(struct format_header *header);

#endif
