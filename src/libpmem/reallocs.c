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

/* Of slots: (stack_id << 32 | index of the item + 1); the index 0: its owner is about to take one. */
static _Atomic(void *) table;

static void add(_Atomic uint64_t *to, uint64_t value)
{
	if (&__libc_single_threaded && __libc_single_threaded)
		atomic_store_explicit(to, atomic_load_explicit(to, memory_order_relaxed) + value,
				      memory_order_relaxed);
	else
		atomic_fetch_add_explicit(to, value, memory_order_relaxed);
}

/* Gives the slot, which is the call stack's, an item. */
static struct format_realloc *make(_Atomic uint64_t *slot, uint32_t stack_id)
{
	struct format_realloc *item;
	uint32_t index;

	item = store_take(FORMAT_REALLOCS, sizeof(*item), &store_head()->realloc_count, &index);
	if (!item)
		return NULL;
	/* Release: a reader that sees the id sees an item. */
	atomic_store_explicit(&item->stack_id, stack_id, memory_order_release);
	atomic_store_explicit(slot, (uint64_t)stack_id << 32 | (index + 1), memory_order_release);
	return item;
}

/* NULL: no room, or another thread is about to make it. */
static struct format_realloc *find(uint32_t stack_id)
{
	_Atomic uint64_t *slots = lazy_part(&table, SLOTS * sizeof(*slots));
	uint32_t first = stack_id * HASH >> (32 - SLOTS_LOG2);

	for (uint32_t i = 0; slots && i < PROBES; i++) {
		_Atomic uint64_t *slot = &slots[(first + i) % SLOTS];
		uint64_t value = atomic_load_explicit(slot, memory_order_acquire);

		if (value == 0 && atomic_compare_exchange_strong_explicit(
					  slot, &value, (uint64_t)stack_id << 32,
					  memory_order_acquire, memory_order_acquire))
			return make(slot, stack_id);
		if (value >> 32 == stack_id)
			return (uint32_t)value
				       ? store_item(FORMAT_REALLOCS, sizeof(struct format_realloc),
						    (uint32_t)value - 1)
				       : NULL;
	}
	return NULL;
}

void reallocs_count(const struct reallocs_event *event)
{
	struct format_realloc *item = find(event->stack_id);

	if (!item)
		return;
	add(&item->count, 1);
	if (event->moved)
		add(&item->moved_count, 1);
	if (event->copied)
		add(&item->copied_bytes,
		    event->old_size < event->size ? event->old_size : event->size);
	if (event->old_stack_id != event->stack_id)
		return;
	add(&item->chained_count, 1);
	add(&item->chained_bytes, event->old_size);
}

/* The table stays mapped: an event that a signal handler interrupted may still use it. */
void reallocs_fork_child(void)
{
	atomic_store_explicit(&table, NULL, memory_order_relaxed);
}
