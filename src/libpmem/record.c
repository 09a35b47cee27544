/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * record.c - the slow paths of an event, see record.h.
 */
#include "libpmem/record.h"

#include "config.h"
#include "libpmem/loss.h"
#include "libpmem/real.h"
#include "libpmem/snapshot.h"
#include "libpmem/sys.h"

static _Atomic uint64_t inherited_freed;
static _Atomic uint64_t unknown_freed;

/* The call stack is not in the cache. */
static uint32_t capture(struct thread *thread, const struct record_event *event)
{
	uint32_t id = unwind_capture(&thread->unwind, event->fp, event->hook);

	if (!(thread->unwind.flags & UNWIND_SIGNAL) && thread->unwind.count && id >= TREE_STACK_FIRST)
		stack_cache_put(&thread->stacks, &thread->unwind, id, record_counter(thread, id));
	return id;
}

/* The loader did something: this thread's caches may be wrong. */
static void refresh(struct thread *thread)
{
	uint32_t mark = process_mark_now(), generation;

	modules_refresh();
	thread->mark = mark;
	generation = modules_generation();
	if (thread->generation == generation)
		return;
	thread->generation = generation;
	unwind_flush(&thread->unwind);
	stack_cache_flush(&thread->stacks);
}

/* One block in PMEM_LIFETIME_SAMPLE on average, at random distances: its time of birth. */
static uint64_t sample(struct thread *thread)
{
	uint64_t x = thread->random;

	if (thread->sample_left--)
		return 0;
	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	thread->random = x;
	thread->sample_left = (uint32_t)(x >> 32) % (2 * PMEM_LIFETIME_SAMPLE - 1);
	return sys_monotonic_ns();
}

static void count(struct thread *thread, uint32_t stack_id, size_t size)
{
	counter_alloc(record_counter(thread, stack_id), size, peak_epoch());
	peak_grow(&thread->peak, size);
	histogram_size(tree_stack(stack_id), size);
}

/* The table held a block at this address that was freed past the hooks. */
static void free_stale(struct thread *thread, const struct live_block *stale)
{
	atomic_fetch_or_explicit(&tree_stack(stale->stack_id)->flags, TREE_STACK_INEXACT,
				 memory_order_relaxed);
	counter_free(record_counter(thread, stale->stack_id), stale->size, peak_epoch());
	peak_shrink(&thread->peak, stale->size);
}

static void alloc(struct thread *thread, const struct record_event *event)
{
	struct live_block live = {.addr = (uintptr_t)event->block, .size = event->size}, stale;
	struct stack_cache_entry *entry;
	enum live_put put;

	/* The loader's own events, in the midst of what it does, do not look. */
	if (thread->mark != process_mark_now() && !record_in_loader(event->fp[1]))
		refresh(thread);
	entry = stack_cache_find(&thread->stacks, event->fp, event->hook);
	live.stack_id = entry ? entry->stack_id : capture(thread, event);
	verify_capture(thread, event->fp, live.stack_id);
	live.birth_ns = sample(thread);
	put = live_table_put(&live, &stale);
	if (put == LIVE_PUT_STALE)
		free_stale(thread, &stale);
	if (put != LIVE_PUT_LOST)
		count(thread, live.stack_id, event->size);
	thread->last_alloc = live.addr;
	record_moved(thread, event->size);
	thread_leave(thread);
}

__attribute__((noinline)) void record_alloc_slow(struct thread *thread,
						 const struct record_event *event)
{
	if (!thread)
		thread = thread_enter();
	if (thread)
		alloc(thread, event);
}

/* A size outside the range that needs no counting. */
__attribute__((noinline)) void record_size(struct stack_cache_entry *entry, size_t size)
{
	histogram_size(entry->stack, size);
	stack_cache_set_sizes(entry);
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
static void free_unknown(uintptr_t addr)
{
	if (live_table_take_inherited(addr))
		atomic_fetch_add_explicit(&inherited_freed, 1, memory_order_relaxed);
	else
		atomic_fetch_add_explicit(&unknown_freed, 1, memory_order_relaxed);
}

__attribute__((noinline)) bool record_free_slow(struct thread *thread, void *block, uintptr_t ra)
{
	struct live_block live;

	if (!block || real_is_boot(block)) {
		if (thread)
			thread_leave(thread);
		return false;
	}
	if (!thread)
		thread = thread_enter();
	if (!thread)
		return true;
	if (live_table_take((uintptr_t)block, &live))
		record_freed(thread, &live);
	else
		free_unknown((uintptr_t)block);
	if (record_in_loader(ra))
		modules_suspect();
	thread_leave(thread);
	return true;
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
		free_unknown((uintptr_t)block);
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
