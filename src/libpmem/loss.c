/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * loss.c - the counters behind loss.h.
 *
 * Relaxed everywhere: each counter stands alone, nobody infers the state of other memory from it.
 */
#include "libpmem/loss.h"

#include <stdatomic.h>

static _Atomic uint64_t counts[LOSS_KINDS];

static const char *const names[LOSS_KINDS] = {
	[LOSS_EVENTS] = "events",	[LOSS_STALE_BLOCKS] = "stale_blocks",
	[LOSS_TRUNCATED] = "truncated", [LOSS_SHORT_STACKS] = "short_stacks",
	[LOSS_MEMORY] = "memory",	[LOSS_LOG_BYTES] = "log_bytes",
	[LOSS_SAMPLES] = "samples",	[LOSS_MODULES] = "modules",
	[LOSS_INTERNAL] = "internal",
};

void loss_add(enum loss kind, uint64_t count)
{
	atomic_fetch_add_explicit(&counts[kind], count, memory_order_relaxed);
}

uint64_t loss_count(enum loss kind)
{
	return atomic_load_explicit(&counts[kind], memory_order_relaxed);
}

const char *loss_name(enum loss kind)
{
	return names[kind];
}

uint64_t loss_total(void)
{
	return loss_count(LOSS_EVENTS) + loss_count(LOSS_LOG_BYTES) + loss_count(LOSS_INTERNAL);
}

void loss_fork_child(void)
{
	for (int kind = 0; kind < LOSS_KINDS; kind++)
		atomic_store_explicit(&counts[kind], 0, memory_order_relaxed);
}
