/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * reallocs.c - see reallocs.h.
 */
#include "libpmem/reallocs.h"

#include <stdatomic.h>

#include "core/format.h"
#include "libpmem/lazy.h"
#include "libpmem/store.h"

enum { SLOTS_LOG2 = 15, SLOTS = 1 << SLOTS_LOG2, PROBES = 32 };

#define HASH 0x9e3779b1u

/* glibc >= 2.32: 0 as soon as a second thread may exist. */
extern char __libc_single_threaded __attribute__((weak));

/* Of slots: the address of an item, which is even, or stack_id << 1 | 1: its owner is about to take one. */
static _Atomic(void *) table;

static inline void add(_Atomic uint64_t *to, uint64_t value, bool single)
{
	if (single)
		atomic_store_explicit(to, atomic_load_explicit(to, memory_order_relaxed) + value,
				      memory_order_relaxed);
	else
		atomic_fetch_add_explicit(to, value, memory_order_relaxed);
}

/* Gives the slot, which is the call stack's, an item. */
static struct format_realloc *make(_Atomic uintptr_t *slot, uint32_t stack_id)
{
	struct format_realloc *item;
	uint32_t index;

	item = store_take(FORMAT_REALLOCS, sizeof(*item), &store_head()->realloc_count, &index);
	if (!item)
		return NULL;
	/* Release: a reader that sees the id sees an item. */
	atomic_store_explicit(&item->stack_id, stack_id, memory_order_release);
	atomic_store_explicit(slot, (uintptr_t)item, memory_order_release);
	return item;
}

/* From slot first on.  NULL: no room, or another thread is about to make it. */
static __attribute__((noinline)) struct format_realloc *search(_Atomic uintptr_t *slots,
							       uint32_t first, uint32_t stack_id)
{
	const uintptr_t making = (uintptr_t)stack_id << 1 | 1;

	for (uint32_t i = 0; i < PROBES; i++) {
		_Atomic uintptr_t *slot = &slots[(first + i) % SLOTS];
		uintptr_t value = atomic_load_explicit(slot, memory_order_acquire);
		struct format_realloc *item;

		if (value == 0 && atomic_compare_exchange_strong_explicit(slot, &value, making,
									  memory_order_acquire,
									  memory_order_acquire))
			return make(slot, stack_id);
		if (value == making)
			return NULL;
		item = value & 1 ? NULL : (struct format_realloc *)value;
		if (item && atomic_load_explicit(&item->stack_id, memory_order_relaxed) == stack_id)
			return item;
	}
	return NULL;
}

static inline struct format_realloc *find(uint32_t stack_id)
{
	_Atomic uintptr_t *slots = lazy_part(&table, SLOTS * sizeof(*slots));
	uint32_t first = stack_id * HASH >> (32 - SLOTS_LOG2);
	struct format_realloc *item;
	uintptr_t value;

	if (!slots)
		return NULL;
	value = atomic_load_explicit(&slots[first], memory_order_acquire);
	item = value & 1 ? NULL : (struct format_realloc *)value;
	if (item && atomic_load_explicit(&item->stack_id, memory_order_relaxed) == stack_id)
		return item;
	return search(slots, first, stack_id);
}

void reallocs_count(const struct reallocs_event *event)
{
	struct format_realloc *item = find(event->stack_id);
	bool single = &__libc_single_threaded && __libc_single_threaded;

	if (!item)
		return;
	add(&item->count, 1, single);
	if (event->moved)
		add(&item->moved_count, 1, single);
	if (event->copied)
		add(&item->copied_bytes,
		    event->old_size < event->size ? event->old_size : event->size, single);
	if (event->old_stack_id != event->stack_id)
		return;
	add(&item->chained_count, 1, single);
	add(&item->chained_bytes, event->old_size, single);
}

/* The table stays mapped: an event that a signal handler interrupted may still use it. */
void reallocs_fork_child(void)
{
	atomic_store_explicit(&table, NULL, memory_order_relaxed);
}
