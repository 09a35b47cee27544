/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * silence.h - large events that end a time without any: the timeline looks back first (timeline.h), at what was until then.
 */
#ifndef PMEM_LIBPMEM_SILENCE_H
#define PMEM_LIBPMEM_SILENCE_H
#include <stdint.h>

#include "libpmem/thread.h"

/* Smaller ones are left to timeline_check(), which leaves out nothing. */
enum { SILENCE_LARGE = 16 * 1024 };

/* An event of so many bytes is about to be counted. */
void silence_before(uint64_t bytes);

/* Off the fast path: the thread's allocation of the block was counted. */
void silence_after(const struct thread *thread, uintptr_t block);

#endif
