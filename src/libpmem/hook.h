/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hook.h - the entry points that allocate, as a call stack's innermost frame.
 */
#ifndef PMEM_LIBPMEM_HOOK_H
#define PMEM_LIBPMEM_HOOK_H
#include <stdint.h>

#include "core/format.h"

/* "malloc" and so on, and the address of the exported function. */
const char *hook_name(enum format_hook hook);
uintptr_t hook_address(enum format_hook hook);

#endif
