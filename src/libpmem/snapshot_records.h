/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * snapshot_records.h - what snapshots remember of each call stack.
 *
 * 20 bytes per call stack, and 32 more where one of its numbers does not fit into 32 bits, in chunks that never move.
 * Everything is under LOCK_SNAPSHOT.
 */
#ifndef PMEM_LIBPMEM_SNAPSHOT_RECORDS_H
#define PMEM_LIBPMEM_SNAPSHOT_RECORDS_H
#include <stdbool.h>
#include <stdint.h>

#include "libpmem/snapshot_entry.h"
#include "libpmem/tree.h"

enum snapshot_flag {
	SNAPSHOT_CHANGED = 1, /* since it last had an entry in the log */
	SNAPSHOT_SEEN = 2,    /* something was allocated or freed there, if only of 0 bytes */
	SNAPSHOT_WIDE = 4,    /* this module's own: its numbers are elsewhere */
};

enum {
	SNAPSHOT_CHUNK_SHIFT = 12,
	SNAPSHOT_CHUNK_RECORDS = 1 << SNAPSHOT_CHUNK_SHIFT,
	SNAPSHOT_CHUNKS_MAX = (TREE_STACK_MAX >> SNAPSHOT_CHUNK_SHIFT) + 1,
	SNAPSHOT_SLOT_BITS = 26,
};

/* These four: struct snapshot_sums. */
struct snapshot_numbers {
	uint64_t alloc;
	uint64_t alloc_new;
	uint64_t free;
	uint64_t free_new;
};

struct snapshot_record {
	uint32_t alloc; /* with SNAPSHOT_WIDE where the numbers are */
	uint32_t alloc_new;
	uint32_t free;
	uint32_t free_new;
	uint32_t slot : SNAPSHOT_SLOT_BITS;
	uint32_t flags : 32 - SNAPSHOT_SLOT_BITS;
};

_Static_assert(sizeof(struct snapshot_record) == 20, "memory per call stack");
_Static_assert(TREE_STACK_MAX < 1 << SNAPSHOT_SLOT_BITS, "a slot holds an id");

/* Only for the functions below. */
extern struct snapshot_record *snapshot_chunks[SNAPSHOT_CHUNKS_MAX]
	__attribute__((visibility("hidden")));
extern struct snapshot_numbers *snapshot_wide_chunks[SNAPSHOT_CHUNKS_MAX]
	__attribute__((visibility("hidden")));

enum snapshot_since {
	SNAPSHOT_SINCE_LAST,
	SNAPSHOT_SINCE_ONE_NOT_CUT, /* the last snapshot was cut: its differences are to be a part of these */
};

/* Makes the records of all ids below limit, and room for a wide one.  Returns false (counted) when memory is exhausted. */
bool snapshot_records_grow(uint32_t limit);

/* The record of an id below the limit. */
static inline struct snapshot_record *snapshot_record_of(uint32_t id)
{
	return &snapshot_chunks[id >> SNAPSHOT_CHUNK_SHIFT][id & (SNAPSHOT_CHUNK_RECORDS - 1)];
}

static inline struct snapshot_numbers *snapshot_wide_at(uint32_t index)
{
	return &snapshot_wide_chunks[index >> SNAPSHOT_CHUNK_SHIFT]
				    [index & (SNAPSHOT_CHUNK_RECORDS - 1)];
}

/* As of the current snapshot or else the last one. */
static inline struct snapshot_numbers snapshot_records_numbers(uint32_t id)
{
	const struct snapshot_record *record = snapshot_record_of(id);

	if (__builtin_expect(record->flags & SNAPSHOT_WIDE, 0))
		return *snapshot_wide_at(record->alloc);
	return (struct snapshot_numbers){.alloc = record->alloc,
					 .alloc_new = record->alloc_new,
					 .free = record->free,
					 .free_new = record->free_new};
}

/* Never negative: counters.h. */
static inline uint64_t snapshot_live(const struct snapshot_numbers *numbers)
{
	return numbers->alloc > numbers->free ? numbers->alloc - numbers->free : 0;
}

static inline struct snapshot_sums snapshot_records_get(uint32_t id)
{
	const struct snapshot_numbers numbers = snapshot_records_numbers(id);

	return (struct snapshot_sums){.stacks = 1,
				      .live = snapshot_live(&numbers),
				      .alloc = numbers.alloc,
				      .alloc_new = numbers.alloc_new,
				      .free = numbers.free,
				      .free_new = numbers.free_new};
}

static inline bool snapshot_records_has(uint32_t id, enum snapshot_flag flag)
{
	return snapshot_record_of(id)->flags & flag;
}

static inline void snapshot_records_mark(uint32_t id, enum snapshot_flag flag)
{
	snapshot_record_of(id)->flags |= flag;
}

static inline void snapshot_records_unmark(uint32_t id, enum snapshot_flag flag)
{
	snapshot_record_of(id)->flags &= ~(unsigned)flag;
}

/* A snapshot finds sums->alloc and sums->free: remembers them, and sets alloc_new and free_new.  Returns false (counted) when memory is
 * exhausted, which only happens where a number does not fit into 32 bits for the first time: then *sums is right all the same,
 * but what is remembered is the moment that it counts from, and the snapshot must be cut. */
bool snapshot_records_update(uint32_t id, enum snapshot_since since, struct snapshot_sums *sums);

/* A number (at most TREE_STACK_MAX) that is kept beside the record, for snapshot_heap.c. */
static inline uint32_t snapshot_records_slot(uint32_t id)
{
	return snapshot_record_of(id)->slot;
}

static inline void snapshot_records_set_slot(uint32_t id, uint32_t slot)
{
	snapshot_record_of(id)->slot = slot;
}

/* Forgets all records; their memory stays mapped: the caller's caller may still use one. */
void snapshot_records_fork_child(void);

#endif
