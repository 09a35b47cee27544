/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * record.h - what happens at each event: between the hooks and everything that counts.
 *
 * Order: a block enters the live table after the real allocation and leaves it before the real free
 * or realloc (and comes back if that fails); otherwise another thread could own the address in between.
 * It is counted before its pointer is returned to the program.
 */
#ifndef PMEM_LIBPMEM_RECORD_H
#define PMEM_LIBPMEM_RECORD_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config.h"
#include "libpmem/histogram.h"
#include "libpmem/hook.h"
#include "libpmem/live_table.h"
#include "libpmem/modules.h"
#include "libpmem/real.h"
#include "libpmem/sample.h"
#include "libpmem/sample_pages.h"
#include "libpmem/thread.h"
#include "libpmem/tree.h"
#include "libpmem/verify.h"

enum { RECORD_MAY_UNMAP = 16 * 1024 };

/* An allocation that the program made. */
struct record_event {
	void *block;
	size_t size;	     /* as requested */
	const uintptr_t *fp; /* frame address of the entry point: return address at fp[1] */
	enum format_hook hook;
};

/* Where the functions below leave the fast path: each does the rest of the event.  A fast path makes no
 * call until its end, so that it needs no registers saved; thread: entered already. */
void *record_alloc_unready(void *block, size_t size, const uintptr_t *fp, enum format_hook hook);
void *record_alloc_miss(struct thread *thread,
			const struct record_event *event); /* not in the stack cache */
/* The call stack is known; the block is not an everyday one, or in the other layout of the live table. */
void *record_alloc_known(struct thread *thread, struct stack_cache_entry *entry, void *block,
			 size_t size);
void *record_alloc_other(struct thread *thread, struct stack_cache_entry *entry, void *block,
			 size_t size);
void *record_alloc_count(struct thread *thread, struct stack_cache_entry *entry, void *block,
			 size_t size);
void *record_alloc_end(struct thread *thread, void *block);
void record_free_unready(void *block, uintptr_t ra);
void record_free_other(struct thread *thread, void *block,
		       uintptr_t ra); /* as record_alloc_other() */
void record_free_count(struct thread *thread, void *block, size_t size, uint32_t stack_id);
void record_free_end(struct thread *thread, void *block);

/* The call stack of a call that is no event of the heap; thread: entered already. */
uint32_t record_stack(struct thread *thread, const uintptr_t *fp, enum format_hook hook);

/* The same where the governor takes none: the caller alone. */
uint32_t record_caller(struct thread *thread, const uintptr_t *fp, enum format_hook hook);

static inline bool record_in_loader(uintptr_t ra)
{
	return ra - modules_loader_start < modules_loader_size;
}

/* Whether the next block that is counted there is one of the PMEM_LIFETIME_SAMPLE that carry their time of birth:
 * pseudo-random in the number of blocks so far, so that no rhythm of the program decides. */
static inline bool record_samples(const struct format_counter *counter)
{
	uint32_t count = __atomic_load_n((const uint32_t *)&counter->alloc_count, __ATOMIC_RELAXED);

	return (count ^ 0x5bd1e995u) * 0x9e3779b1u < UINT32_MAX / PMEM_LIFETIME_SAMPLE;
}

/* The rest of an allocation that is in the live table. */
static inline __attribute__((always_inline)) void *record_alloc_finish(
	struct thread *thread, struct stack_cache_entry *entry, void *block, size_t size)
{
	bool settle;

	thread->last_alloc = (uintptr_t)block;
	if (__builtin_expect(!counter_alloc_fast(entry->counter, size, peak_epoch()), 0))
		return record_alloc_count(thread, entry, block, size);
	settle = peak_grow_fast(&thread->peak, size);
	thread->churn_left -= (int64_t)size;
	if (__builtin_expect(settle, 0) || __builtin_expect(thread->churn_left <= 0, 0))
		return record_alloc_end(thread, block);
	thread_leave_fast(thread);
	return block;
}

/* The calling thread samples, and records no event now.  While sampling is off nothing of the thread is looked at: the first events may come before
 * thread-local data has its first values (thread_before_tls()). */
static inline bool record_is_sampling(void)
{
	return __builtin_expect(sample_is_on(), 0) && thread_current->ready == THREAD_SAMPLES;
}

/* If so: true if an allocation of size bytes, called from ra, is one of those between two samples, and all was done that it
 * takes. */
static inline bool record_passes_alloc(size_t size, uintptr_t ra)
{
	struct thread *thread = thread_current;

	if (thread->mark != process_mark_now() || record_in_loader(ra) || !sample_passes(size))
		return false;
	thread->last_alloc = 0;
	return true;
}

/* If so: true if a block that ends was not recorded, and may be left at that. */
static inline bool record_passes_block(const void *block)
{
	uintptr_t addr = (uintptr_t)block;

	return thread_current->mark == process_mark_now() &&
	       (!sample_pages_may_hold(addr) || !live_table_holds(addr));
}

/* The same of free(), called from ra: the next one is all that is left to call. */
static inline bool record_passes_free(const void *block, uintptr_t ra)
{
	uintptr_t addr = (uintptr_t)block;

	if (thread_current->mark != process_mark_now() || record_in_loader(ra))
		return false;
	return __builtin_expect(!sample_pages_may_hold(addr), 1) ||
	       (block && !live_table_holds(addr) && !real_is_boot(block));
}

/* The program got block, of size requested bytes, through hook, whose frame address is fp: the return
 * address lies at fp[1].  Returns block. */
static inline __attribute__((always_inline)) void *record_alloc(void *block, size_t size,
								const uintptr_t *fp,
								enum format_hook hook)
{
	struct thread *thread = thread_enter_fast();
	struct stack_cache_entry *entry;

	if (__builtin_expect(!thread, 0)) {
		block = record_alloc_unready(block, size, fp, hook);
		/* Not a tail call: fp's frame is still needed. */
		__asm__ volatile("" : "+r"(block));
		return block;
	}
	entry = stack_cache_find(&thread->stacks, fp, hook);
	if (__builtin_expect(!entry, 0))
		return record_alloc_miss(thread, &(struct record_event){block, size, fp, hook});
	verify_capture(thread, fp, entry->stack_id);
	if (__builtin_expect(record_samples(entry->counter), 0) ||
	    __builtin_expect(size - entry->size_min >= entry->size_span, 0))
		return record_alloc_known(thread, entry, block, size);
	if (__builtin_expect(!live_table_put_fast((uintptr_t)block, size, entry->stack_id), 0))
		return record_alloc_other(thread, entry, block, size);
	return record_alloc_finish(thread, entry, block, size);
}

/* The rest of a free of *live, which left the live table. */
static inline __attribute__((always_inline)) void record_free_finish(struct thread *thread,
								     const struct live_block *live)
{
	struct format_counter *counter = counters_find(&thread->counters, live->stack_id);
	void *block = (void *)live->addr;
	bool settle;

	if (__builtin_expect(!counter, 0) || __builtin_expect(live->size >= RECORD_MAY_UNMAP, 0) ||
	    __builtin_expect(!counter_free_fast(counter, live->size, peak_epoch()), 0)) {
		record_free_count(thread, block, live->size, live->stack_id);
		return;
	}
	if (thread->last_alloc == live->addr) {
		counter_temporary_fast(counter);
		thread->last_alloc = 0;
	}
	settle = peak_shrink_fast(&thread->peak, live->size);
	thread->churn_left -= (int64_t)live->size;
	if (__builtin_expect(settle, 0) || __builtin_expect(thread->churn_left <= 0, 0)) {
		record_free_end(thread, block);
		return;
	}
	thread_leave_fast(thread);
	real.free(block);
}

/* Frees block, which the program wants freed, called from ra.  What the loader allocated is never on the fast
 * path (record.c), so its frees are noticed there. */
static inline __attribute__((always_inline)) void record_free(void *block, uintptr_t ra)
{
	struct thread *thread = thread_enter_fast();
	struct live_block live;

	if (__builtin_expect(!thread, 0))
		record_free_unready(block, ra);
	else if (__builtin_expect(!live_table_take_fast((uintptr_t)block, &live), 0))
		record_free_other(thread, block, ra);
	else
		record_free_finish(thread, &live);
}

/* A call for size bytes through hook returned NULL, for want of memory.  Returns NULL.  Nowhere but in the branch that it is for; not in tail
 * position: fp's frame is needed. */
void *record_failed(size_t size, const uintptr_t *fp, enum format_hook hook);

/* Where the functions for a reallocation leave the fast path; thread: entered already. */
bool record_take_unready(void *block, struct live_block *taken);
bool record_take_other(struct thread *thread, void *block, struct live_block *taken);
void record_taken_freed_unready(const struct live_block *taken);
void record_taken_freed_other(struct thread *thread, const struct live_block *taken);
void record_taken_freed_end(struct thread *thread);

/* The program is about to reallocate block: takes it out, uncounted.  False: not known. */
static inline bool record_take(void *block, struct live_block *taken)
{
	struct thread *thread = thread_enter_fast();

	if (__builtin_expect(!thread, 0))
		return record_take_unready(block, taken);
	if (__builtin_expect(!live_table_take_fast((uintptr_t)block, taken), 0))
		return record_take_other(thread, block, taken);
	thread_leave_fast(thread);
	return true;
}

/* The reallocation freed *taken.  A snapshot, or a point of the timeline, waits for the new block, which is the next
 * event. */
static inline void record_taken_freed(const struct live_block *taken)
{
	struct thread *thread = thread_enter_fast();
	struct format_counter *counter;

	if (__builtin_expect(!thread, 0)) {
		record_taken_freed_unready(taken);
		return;
	}
	counter = counters_find(&thread->counters, taken->stack_id);
	if (__builtin_expect(!counter, 0) || __builtin_expect(taken->birth_ns != 0, 0) ||
	    __builtin_expect(taken->size >= RECORD_MAY_UNMAP, 0) ||
	    __builtin_expect(!counter_free_fast(counter, taken->size, peak_epoch()), 0)) {
		record_taken_freed_other(thread, taken);
		return;
	}
	if (thread->last_alloc == taken->addr) {
		counter_temporary_fast(counter);
		thread->last_alloc = 0;
	}
	thread->churn_left -= (int64_t)taken->size;
	if (__builtin_expect(peak_shrink_fast(&thread->peak, taken->size), 0))
		record_taken_freed_end(thread);
	else
		thread_leave_fast(thread);
}

/* The reallocation failed and left *taken as it was. */
void record_put_back(const struct live_block *taken);

/* *taken became a block of size bytes, which was recorded; is_mapping: it was one of its own, as glibc makes for large blocks. */
void record_reallocated(const struct live_block *taken, bool is_mapping, void *block, size_t size);

#endif
