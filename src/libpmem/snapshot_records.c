/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * snapshot_records.c - what snapshots remember of each call stack.
 *
 * A record that became wide stays wide: its numbers hardly ever become smaller.
 */
#include "libpmem/snapshot_records.h"

#include <stddef.h>

#include "libpmem/loss.h"
#include "libpmem/sys.h"

struct snapshot_record *snapshot_chunks[SNAPSHOT_CHUNKS_MAX];
struct snapshot_numbers *snapshot_wide_chunks[SNAPSHOT_CHUNKS_MAX];

static uint32_t wide_count;

static void *map_chunk(size_t record_size)
{
	void *chunk = sys_map(SNAPSHOT_CHUNK_RECORDS * record_size);

	if (!chunk)
		loss_add(FORMAT_LOSS_MEMORY, 1);
	return chunk;
}

/* For one more. */
static bool make_wide_room(void)
{
	struct snapshot_numbers **chunk = &snapshot_wide_chunks[wide_count >> SNAPSHOT_CHUNK_SHIFT];

	if (!*chunk)
		*chunk = map_chunk(sizeof(**chunk));
	return *chunk;
}

bool snapshot_records_grow(uint32_t limit)
{
	uint32_t end = (limit + SNAPSHOT_CHUNK_RECORDS - 1) >> SNAPSHOT_CHUNK_SHIFT;
	uint32_t i;

	for (i = 0; i < end; i++) {
		if (!snapshot_chunks[i])
			snapshot_chunks[i] = map_chunk(sizeof(**snapshot_chunks));
		if (!snapshot_chunks[i])
			return false;
	}
	return make_wide_room();
}

static bool is_narrow(const struct snapshot_numbers *numbers)
{
	return (numbers->alloc | numbers->alloc_new | numbers->free | numbers->free_new) <=
	       UINT32_MAX;
}

static void set_narrow(struct snapshot_record *record, const struct snapshot_numbers *numbers)
{
	record->alloc = (uint32_t)numbers->alloc;
	record->alloc_new = (uint32_t)numbers->alloc_new;
	record->free = (uint32_t)numbers->free;
	record->free_new = (uint32_t)numbers->free_new;
}

/* False: nothing changed. */
static bool set_wide(struct snapshot_record *record, const struct snapshot_numbers *numbers)
{
	if (!(record->flags & SNAPSHOT_WIDE)) {
		if (!make_wide_room())
			return false;
		record->alloc = wide_count++;
		record->flags |= SNAPSHOT_WIDE;
	}
	*snapshot_wide_at(record->alloc) = *numbers;
	return true;
}

bool snapshot_records_update(uint32_t id, enum snapshot_since since, struct snapshot_sums *sums)
{
	struct snapshot_record *record = snapshot_record_of(id);
	struct snapshot_numbers last = snapshot_records_numbers(id);
	struct snapshot_numbers numbers = {.alloc = sums->alloc, .free = sums->free};

	if (since == SNAPSHOT_SINCE_ONE_NOT_CUT) {
		last.alloc -= last.alloc_new;
		last.free -= last.free_new;
	}
	sums->alloc_new = numbers.alloc_new = numbers.alloc - last.alloc;
	sums->free_new = numbers.free_new = numbers.free - last.free;
	if (__builtin_expect(is_narrow(&numbers) && !(record->flags & SNAPSHOT_WIDE), 1)) {
		set_narrow(record, &numbers);
		return true;
	}
	if (set_wide(record, &numbers))
		return true;
	last.alloc_new = last.free_new = 0;
	set_narrow(record, &last); /* not more than it was */
	return false;
}

void snapshot_records_fork_child(void)
{
	uint32_t i;

	for (i = 0; i < SNAPSHOT_CHUNKS_MAX && snapshot_chunks[i]; i++)
		snapshot_chunks[i] = NULL;
	for (i = 0; i < SNAPSHOT_CHUNKS_MAX && snapshot_wide_chunks[i]; i++)
		snapshot_wide_chunks[i] = NULL;
	wide_count = 0;
}
