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

#include "libpmem/histogram.h"
#include "libpmem/hook.h"
#include "libpmem/live_table.h"
#include "libpmem/modules.h"
#include "libpmem/thread.h"
#include "libpmem/tree.h"
#include "libpmem/verify.h"

enum { RECORD_MAY_UNMAP = 16 * 1024 };

/* An allocation that the program made. */
struct record_event {
	void *block;
	size_t size;	     /* as requested */
	const uintptr_t *fp; /* frame address of the entry point: return address at fp[1] */
	enum hook hook;
};

/* The slow paths of the functions below: whatever the fast ones do not do.  thread: entered already,
 * or NULL. */
void record_alloc_slow(struct thread *thread, const struct record_event *event);
bool record_free_slow(struct thread *thread, void *block, uintptr_t ra);
void record_size(struct stack_cache_entry *entry, size_t size);
void record_lifetime(const struct live_block *block);
void record_churn(struct thread *thread);
struct counter *record_counter_lost(struct thread *thread);

/* Blocks freed by this process that its parent had allocated. */
uint64_t record_inherited_freed(void);
/* Frees and reallocs of addresses that no table knew. */
uint64_t record_unknown_freed(void);
void record_fork_child(void);

static inline bool record_in_loader(uintptr_t ra)
{
	return ra - modules_loader_start < modules_loader_size;
}

static inline struct counter *record_counter(struct thread *thread, uint32_t stack_id)
{
	struct counter *counter = counters_get(&thread->counters, stack_id);

	return __builtin_expect(counter != NULL, 1) ? counter : record_counter_lost(thread);
}

static inline void record_moved(struct thread *thread, size_t size)
{
	thread->churn_left -= (int64_t)size;
	if (__builtin_expect(thread->churn_left <= 0, 0))
		record_churn(thread);
}

/* The program got block, of size requested bytes, through hook, whose frame address is fp: the return
 * address lies at fp[1]. */
static inline __attribute__((always_inline)) void record_alloc(void *block, size_t size,
							       const uintptr_t *fp, enum hook hook)
{
	struct thread *thread = thread_enter_fast();
	struct stack_cache_entry *entry;

	if (__builtin_expect(!thread, 0)) {
		record_alloc_slow(NULL, &(struct record_event){block, size, fp, hook});
		return;
	}
	entry = stack_cache_find(&thread->stacks, fp, hook);
	if (__builtin_expect(!entry, 0) || __builtin_expect(thread->sample_left == 0, 0) ||
	    __builtin_expect(!live_table_put_fast((uintptr_t)block, size, entry->stack_id), 0)) {
		record_alloc_slow(thread, &(struct record_event){block, size, fp, hook});
		return;
	}
	verify_capture(thread, fp, entry->stack_id);
	thread->sample_left--;
	counter_alloc(entry->counter, size, peak_epoch());
	peak_grow(&thread->peak, size);
	if (__builtin_expect(size - entry->size_min >= entry->size_span, 0))
		record_size(entry, size);
	thread->last_alloc = (uintptr_t)block;
	record_moved(thread, size);
	thread_leave_fast(thread);
}

/* *live left the table for good. */
static inline __attribute__((always_inline)) void record_freed(struct thread *thread,
							       const struct live_block *live)
{
	struct counter *counter = record_counter(thread, live->stack_id);

	counter_free(counter, live->size, peak_epoch());
	if (thread->last_alloc == live->addr)
		counter_temporary(counter);
	thread->last_alloc = 0;
	peak_shrink(&thread->peak, live->size);
	if (__builtin_expect(live->birth_ns != 0, 0))
		record_lifetime(live);
	/* The allocator may unmap it: a fiber's stack, for one. */
	if (__builtin_expect(live->size >= RECORD_MAY_UNMAP, 0))
		atomic_fetch_add_explicit(&unwind_mappings, 1, memory_order_relaxed);
	record_moved(thread, live->size);
}

/* The program is about to free block, called from ra.  False: there is nothing to free (NULL, or a block of the
 * boot arena). */
static inline __attribute__((always_inline)) bool record_free(void *block, uintptr_t ra)
{
	struct thread *thread = thread_enter_fast();
	struct live_block live;

	if (__builtin_expect(!thread, 0) || __builtin_expect(record_in_loader(ra), 0) ||
	    __builtin_expect(!live_table_take_fast((uintptr_t)block, &live), 0))
		return record_free_slow(thread, block, ra);
	record_freed(thread, &live);
	thread_leave_fast(thread);
	return true;
}

/* The program is about to reallocate block: takes it out, uncounted.  False: not known. */
bool record_take(void *block, struct live_block *taken);

/* The reallocation freed *taken, or failed and left it as it was. */
void record_taken_freed(const struct live_block *taken);
void record_put_back(const struct live_block *taken);

#endif
