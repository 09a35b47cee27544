/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * record_parts.h - what record.c and record_calls.c share.  thread: entered already.
 */
#ifndef PMEM_LIBPMEM_RECORD_PARTS_H
#define PMEM_LIBPMEM_RECORD_PARTS_H
#include <stdint.h>

#include "libpmem/hook.h"
#include "libpmem/thread.h"

/* The loader did something, if the thread's mark is old: its caches may be wrong. */
void record_refresh(struct thread *thread);

/* While sampling: frees between two samples did not tell what they unmapped. */
void record_forget_mappings(void);

/* unwind_capture() at the expense of the thread's account. */
uint32_t record_capture_timed(struct thread *thread, const uintptr_t *fp, enum format_hook hook);

#endif
