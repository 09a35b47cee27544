/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * series.c - samples of single call stacks, see series.h.
 *
 * Which chunks a call stack has is private memory: a record for each call stack of a group in which any had a sample, and a link
 * for each chunk to the call stack's next one, or to the next free one.  Numbers of chunks are stored + 1: 0 is
 * none.
 */
#include "libpmem/series.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "core/format.h"
#include "libpmem/loss.h"
#include "libpmem/settings.h"
#include "libpmem/store.h"
#include "libpmem/sys.h"
#include "libpmem/thinning.h"
#include "libpmem/tree.h"

enum {
	PAGE = 4096,
	GROUP = 64, /* records that are made together */
	SLAB_SIZE = 64 * 1024,
	SLAB_GROUPS = 42,
	SEARCH = 256, /* chunks looked at for one that can be taken over */
	STACK_SAMPLES = SERIES_STACK_CHUNKS * FORMAT_SAMPLES,
	LINKS_SIZE = SERIES_CHUNKS_MAX * sizeof(uint32_t),
};

struct record {
	uint64_t last_live; /* in its newest sample */
	uint64_t most_live; /* in any sample */
	uint32_t first;	    /* chunk */
	uint16_t chunks;
	uint16_t samples; /* in the chunks, from the first slot on */
};

struct group {
	struct record records[GROUP];
};

struct slab {
	struct slab *next;
	uint64_t used;
	struct group groups[SLAB_GROUPS];
};

static_assert(sizeof(struct slab) <= SLAB_SIZE, "a slab is one mapping");
static_assert(STACK_SAMPLES <= UINT16_MAX, "record.samples");

static struct {
	struct group **groups; /* by call-stack id / GROUP */
	size_t groups_size;    /* entries in groups */
	struct slab *slabs;
	uint32_t *links; /* by chunk */
	uint32_t free;	 /* first free chunk */
	uint32_t count;	 /* chunks taken from the store */
	uint32_t hand;	 /* the chunk that is next in the search */
	bool full;	 /* the store has no more */
	/* Only inside thin(). */
	struct format_series *thinned[SERIES_STACK_CHUNKS];
	bool drop[STACK_SAMPLES];
} series;

/* --- records --------------------------------------------------------------------------------- */

static struct record *find(uint32_t id)
{
	struct group *group = id / GROUP < series.groups_size ? series.groups[id / GROUP] : NULL;

	return group ? &group->records[id % GROUP] : NULL;
}

static size_t groups_bytes(size_t size)
{
	return (size * sizeof(*series.groups) + PAGE - 1) / PAGE * PAGE;
}

/* Maps what is needed before the first record. */
static bool have_maps(void)
{
	uint32_t ids = settings.max_nodes + settings.max_nodes / 10;
	size_t size = (ids < TREE_STACK_MAX ? ids : TREE_STACK_MAX) / GROUP + 1;

	if (!series.links)
		series.links = sys_map(LINKS_SIZE);
	if (!series.groups) {
		series.groups = sys_map(groups_bytes(size));
		series.groups_size = series.groups ? size : 0;
	}
	return series.links && series.groups;
}

static struct group *new_group(void)
{
	struct slab *slab = series.slabs;

	if (!slab || slab->used == SLAB_GROUPS) {
		slab = sys_map(SLAB_SIZE);
		if (!slab)
			return NULL;
		slab->next = series.slabs;
		series.slabs = slab;
	}
	return &slab->groups[slab->used++];
}

static struct record *make(uint32_t id)
{
	struct group *group;

	if (!have_maps() || id / GROUP >= series.groups_size)
		return NULL;
	group = new_group();
	if (!group)
		return NULL;
	series.groups[id / GROUP] = group;
	return &group->records[id % GROUP];
}

/* --- chunks ---------------------------------------------------------------------------------- */

static struct format_series *chunk_at(uint32_t number)
{
	return store_item(FORMAT_SERIES, sizeof(struct format_series), number - 1);
}

static void clear(struct format_sample *sample)
{
	atomic_store_explicit(&sample->time_ns, 0, memory_order_relaxed);
	/* Who reads what is written there later reads this 0, or a later time, afterwards. */
	atomic_thread_fence(memory_order_release);
}

/* Frees all chunks of a call stack, the oldest first: a reader, or a kill, in the midst of it finds the newer ones. */
static void release(struct record *record)
{
	uint32_t number = record->first, next;

	for (; number; number = next) {
		struct format_series *chunk = chunk_at(number);

		atomic_store_explicit(&chunk->stack_id, 0, memory_order_relaxed);
		for (int i = 0; i < FORMAT_SAMPLES; i++)
			clear(&chunk->samples[i]);
		atomic_store_explicit(&chunk->gaps, 0, memory_order_relaxed);
		next = series.links[number - 1];
		series.links[number - 1] = series.free;
		series.free = number;
	}
	*record = (struct record){0};
}

static bool take_from_store(void)
{
	_Atomic uint32_t *count = &store_head()->series_count;
	uint32_t index;

	if (series.full)
		return false;
	if (series.count >= SERIES_CHUNKS_MAX ||
	    !store_take(FORMAT_SERIES, sizeof(struct format_series), count, &index) ||
	    index >= SERIES_CHUNKS_MAX) {
		series.full = true;
		return false;
	}
	series.count++;
	series.links[index] = series.free;
	series.free = index + 1;
	return true;
}

/* Takes the chunks of one call stack that never held least bytes. */
static bool take_over(uint64_t least)
{
	uint32_t steps = series.count < SEARCH ? series.count : SEARCH;

	for (; steps; steps--) {
		const struct format_series *chunk = chunk_at(1 + series.hand);
		uint32_t id = atomic_load_explicit(&chunk->stack_id, memory_order_relaxed);
		struct record *record = id ? find(id) : NULL;

		series.hand = (series.hand + 1) % series.count;
		if (record && record->first && record->most_live < least) {
			release(record);
			return true;
		}
	}
	return false;
}

/* The number of an empty chunk, or 0. */
static uint32_t take_chunk(uint64_t least)
{
	uint32_t number;

	if (!series.free && !take_from_store() && !take_over(least))
		return 0;
	number = series.free;
	series.free = series.links[number - 1];
	series.links[number - 1] = 0;
	return number;
}

/* --- samples --------------------------------------------------------------------------------- */

/* Where a sample is. */
struct place {
	struct format_series *chunk;
	unsigned slot;
};

static struct place place_at(const struct record *record, uint32_t i)
{
	uint32_t number = record->first;

	for (; i >= FORMAT_SAMPLES; i -= FORMAT_SAMPLES)
		number = series.links[number - 1];
	return (struct place){chunk_at(number), i};
}

static void write_sample(struct format_sample *sample, const struct series_reading *reading)
{
	clear(sample);
	atomic_store_explicit(&sample->live_bytes, reading->live_bytes, memory_order_relaxed);
	atomic_store_explicit(&sample->alloc_bytes, reading->alloc_bytes, memory_order_relaxed);
	/* Release: the fields; a reader acquires. */
	atomic_store_explicit(&sample->time_ns, reading->time_ns, memory_order_release);
}

static bool is_gap(const struct place *place)
{
	return atomic_load_explicit(&place->chunk->gaps, memory_order_relaxed) >> place->slot & 1;
}

static void set_gap(const struct place *place, bool gap)
{
	_Atomic uint32_t *gaps = &place->chunk->gaps;
	uint32_t others = atomic_load_explicit(gaps, memory_order_relaxed) & ~(1u << place->slot);

	atomic_store_explicit(gaps, others | (uint32_t)gap << place->slot, memory_order_relaxed);
}

/* --- thinning -------------------------------------------------------------------------------- */

static void find_chunks(const struct record *record)
{
	uint32_t number = record->first;

	for (uint32_t i = 0; number; i++, number = series.links[number - 1])
		series.thinned[i] = chunk_at(number);
}

static struct place thinned_at(uint32_t i)
{
	return (struct place){series.thinned[i / FORMAT_SAMPLES], i % FORMAT_SAMPLES};
}

static uint64_t thinned_time_at(uint32_t i)
{
	struct place place = thinned_at(i);

	return atomic_load_explicit(&place.chunk->samples[place.slot].time_ns, memory_order_relaxed);
}

/* The place that is written may look as if samples were dropped before it, for a moment, never the other way round. */
static void move_sample(uint32_t to, uint32_t from)
{
	const struct place new = thinned_at(to), old = thinned_at(from);
	const struct format_sample *sample = &old.chunk->samples[old.slot];
	const struct series_reading reading = {
		.time_ns = atomic_load_explicit(&sample->time_ns, memory_order_relaxed),
		.live_bytes = atomic_load_explicit(&sample->live_bytes, memory_order_relaxed),
		.alloc_bytes = atomic_load_explicit(&sample->alloc_bytes, memory_order_relaxed)};

	set_gap(&new, true);
	write_sample(&new.chunk->samples[new.slot], &reading);
	set_gap(&new, is_gap(&old));
}

/* Before any is dropped. */
static void mark_gaps(uint32_t count)
{
	for (uint32_t i = 1; i < count; i++) {
		struct place place = thinned_at(i);

		if (series.drop[i - 1] && !series.drop[i])
			set_gap(&place, true);
	}
}

/* Drops what is worth least.  What place i held was dropped, or has its new place already, when that is written over. */
static void thin(struct record *record)
{
	const struct thinning thinning = {.time_at = thinned_time_at,
					  .count = record->samples,
					  .most = record->samples * 7u / 8,
					  .drop = series.drop};
	uint32_t i, kept = 0, count = record->samples;
	uint64_t ignored;

	memset(series.drop, 0, sizeof(series.drop));
	find_chunks(record);
	thinning_choose(&thinning, &ignored);
	mark_gaps(count);
	for (i = 0; i < count; i++) {
		if (series.drop[i])
			continue;
		if (kept != i)
			move_sample(kept, i);
		kept++;
	}
	for (i = kept; i < count; i++) {
		struct place place = thinned_at(i);

		clear(&place.chunk->samples[place.slot]);
		set_gap(&place, false);
	}
	record->samples = (uint16_t)kept;
}

static bool add_chunk(struct record *record, uint32_t id, uint64_t least)
{
	uint32_t number = record->chunks < SERIES_STACK_CHUNKS ? take_chunk(least) : 0;
	uint32_t *end = &record->first;

	if (!number)
		return false;
	while (*end)
		end = &series.links[*end - 1];
	*end = number;
	record->chunks++;
	/* Release: the chunk is empty. */
	atomic_store_explicit(&chunk_at(number)->stack_id, id, memory_order_release);
	return true;
}

/* Makes room for one more sample. */
static bool make_room(struct record *record, uint32_t id, uint64_t least)
{
	if (record->samples < record->chunks * FORMAT_SAMPLES || add_chunk(record, id, least))
		return true;
	if (record->samples < FORMAT_SAMPLES)
		return false;
	thin(record);
	return true;
}

/* The place for one more sample, or NULL. */
static struct format_sample *next_place(struct record *record, uint32_t id, uint64_t least)
{
	struct place place;

	if (!make_room(record, id, least))
		return NULL;
	place = place_at(record, record->samples++);
	return &place.chunk->samples[place.slot];
}

void series_note(uint32_t stack_id, const struct series_reading *reading, uint64_t least)
{
	struct record *record = find(stack_id);
	uint64_t last = record ? record->last_live : 0;
	struct format_sample *place;

	if (reading->live_bytes == last || (reading->live_bytes < least && last < least))
		return;
	if (!record)
		record = make(stack_id);
	place = record ? next_place(record, stack_id, least) : NULL;
	if (!place) {
		loss_add(FORMAT_LOSS_TIMELINE, 1);
		return;
	}
	write_sample(place, reading);
	record->last_live = reading->live_bytes;
	if (reading->live_bytes > record->most_live)
		record->most_live = reading->live_bytes;
}

void series_forget(void)
{
	struct slab *slab = series.slabs, *next;

	for (; slab; slab = next) {
		next = slab->next;
		sys_unmap(slab, SLAB_SIZE);
	}
	if (series.groups)
		sys_unmap(series.groups, groups_bytes(series.groups_size));
	if (series.links)
		sys_unmap(series.links, LINKS_SIZE);
	memset(&series, 0, sizeof(series));
}
