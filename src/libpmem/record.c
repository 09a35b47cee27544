/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * record.c - the slow paths of an event, see record.h.
 */
#include "libpmem/record.h"

#include "config.h"
#include "libpmem/assert.h"
#include "libpmem/live_two_cell.h"
#include "libpmem/loss.h"
#include "libpmem/real.h"
#include "libpmem/record_parts.h"
#include "libpmem/sample.h"
#include "libpmem/sample_pages.h"
#include "libpmem/silence.h"
#include "libpmem/snapshot.h"
#include "libpmem/store.h"
#include "libpmem/sys.h"

enum {
	NOT_SAMPLED = 1, /* as time of birth: in the side table for another reason */
	LOOK_EVERY = 4, /* allocations off the fast path, until one looks at the clock; within one of its ticks twice as many each time, */
	LOOK_EVERY_MAX = 64, /* up to these */
};

/* For a free, which may be the first event of this thread at the call stack.  No memory: the fixed ids' counters
 * always exist. */
static struct format_counter *counter_of(struct thread *thread, uint32_t stack_id)
{
	struct format_counter *counter = counters_get(&thread->counters, stack_id);

	if (counter)
		return counter;
	loss_add(FORMAT_LOSS_SHORT_STACKS, 1);
	return counters_get(&thread->counters, TREE_STACK_BEYOND_BUDGET);
}

static void look_at_churn(struct thread *thread)
{
	if (thread->churn_left <= 0)
		snapshot_check(thread);
}

/* Whether a point of the timeline, or a snapshot, is due. */
static void look(struct thread *thread)
{
	uint64_t now = sys_monotonic_coarse_ns();

	if (now != thread->look_ns)
		thread->look_every = LOOK_EVERY;
	else if (thread->look_every < LOOK_EVERY_MAX)
		thread->look_every *= 2;
	thread->look_ns = now;
	thread->look_left = thread->look_every;
	snapshot_look();
}

static void count_alloc(struct format_counter *counter, const struct sample_weight *weight)
{
	if (__builtin_expect(weight->blocks == 1, 1))
		counter_alloc(counter, weight->bytes, peak_epoch());
	else
		counter_alloc_many(counter, weight->bytes, weight->blocks, peak_epoch());
}

static void count_free(struct format_counter *counter, const struct sample_weight *weight)
{
	if (__builtin_expect(weight->blocks == 1, 1))
		counter_free(counter, weight->bytes, peak_epoch());
	else
		counter_free_many(counter, weight->bytes, weight->blocks, peak_epoch());
}

/* --- sampling -------------------------------------------------------------------------------- */

void record_forget_mappings(void)
{
	atomic_fetch_add_explicit(&unwind_mappings, 1, memory_order_relaxed);
}

/* --- allocation ------------------------------------------------------------------------------ */

/* The call stack that was captured is remembered whole where it is worth that. */
static inline void remember(struct thread *thread, const struct record_event *event,
			    const struct stack_cache_entry *found)
{
	if (!(thread->unwind.flags & UNWIND_FOREVER_NEW) && !record_in_loader(event->fp[1]) &&
	    thread->unwind.count && found->stack_id >= TREE_STACK_FIRST &&
	    stack_cache_miss(&thread->stacks, found))
		stack_cache_put(&thread->stacks, &thread->unwind, found->stack_id, found->counter);
}

uint32_t record_capture_timed(struct thread *thread, const uintptr_t *fp, enum format_hook hook)
{
	uint64_t begin = governor_begin();
	uint32_t id = unwind_capture(&thread->unwind, fp, hook);

	governor_end(&thread->governor, begin);
	return id;
}

/* The call stack, or the caller alone if a whole one is too much now. */
static __attribute__((noinline)) uint32_t capture_governed(struct thread *thread,
							   const struct record_event *event,
							   bool *taken)
{
	*taken = record_in_loader(event->fp[1]) || governor_takes(&thread->governor);
	return *taken ? record_capture_timed(thread, event->fp, event->hook)
		      : tree_not_taken_id(modules_encode(event->fp[1]), event->hook);
}

/* The call stack is not in the cache: *found becomes an entry that is in none. */
static inline __attribute__((always_inline)) void capture(struct thread *thread,
							  const struct record_event *event,
							  struct stack_cache_entry *found)
{
	const struct stack_cache_entry *unclean = NULL;
	bool taken = true;

	if (thread->stacks.any_unclean)
		unclean = stack_cache_find_unclean(&thread->stacks, event->fp, event->hook);
	found->slot = (uintptr_t)(event->fp + 1);
	found->key = event->fp[1] | (uintptr_t)event->hook << STACK_CACHE_HOOK_SHIFT;
	if (unclean) {
		found->stack_id = unclean->stack_id;
		found->counter = unclean->counter;
		verify_capture(thread, event->fp, found->stack_id);
		return;
	}
	if (governor_is_on())
		found->stack_id = capture_governed(thread, event, &taken);
	else
		found->stack_id = unwind_capture(&thread->unwind, event->fp, event->hook);
	if (taken)
		verify_capture(thread, event->fp, found->stack_id);
	found->counter = counters_get(&thread->counters, found->stack_id);

	/* No memory for the counter: the fixed ids' always exist. */
	if (!found->counter) {
		loss_add(FORMAT_LOSS_SHORT_STACKS, 1);
		found->stack_id = TREE_STACK_BEYOND_BUDGET;
		found->counter = counters_get(&thread->counters, found->stack_id);
		return;
	}
	if (taken)
		remember(thread, event, found);
}

void record_refresh(struct thread *thread)
{
	uint32_t mark = process_mark_now(), generation;

	/* A handler forked inside this event: 0 must never become a thread's mark, it would let the child go on
	 * as its parent. */
	if (!mark)
		return;
	modules_refresh();
	thread->mark = mark;
	thread->idle = sample_is_on() ? THREAD_SAMPLES : mark;
	generation = modules_generation();
	if (thread->generation == generation)
		return;
	thread->generation = generation;
	unwind_flush(&thread->unwind);
	stack_cache_flush(&thread->stacks);
}

/* The table held a block at this address that was freed past the hooks.  Its size is a guess (the header is the new
 * block's): never more than the call stack has live. */
static void free_stale(struct thread *thread, const struct live_block *stale)
{
	struct sample_weight weight = sample_weigh(stale->addr, stale->size, stale->birth_ns);
	uint64_t live = thread_live_bytes(stale->stack_id);

	atomic_fetch_or_explicit(&tree_stack(stale->stack_id)->flags, FORMAT_STACK_INEXACT,
				 memory_order_relaxed);
	weight.bytes = weight.bytes < live ? weight.bytes : live;
	count_free(counter_of(thread, stale->stack_id), &weight);
	peak_shrink(&thread->peak, weight.bytes);
}

static inline void count_sizes(uint32_t stack_id, struct stack_cache_entry *entry, size_t size,
			       uint64_t blocks)
{
	histogram_sizes(tree_stack(stack_id), size, blocks);
	/* A call stack's first size class never changes. */
	if (entry && !entry->size_span)
		stack_cache_set_sizes(entry);
}

/* The event's call stack is stack_id; entry is its place in the cache, or NULL. */
static void alloc_at(struct thread *thread, const struct record_event *event, uint32_t stack_id,
		     struct stack_cache_entry *entry)
{
	struct live_block live = {
		.addr = (uintptr_t)event->block, .size = event->size, .stack_id = stack_id};
	struct sample_weight weight;
	struct live_block stale;
	enum live_put done;

	ASSERT(stack_id > 0 && stack_id < tree_stack_limit());
	if (sample_is_on() || record_samples(counter_of(thread, stack_id)))
		live.birth_ns = sys_monotonic_ns();
	/* Into the side table, so that the free takes the slow path and looks who calls. */
	if (!live.birth_ns && record_in_loader(event->fp[1]))
		live.birth_ns = NOT_SAMPLED;
	weight = sample_weigh(live.addr, live.size, live.birth_ns);
	silence_before(weight.bytes);
	done = sample_pages_put(&live, &stale);
	if (done == LIVE_PUT_STALE)
		free_stale(thread, &stale);
	if (done != LIVE_PUT_LOST) {
		count_alloc(counter_of(thread, stack_id), &weight);
		peak_grow(&thread->peak, weight.bytes);
		count_sizes(stack_id, entry, event->size, weight.blocks);
	}
	thread->last_alloc = live.addr;
	thread->churn_left -= (int64_t)weight.bytes;
	look_at_churn(thread);
	if (thread->look_left-- <= 1 || sample_is_on())
		look(thread);
	thread_leave(thread);
}

/* All of it, of an event that is recorded. */
static void *alloc_here(struct thread *thread, const struct record_event *event)
{
	struct stack_cache_entry *entry = stack_cache_find(&thread->stacks, event->fp, event->hook);
	struct stack_cache_entry found = {0};

	if (!entry)
		capture(thread, event, &found);
	else
		verify_capture(thread, event->fp, found.stack_id = entry->stack_id);
	alloc_at(thread, event, found.stack_id, entry);
	return event->block;
}

/* thread is entered. */
static __attribute__((noinline)) void *alloc_slow(struct thread *thread,
						  const struct record_event *event)
{
	/* The loader's own events, in the midst of what it does, only tell. */
	if (record_in_loader(event->fp[1]))
		modules_suspect();
	else if (thread->mark != process_mark_now())
		record_refresh(thread);
	if (!sample_is_on())
		return alloc_here(thread, event);
	if (!sample_takes(event->size)) {
		thread->last_alloc = 0;
		thread_leave(thread);
		return event->block;
	}
	record_forget_mappings();
	return alloc_here(thread, event);
}

static __attribute__((noinline)) void *alloc_unready(void *block, size_t size, const uintptr_t *fp,
						     enum format_hook hook)
{
	struct thread *thread = thread_enter();
	const struct record_event event = {block, size, fp, hook};

	return thread ? alloc_slow(thread, &event) : block;
}

__attribute__((noinline)) void *record_alloc_unready(void *block, size_t size, const uintptr_t *fp,
						     enum format_hook hook)
{
	if (record_is_sampling() && record_passes_alloc(size, fp[1]))
		return block;
	return alloc_unready(block, size, fp, hook);
}

__attribute__((noinline)) void *record_alloc_miss(struct thread *thread,
						  const struct record_event *event)
{
	struct stack_cache_entry found;

	if (record_in_loader(event->fp[1]))
		return alloc_slow(thread, event);
	capture(thread, event, &found);
	/* The clock is looked at when the event is counted: the other half of a realloc() was before. */
	if (thread->look_left <= 1) {
		alloc_at(thread, event, found.stack_id, NULL);
		return event->block;
	}
	thread->look_left--;
	found.size_span = 1; /* it is in no cache: sizes would be for nothing */
	if (__builtin_expect(record_samples(found.counter), 0) ||
	    __builtin_expect(!histogram_is_first_size(tree_stack(found.stack_id), event->size), 0))
		return record_alloc_known(thread, &found, event->block, event->size);
	if (__builtin_expect(
		    !live_table_put_fast((uintptr_t)event->block, event->size, found.stack_id), 0))
		return record_alloc_other(thread, &found, event->block, event->size);
	return record_alloc_finish(thread, &found, event->block, event->size);
}

__attribute__((noinline)) void *record_alloc_count(struct thread *thread,
						   struct stack_cache_entry *entry, void *block,
						   size_t size)
{
	silence_before(size);
	counter_alloc(entry->counter, size, peak_epoch());
	peak_grow(&thread->peak, size);
	thread->churn_left -= (int64_t)size;
	look_at_churn(thread);
	thread_leave_fast(thread);
	return block;
}

/* The event is in the entry: where the return address lies, and the hook. */
static void alloc_known(struct thread *thread, struct stack_cache_entry *entry, void *block,
			size_t size)
{
	const struct record_event event = {block, size, (const uintptr_t *)entry->slot - 1,
					   (enum format_hook)(entry->key >> STACK_CACHE_HOOK_SHIFT)};

	alloc_at(thread, &event, entry->stack_id, entry);
}

/* Counts a block of another size class than its call stack's first.  Returns false if there is no place for it yet. */
static bool count_other_size(struct thread *thread, uint32_t stack_id, size_t size)
{
	uint32_t size_class = histogram_class(size, FORMAT_SIZE_SHIFT);
	_Atomic uint64_t *count = recent_sizes_find(&thread->recent_sizes, stack_id, size_class);

	if (count) {
		histogram_add_alone(count, 1);
		return true;
	}
	count = histogram_other_size(tree_stack(stack_id), size);
	if (!count)
		return false;
	histogram_add(count, 1);
	recent_sizes_missed(&thread->recent_sizes, stack_id, size_class);
	return true;
}

/* Whatever is left of a known call stack's allocations. */
static __attribute__((noinline)) void *alloc_uncommon(struct thread *thread,
						      struct stack_cache_entry *entry, void *block,
						      size_t size)
{
	if (record_samples(entry->counter) ||
	    (!live_table_put_fast((uintptr_t)block, size, entry->stack_id) &&
	     !live_table_put_two_cell((uintptr_t)block, size, entry->stack_id))) {
		alloc_known(thread, entry, block, size);
		return block;
	}
	if (!entry->size_span || !count_other_size(thread, entry->stack_id, size))
		count_sizes(entry->stack_id, entry, size, 1);
	return record_alloc_finish(thread, entry, block, size);
}

/* Most often it is just a size of another class than the call stack's first one, which the thread has a place for: no call until the end,
 * as on the fast path. */
__attribute__((noinline)) void *record_alloc_known(struct thread *thread,
						   struct stack_cache_entry *entry, void *block,
						   size_t size)
{
	_Atomic uint64_t *recent = recent_sizes_find(&thread->recent_sizes, entry->stack_id,
						     histogram_class(size, FORMAT_SIZE_SHIFT));

	if (!recent || record_samples(entry->counter) ||
	    !live_table_put_fast((uintptr_t)block, size, entry->stack_id))
		return alloc_uncommon(thread, entry, block, size);
	histogram_add_alone(recent, 1);
	return record_alloc_finish(thread, entry, block, size);
}

__attribute__((noinline)) void *record_alloc_other(struct thread *thread,
						   struct stack_cache_entry *entry, void *block,
						   size_t size)
{
	if (__builtin_expect(!live_table_put_two_cell((uintptr_t)block, size, entry->stack_id), 0))
		return record_alloc_known(thread, entry, block, size);
	return record_alloc_finish(thread, entry, block, size);
}

/* What an event leaves to do when it is counted: the peak's window, or a snapshot. */
static void end(struct thread *thread)
{
	/* Not at each look at the churn: settling takes a lock that all threads share. */
	if (peak_is_outside(&thread->peak))
		peak_settle(&thread->peak);
	if (thread->churn_left <= 0)
		snapshot_check(thread);
	thread_leave_fast(thread);
}

__attribute__((noinline)) void *record_alloc_end(struct thread *thread, void *block)
{
	silence_after(thread, (uintptr_t)block);
	end(thread);
	return block;
}

/* --- freeing --------------------------------------------------------------------------------- */

/* *live left the table for good.  Whether that makes a snapshot due is looked at next. */
static void freed(struct thread *thread, const struct live_block *live)
{
	const struct sample_weight weight = sample_weigh(live->addr, live->size, live->birth_ns);
	struct format_counter *counter = counter_of(thread, live->stack_id);

	silence_before(weight.bytes);
	count_free(counter, &weight);
	if (thread->last_alloc == live->addr) {
		counter_temporary_many(counter, weight.blocks);
		thread->last_alloc = 0;
	}
	peak_shrink(&thread->peak, weight.bytes);
	if (live->birth_ns > NOT_SAMPLED)
		histogram_lifetimes(tree_stack(live->stack_id), sys_monotonic_ns() - live->birth_ns,
				    weight.blocks);
	thread->churn_left -= (int64_t)weight.bytes;
}

/* The same of one that stands for itself alone, and whose time of birth is not known. */
static inline void freed_whole(struct thread *thread, uintptr_t addr, size_t size, uint32_t stack_id)
{
	struct format_counter *counter = counter_of(thread, stack_id);

	silence_before(size);
	counter_free(counter, size, peak_epoch());
	if (thread->last_alloc == addr) {
		counter_temporary(counter);
		thread->last_alloc = 0;
	}
	peak_shrink(&thread->peak, size);
	thread->churn_left -= (int64_t)size;
}

/* A block of the parent's, or born past the hooks, or not recorded because of sampling. */
static void free_unknown(uintptr_t addr)
{
	if (sample_is_on())
		return;
	if (live_table_take_inherited(addr))
		atomic_fetch_add_explicit(&store_head()->inherited_freed, 1, memory_order_relaxed);
	else
		atomic_fetch_add_explicit(&store_head()->unknown_freed, 1, memory_order_relaxed);
}

/* After a block was freed: the allocator may have unmapped it (a fiber's stack, for one). */
static void unmapped(size_t size)
{
	if (size >= RECORD_MAY_UNMAP)
		atomic_fetch_add_explicit(&unwind_mappings, 1, memory_order_relaxed);
}

static size_t take_and_count(struct thread *thread, void *block, uintptr_t ra)
{
	struct live_block live;
	size_t size = RECORD_MAY_UNMAP; /* of an unknown block */

	if (thread->mark != process_mark_now() && !record_in_loader(ra))
		record_refresh(thread);
	if (sample_pages_take((uintptr_t)block, &live)) {
		freed(thread, &live);
		look_at_churn(thread);
		size = live.size;
	} else if (block && !real_is_boot(block)) {
		free_unknown((uintptr_t)block);
	}
	if (record_in_loader(ra))
		modules_suspect();
	thread_leave(thread);
	return size;
}

/* thread is entered, or NULL: nothing is recorded. */
static __attribute__((noinline)) void free_slow(struct thread *thread, void *block, uintptr_t ra)
{
	size_t size = 0;

	if (thread)
		size = take_and_count(thread, block, ra);
	if (block && !real_is_boot(block))
		real.free(block);
	unmapped(size);
}

/* glibc ends every thread with a free(NULL), after the destructors of pthread
 * keys: for a thread that had no event before, a struct taken now would never be handed over. */
__attribute__((noinline)) void record_free_unready(void *block, uintptr_t ra)
{
	if (block && !(record_is_sampling() && record_passes_block(block))) {
		free_slow(thread_enter(), block, ra);
		return;
	}
	if (__builtin_expect(record_in_loader(ra), 0))
		modules_suspect();
	if (block && __builtin_expect(!real_is_boot(block), 1))
		real.free(block);
}

__attribute__((noinline)) void record_free_other(struct thread *thread, void *block, uintptr_t ra)
{
	struct live_block live;

	if (__builtin_expect(live_table_take_two_cell((uintptr_t)block, &live), 1))
		record_free_finish(thread, &live);
	else
		free_slow(thread, block, ra);
}

__attribute__((noinline)) void record_free_count(struct thread *thread, void *block, size_t size,
						 uint32_t stack_id)
{
	freed_whole(thread, (uintptr_t)block, size, stack_id);
	look_at_churn(thread);
	thread_leave_fast(thread);
	real.free(block);
	unmapped(size);
}

__attribute__((noinline)) void record_free_end(struct thread *thread, void *block)
{
	end(thread);
	real.free(block);
}

/* --- reallocation ---------------------------------------------------------------------------- */

__attribute__((noinline)) bool record_take_other(struct thread *thread, void *block,
						 struct live_block *taken)
{
	bool known = sample_pages_take((uintptr_t)block, taken);

	if (!known)
		free_unknown((uintptr_t)block);
	thread_leave(thread);
	return known;
}

__attribute__((noinline)) bool record_take_unready(void *block, struct live_block *taken)
{
	struct thread *thread;

	if (record_is_sampling() && record_passes_block(block))
		return false;
	thread = thread_enter();
	return thread && record_take_other(thread, block, taken);
}

__attribute__((noinline)) void record_taken_freed_other(struct thread *thread,
							const struct live_block *taken)
{
	unmapped(taken->size);
	if (taken->birth_ns || sample_is_on())
		freed(thread, taken);
	else
		freed_whole(thread, taken->addr, taken->size, taken->stack_id);
	thread_leave(thread);
}

__attribute__((noinline)) void record_taken_freed_unready(const struct live_block *taken)
{
	struct thread *thread = thread_enter();

	if (thread)
		record_taken_freed_other(thread, taken);
	else
		unmapped(taken->size);
}

__attribute__((noinline)) void record_taken_freed_end(struct thread *thread)
{
	peak_settle(&thread->peak);
	thread_leave_fast(thread);
}

void record_put_back(const struct live_block *taken)
{
	struct thread *thread = thread_enter();
	struct live_block stale;

	if (!thread)
		return;
	sample_pages_put(taken, &stale);
	thread_leave(thread);
}
