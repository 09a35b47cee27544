/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * loss.c - the counters behind loss.h: they lie in the profile's header.
 *
 * Relaxed everywhere: each counter stands alone, nobody infers the state of other memory from it.
 */
#include "libpmem/loss.h"

#include <stdatomic.h>

#include "libpmem/store.h"

static const char *const names[FORMAT_LOSS_KINDS] = {
	[FORMAT_LOSS_EVENTS] = "events",       [FORMAT_LOSS_STALE_BLOCKS] = "stale_blocks",
	[FORMAT_LOSS_TRUNCATED] = "truncated", [FORMAT_LOSS_SHORT_STACKS] = "short_stacks",
	[FORMAT_LOSS_MEMORY] = "memory",       [FORMAT_LOSS_LOG_BYTES] = "log_bytes",
	[FORMAT_LOSS_SAMPLES] = "samples",     [FORMAT_LOSS_MODULES] = "modules",
	[FORMAT_LOSS_INTERNAL] = "internal",   [FORMAT_LOSS_PROFILE_BYTES] = "profile_bytes",
	[FORMAT_LOSS_TIMELINE] = "timeline",   [FORMAT_LOSS_CHILDREN] = "children",
	[FORMAT_LOSS_NOT_TAKEN] = "not_taken", [FORMAT_LOSS_MAPPINGS] = "mappings",
	[FORMAT_LOSS_FAILURES] = "failures",
};

void loss_add(enum format_loss kind, uint64_t count)
{
	atomic_fetch_add_explicit(&store_head()->losses[kind], count, memory_order_relaxed);
}

uint64_t loss_count(enum format_loss kind)
{
	return atomic_load_explicit(&store_head()->losses[kind], memory_order_relaxed);
}

const char *loss_name(enum format_loss kind)
{
	return names[kind];
}

uint64_t loss_total(void)
{
	return loss_count(FORMAT_LOSS_EVENTS) + loss_count(FORMAT_LOSS_LOG_BYTES) +
	       loss_count(FORMAT_LOSS_INTERNAL);
}
