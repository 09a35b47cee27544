/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * recent_sizes.c - the cold half of recent_sizes.h.
 *
 * A place changes hands before its blocks are in their histogram: a reader in between, or a kill, finds them in neither, and so in the
 * call stack's first class.
 */
#include "libpmem/recent_sizes.h"

#include <assert.h>

#include "libpmem/histogram.h"
#include "libpmem/store.h"
#include "libpmem/tree.h"

enum { MISSES = 8 }; /* for each change: what comes often has its place most of the time */

static_assert(FORMAT_RECENT == 1 << 8, "recent_sizes_place() has eight bits");
static_assert(TREE_STACK_MAX < 1u << (32 - (FORMAT_RECENT_STACK_SHIFT - FORMAT_RECENT_CLASS_SHIFT)),
	      "an id fits into a key");

static void make(struct recent_sizes *recent)
{
	uint32_t index;

	recent->table = store_take(FORMAT_RECENT_SIZES, sizeof(*recent->table),
				   &store_head()->recent_count, &index);
	recent->refused = !recent->table;
}

__attribute__((noinline)) void recent_sizes_missed(struct recent_sizes *recent, uint32_t stack_id,
						   uint32_t size_class)
{
	uint32_t key = recent_sizes_key(stack_id, size_class);
	_Atomic uint64_t *place;
	uint64_t before;

	if (++recent->missed % MISSES || recent->refused)
		return;
	if (!recent->table)
		make(recent);
	if (!recent->table)
		return;
	place = recent_sizes_place(recent, key);
	before = atomic_load_explicit(place, memory_order_relaxed);
	atomic_store_explicit(place, (uint64_t)key << FORMAT_RECENT_CLASS_SHIFT,
			      memory_order_relaxed);
	/* The place, before the histogram. */
	atomic_thread_fence(memory_order_release);
	if ((uint32_t)before)
		histogram_add_others(tree_stack((uint32_t)(before >> FORMAT_RECENT_STACK_SHIFT)),
				     before >> FORMAT_RECENT_CLASS_SHIFT & FORMAT_RECENT_CLASS_MASK,
				     (uint32_t)before);
}
