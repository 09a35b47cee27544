/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * recent_sizes.h - per thread, the blocks of other size classes than their call stack's first that it counted lately.
 *
 * Histograms (histogram.h) are shared, and threads that do the same thing have the same call stacks: each such block would move
 * a cache line from one CPU to another.  So what a thread counts often it counts for itself, in the profile, and adds to the
 * histogram when something else takes the place.
 */
#ifndef PMEM_LIBPMEM_RECENT_SIZES_H
#define PMEM_LIBPMEM_RECENT_SIZES_H
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "core/format.h"

/* Owner only. */
struct recent_sizes {
	struct format_recent_sizes *table; /* NULL: none yet */
	uint32_t missed;
	uint32_t refused; /* 1: there is no memory for it */
};

static inline uint32_t recent_sizes_key(uint32_t stack_id, uint32_t size_class)
{
	return stack_id << (FORMAT_RECENT_STACK_SHIFT - FORMAT_RECENT_CLASS_SHIFT) | size_class;
}

/* Where such a block is counted, if anywhere. */
static inline _Atomic uint64_t *recent_sizes_place(const struct recent_sizes *recent, uint32_t key)
{
	return &recent->table->counts[(key * 0x9e3779b1u) >> 24];
}

/* Where blocks of the call stack and size class are counted, by 1 each; NULL: not here, now. */
static inline _Atomic uint64_t *recent_sizes_find(const struct recent_sizes *recent,
						  uint32_t stack_id, uint32_t size_class)
{
	uint32_t key = recent_sizes_key(stack_id, size_class);
	_Atomic uint64_t *place;
	uint64_t count;

	if (!recent->table)
		return NULL;
	place = recent_sizes_place(recent, key);
	count = atomic_load_explicit(place, memory_order_relaxed);
	if (count >> FORMAT_RECENT_CLASS_SHIFT != key || (uint32_t)count == UINT32_MAX)
		return NULL;
	return place;
}

/* A block that recent_sizes_find() had no place for was counted in its call stack's histogram: some of these get one.  The blocks
 * that had it are added to their histogram. */
void recent_sizes_missed(struct recent_sizes *recent, uint32_t stack_id, uint32_t size_class);

#endif
