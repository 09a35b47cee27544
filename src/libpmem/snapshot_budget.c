/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * snapshot_budget.c - see snapshot_budget.h.  Written under LOCK_SNAPSHOT, read by any thread.
 */
#include "libpmem/snapshot_budget.h"

#include <stdatomic.h>

#include "libpmem/settings.h"
#include "libpmem/store.h"

enum { SECOND_NS = 1000000000 };

static _Atomic uint64_t all_ns;	     /* in all snapshots */
static _Atomic uint64_t last_ns;     /* in the last one, or the one in progress */
static _Atomic uint32_t last_stacks; /* of that one */
static _Atomic uint64_t all_bytes;   /* of text, of all snapshots */

void snapshot_budget_begin(uint32_t stacks)
{
	atomic_store_explicit(&last_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&last_stacks, stacks, memory_order_relaxed);
}

void snapshot_budget_spend(uint64_t time_ns)
{
	uint64_t all = atomic_fetch_add_explicit(&all_ns, time_ns, memory_order_relaxed) + time_ns;

	atomic_store_explicit(&store_head()->snapshot_ns, all, memory_order_relaxed);
	atomic_fetch_add_explicit(&last_ns, time_ns, memory_order_relaxed);
}

void snapshot_budget_write(uint64_t bytes)
{
	atomic_fetch_add_explicit(&all_bytes, bytes, memory_order_relaxed);
}

static bool allows_time(uint64_t uptime_ns, uint32_t stacks)
{
	uint64_t share = uptime_ns / 1000 * settings.snapshot_share;
	uint64_t next = atomic_load_explicit(&last_ns, memory_order_relaxed);
	uint32_t before = atomic_load_explicit(&last_stacks, memory_order_relaxed);

	if (stacks > before)
		next += (uint64_t)(stacks - before) * SNAPSHOT_STACK_NS;
	return snapshot_budget_spent() + next <=
	       (share > SNAPSHOT_CREDIT_NS ? share : SNAPSHOT_CREDIT_NS);
}

static bool allows_text(uint64_t uptime_ns)
{
	uint64_t seconds = uptime_ns / SECOND_NS, ms = uptime_ns % SECOND_NS / (SECOND_NS / 1000);
	uint64_t share = seconds * settings.log_rate + ms * settings.log_rate / 1000;

	return settings.log_rate == 0 || atomic_load_explicit(&all_bytes, memory_order_relaxed) <=
						 SNAPSHOT_CREDIT_BYTES + share;
}

bool snapshot_budget_allows(uint64_t uptime_ns, uint32_t stacks)
{
	return allows_time(uptime_ns, stacks) && allows_text(uptime_ns);
}

uint64_t snapshot_budget_spent(void)
{
	return atomic_load_explicit(&all_ns, memory_order_relaxed);
}

uint64_t snapshot_budget_text(void)
{
	uint64_t half = settings.log_max / 2;

	if (settings.log_max == 0 || settings.log_snapshot_max == 0)
		return settings.log_snapshot_max;
	return settings.log_snapshot_max < half ? settings.log_snapshot_max : half;
}

void snapshot_budget_fork_child(void)
{
	atomic_store_explicit(&all_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&all_bytes, 0, memory_order_relaxed);
	snapshot_budget_begin(0);
}
