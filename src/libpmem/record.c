/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * record.c - the slow paths of an event, see record.h.
 */
#include "libpmem/record.h"

#include "config.h"
#include "libpmem/loss.h"
#include "libpmem/snapshot.h"
#include "libpmem/sys.h"

static _Atomic uint64_t inherited_freed;
static _Atomic uint64_t unknown_freed;

/* The call stack is not in the cache. */
__attribute__((noinline)) uint32_t record_capture(struct thread *thread, const uintptr_t *fp, uint32_t hook)
{
	uint32_t id = unwind_capture(&thread->unwind, fp, hook);

	if (!(thread->unwind.flags & UNWIND_SIGNAL) && thread->unwind.count && id >= TREE_STACK_FIRST)
		stack_cache_put(&thread->stacks, &thread->unwind, id);
	return id;
}

/* The loader did something.  Its own events, in the midst of it, do not look. */
__attribute__((noinline)) void record_refresh(struct thread *thread, uintptr_t ra)
{
	uint32_t epoch = atomic_load_explicit(&modules_epoch, memory_order_acquire), generation;

	if (record_in_loader(ra))
		return;
	modules_refresh();
	thread->epoch = epoch;
	generation = modules_generation();
	if (thread->generation == generation)
		return;
	thread->generation = generation;
	unwind_flush(&thread->unwind);
	stack_cache_flush(&thread->stacks);
}

/* One block in PMEM_LIFETIME_SAMPLE on average, at random distances: its time of birth. */
__attribute__((noinline)) uint64_t record_sample(struct thread *thread)
{
	uint64_t x = thread->random;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	thread->random = x;
	thread->sample_left = (uint32_t)(x >> 32) % (2 * PMEM_LIFETIME_SAMPLE - 1);
	return sys_monotonic_ns();
}

/* The table held a block at this address that was freed past the hooks. */
__attribute__((noinline)) void record_put_trouble(struct thread *thread, const struct live_block *stale)
{
	atomic_fetch_or_explicit(&tree_stack(stale->stack_id)->flags, TREE_STACK_INEXACT, memory_order_relaxed);
	counter_free(record_counter(thread, stale->stack_id), stale->size, peak_epoch());
	peak_add(&thread->peak, -(int64_t)stale->size);
}

__attribute__((noinline)) void record_churn(struct thread *thread)
{
	snapshot_check(thread);
}

__attribute__((noinline)) void record_lifetime(const struct live_block *block)
{
	histogram_lifetime(tree_stack(block->stack_id), sys_monotonic_ns() - block->birth_ns);
}

/* A block of the parent's, of the boot arena, or born past the hooks. */
__attribute__((noinline)) void record_unknown(const void *block)
{
	if (live_table_take_inherited((uintptr_t)block))
		atomic_fetch_add_explicit(&inherited_freed, 1, memory_order_relaxed);
	else
		atomic_fetch_add_explicit(&unknown_freed, 1, memory_order_relaxed);
}

/* No memory for the counter: the fixed ids' always exists. */
__attribute__((noinline)) struct counter *record_counter_lost(struct thread *thread)
{
	loss_add(LOSS_SHORT_STACKS, 1);
	return counters_get(&thread->counters, TREE_STACK_BEYOND_BUDGET);
}

bool record_take(void *block, struct live_block *taken)
{
	struct thread *thread = thread_enter();
	bool known = false;

	if (!thread)
		return false;
	known = live_table_take((uintptr_t)block, taken);
	if (!known)
		record_unknown(block);
	thread_leave(thread);
	return known;
}

void record_taken_freed(const struct live_block *taken)
{
	struct thread *thread = thread_enter();

	if (!thread)
		return;
	record_freed(thread, taken);
	thread_leave(thread);
}

void record_put_back(const struct live_block *taken)
{
	struct thread *thread = thread_enter();
	struct live_block stale;

	if (!thread)
		return;
	live_table_put(taken, &stale);
	thread_leave(thread);
}

uint64_t record_inherited_freed(void)
{
	return atomic_load_explicit(&inherited_freed, memory_order_relaxed);
}

uint64_t record_unknown_freed(void)
{
	return atomic_load_explicit(&unknown_freed, memory_order_relaxed);
}

void record_fork_child(void)
{
	atomic_store_explicit(&inherited_freed, 0, memory_order_relaxed);
	atomic_store_explicit(&unknown_freed, 0, memory_order_relaxed);
}
