/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * snapshot_heap.h - what snapshots know of each call stack, and a heap that gives them by size.
 *
 * 40 bytes per call stack, in chunks that never move.  Everything is under LOCK_SNAPSHOT, and no
 * call takes long: a snapshot can stop after any of them.
 */
#ifndef PMEM_LIBPMEM_SNAPSHOT_HEAP_H
#define PMEM_LIBPMEM_SNAPSHOT_HEAP_H
#include <stdbool.h>
#include <stdint.h>

#include "libpmem/snapshot_entry.h"

enum snapshot_flag {
	SNAPSHOT_CHANGED = 1, /* since it last had an entry in the log */
	SNAPSHOT_SEEN = 2,    /* something was allocated or freed there, if only of 0 bytes */
};

struct snapshot_record {
	uint64_t alloc; /* bytes since start, as of the current snapshot or else the last one */
	uint64_t free;
	uint64_t alloc_new; /* of these, since the snapshot before */
	uint64_t free_new;
	uint32_t flags; /* enum snapshot_flag */
	uint32_t slot;	/* not of this call stack: the heap's element of that number, an id */
};

/* Never negative: counters.h. */
static inline uint64_t snapshot_live(const struct snapshot_record *record)
{
	return record->alloc > record->free ? record->alloc - record->free : 0;
}

/* Makes the records of all ids below limit.  Returns false (counted) when memory is exhausted. */
bool snapshot_heap_grow(uint32_t limit);

/* The record of an id below the limit. */
struct snapshot_record *snapshot_heap_record(uint32_t id);

/* An empty heap; adding an id, unordered; ordering them, by calls until one returns true. */
void snapshot_heap_clear(void);
void snapshot_heap_add(uint32_t id);
bool snapshot_heap_order(void);

/* Takes out the id with the most live bytes, of those the one that allocated most, of those the
 * smallest.  0 = the heap is empty. */
uint32_t snapshot_heap_pop(void);

/* Forgets all records; their memory stays mapped: the caller's caller may still use one. */
void snapshot_heap_fork_child(void);

/* What a record has, for an entry; and added to the sums of many. */
static inline struct snapshot_sums snapshot_heap_sums(const struct snapshot_record *record)
{
	return (struct snapshot_sums){.live = snapshot_live(record),
				      .alloc = record->alloc,
				      .alloc_new = record->alloc_new,
				      .free = record->free,
				      .free_new = record->free_new};
}

static inline void snapshot_heap_add_sums(struct snapshot_sums *to,
					  const struct snapshot_record *record)
{
	to->stacks++;
	to->live += snapshot_live(record);
	to->alloc += record->alloc;
	to->alloc_new += record->alloc_new;
	to->free += record->free;
	to->free_new += record->free_new;
}

#endif
