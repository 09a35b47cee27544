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

/* The slow paths of the functions below. */
uint32_t record_capture(struct thread *thread, const uintptr_t *fp, uint32_t hook);
void record_refresh(struct thread *thread, uintptr_t ra);
uint64_t record_sample(struct thread *thread);
void record_put_trouble(struct thread *thread, const struct live_block *stale);
void record_churn(struct thread *thread);
void record_lifetime(const struct live_block *block);
void record_unknown(const void *block);
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
	thread->churn += size;
	if (__builtin_expect(thread->churn >= thread->churn_limit, 0))
		record_churn(thread);
}

/* The program got block, of size requested bytes, through the entry point hook with frame address fp. */
static inline void record_alloc(void *block, size_t size, const uintptr_t *fp, enum hook hook)
{
	struct thread *thread = thread_enter();
	struct live_block live = {.addr = (uintptr_t)block, .size = size}, stale;
	enum live_put put;

	if (__builtin_expect(!thread, 0))
		return;
	if (__builtin_expect(thread->epoch != __atomic_load_n((uint32_t *)&modules_epoch, __ATOMIC_ACQUIRE), 0))
		record_refresh(thread, fp[1]);
	live.stack_id = stack_cache_find(&thread->stacks, fp, hook);
	if (__builtin_expect(!live.stack_id, 0))
		live.stack_id = record_capture(thread, fp, hook);
	verify_capture(thread, fp, live.stack_id);
	if (__builtin_expect(thread->sample_left-- == 0, 0))
		live.birth_ns = record_sample(thread);
	put = live_table_put(&live, &stale);
	if (__builtin_expect(put != LIVE_PUT_OK, 0) && put == LIVE_PUT_STALE)
		record_put_trouble(thread, &stale);
	if (__builtin_expect(put != LIVE_PUT_LOST, 1)) {
		counter_alloc(record_counter(thread, live.stack_id), size, peak_epoch());
		peak_add(&thread->peak, (int64_t)size);
		histogram_size(tree_stack(live.stack_id), size);
	}
	thread->last_alloc = (uintptr_t)block;
	record_moved(thread, size);
	thread_leave(thread);
}

/* *live left the table for good. */
static inline void record_freed(struct thread *thread, const struct live_block *live)
{
	struct counter *counter = record_counter(thread, live->stack_id);

	counter_free(counter, live->size, peak_epoch());
	if (thread->last_alloc == live->addr)
		counter_temporary(counter);
	thread->last_alloc = 0;
	peak_add(&thread->peak, -(int64_t)live->size);
	if (__builtin_expect(live->birth_ns != 0, 0))
		record_lifetime(live);
	/* The allocator may unmap it: a fiber's stack, for one. */
	if (__builtin_expect(live->size >= RECORD_MAY_UNMAP, 0))
		atomic_fetch_add_explicit(&unwind_mappings, 1, memory_order_relaxed);
	record_moved(thread, live->size);
}

/* The program is about to free block, called from ra. */
static inline void record_free(void *block, uintptr_t ra)
{
	struct thread *thread = thread_enter();
	struct live_block live;

	if (__builtin_expect(!thread, 0))
		return;
	if (__builtin_expect(live_table_take((uintptr_t)block, &live), 1))
		record_freed(thread, &live);
	else
		record_unknown(block);
	if (__builtin_expect(record_in_loader(ra), 0))
		modules_suspect();
	thread_leave(thread);
}

/* The program is about to reallocate block: takes it out, uncounted.  False: not known. */
bool record_take(void *block, struct live_block *taken);

/* The reallocation freed *taken, or failed and left it as it was. */
void record_taken_freed(const struct live_block *taken);
void record_put_back(const struct live_block *taken);

#endif
