/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * image_copy.c - see image_copy.h.
 *
 * Of a running process the blocks are read in the order of doc/FORMAT.md, "Reading", and put into a new file.  Counters are read
 * twice: their free fields are those of the first time.  Slots of the timeline that change between two readings are
 * left out.
 */
#include "profile/image_copy.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/format.h"
#include "profile/image.h"
#include "profile/read.h"

enum { TRIES = 5, COUNTERS_PER_BLOCK = FORMAT_BLOCK_SIZE / sizeof(struct format_counter) };

/* All blocks of a kind. */
struct pile {
	char *bytes;
	uint32_t blocks;
};

struct copy {
	struct image image;
	char damage_text[64]; /* what is missing is told when the copy is read */
	uint32_t damage_count;
	uint32_t damage_unlisted;
	struct pile piles[FORMAT_KINDS];
	struct pile frees; /* counters as they were first */
	struct pile wide_frees;
	uint32_t chunk_count;
	struct format_header header;
};

static char *block_of(const struct pile *pile, uint32_t index)
{
	return pile->bytes + (size_t)index * FORMAT_BLOCK_SIZE;
}

/* The blocks of a kind that there are now.  What is missing is zero. */
static bool take(struct copy *copy, enum format_kind kind, struct pile *pile)
{
	uint32_t count = copy->image.counts[kind];

	free(pile->bytes);
	*pile = (struct pile){.bytes = calloc((size_t)count + 1, FORMAT_BLOCK_SIZE)};
	if (!pile->bytes)
		return false;
	pile->blocks = count;
	for (uint32_t i = 0; i < count; i++)
		image_block(&copy->image, kind, i, block_of(pile, i), FORMAT_BLOCK_SIZE);
	return true;
}

static bool take_fresh(struct copy *copy, enum format_kind kind)
{
	return image_refresh(&copy->image) && take(copy, kind, &copy->piles[kind]);
}

/* --- counters -------------------------------------------------------------------------------- */

/* A counter becomes wide when its record is complete: so records are read after counters. */
static bool take_counters(struct copy *copy, struct pile *counters, struct pile *wide)
{
	return image_refresh(&copy->image) && take(copy, FORMAT_COUNTERS, counters) &&
	       image_refresh(&copy->image) && take(copy, FORMAT_WIDE, wide);
}

static struct format_counter_wide *wide_at(const struct pile *wide,
					   const struct format_counter *counter)
{
	uint32_t per_block = FORMAT_BLOCK_SIZE / sizeof(struct format_counter_wide);
	uint32_t index = (uint32_t)atomic_load_explicit(&counter->peak_bytes, memory_order_relaxed);

	if (index / per_block >= wide->blocks)
		return NULL;
	return (struct format_counter_wide *)block_of(wide, index / per_block) + index % per_block;
}

static bool is_wide(const struct format_counter *counter)
{
	return plain32(&counter->epoch) == FORMAT_EPOCH_WIDE;
}

struct frees {
	uint64_t count, bytes, temporary;
};

static void frees_of(const struct format_counter *counter, const struct pile *wide,
		     struct frees *frees)
{
	const struct format_counter_wide *record = is_wide(counter) ? wide_at(wide, counter) : NULL;

	if (record)
		*frees = (struct frees){plain64(&record->free_count), plain64(&record->free_bytes),
					plain64(&record->temporary_count)};
	else
		*frees = (struct frees){plain32(&counter->free_count), plain32(&counter->free_bytes),
					plain32(&counter->temporary_count)};
}

static void set_frees(struct format_counter *counter, const struct pile *wide,
		      const struct frees *frees)
{
	struct format_counter_wide *record = is_wide(counter) ? wide_at(wide, counter) : NULL;

	if (record) {
		atomic_init(&record->free_count, frees->count);
		atomic_init(&record->free_bytes, frees->bytes);
		atomic_init(&record->temporary_count, frees->temporary);
	} else {
		atomic_init(&counter->free_count, (uint32_t)frees->count);
		atomic_init(&counter->free_bytes, (uint32_t)frees->bytes);
		atomic_init(&counter->temporary_count, (uint32_t)frees->temporary);
	}
}

/* Counters that are new the second time had nothing freed the first time. */
static void merge_frees(struct copy *copy)
{
	struct pile *counters = &copy->piles[FORMAT_COUNTERS];

	for (uint32_t i = 0; i < counters->blocks; i++) {
		struct format_counter *now = (struct format_counter *)block_of(counters, i);
		const struct format_counter *then = i < copy->frees.blocks
							    ? (const struct format_counter *)
								      block_of(&copy->frees, i)
							    : NULL;

		for (int j = 0; j < COUNTERS_PER_BLOCK; j++) {
			struct frees frees = {0};

			if (then)
				frees_of(&then[j], &copy->wide_frees, &frees);
			set_frees(&now[j], &copy->piles[FORMAT_WIDE], &frees);
		}
	}
}

static uint32_t epoch_now(const struct copy *copy)
{
	return plain32(&copy->image.first->header.peak_epoch);
}

static bool copy_counters(struct copy *copy)
{
	for (int tries = 0; tries < TRIES; tries++) {
		uint32_t epoch = epoch_now(copy);

		if (!take_counters(copy, &copy->frees, &copy->wide_frees) ||
		    !image_refresh(&copy->image))
			return false;
		copy->chunk_count = plain32(&copy->image.first->header.chunk_count);
		if (!take_counters(copy, &copy->piles[FORMAT_COUNTERS], &copy->piles[FORMAT_WIDE]) ||
		    !take_fresh(copy, FORMAT_CHUNKS))
			return false;
		if (epoch == epoch_now(copy))
			break;
	}
	memcpy((void *)&copy->header, &copy->image.first->header, sizeof(copy->header));
	merge_frees(copy);
	return true;
}

/* --- the rest -------------------------------------------------------------------------------- */

/* Slots of size bytes, with a time at offset, that changed between two readings become empty. */
static bool copy_slots(struct copy *copy, enum format_kind kind, size_t size, size_t offset)
{
	struct pile before = {NULL, 0};
	bool done = take_fresh(copy, kind) && take(copy, kind, &before);
	struct pile *pile = &copy->piles[kind];

	for (uint32_t i = 0; done && i < pile->blocks; i++) {
		for (size_t at = 0; at + size <= FORMAT_BLOCK_SIZE; at += size) {
			char *slot = block_of(pile, i) + at;

			if (i >= before.blocks || memcmp(slot, block_of(&before, i) + at, size) != 0)
				memset(slot + offset, 0, size - offset);
		}
	}
	free(before.bytes);
	return done;
}

/* Call stacks that were read before refer to histograms that the header did not count yet. */
static bool copy_histograms(struct copy *copy)
{
	if (!take_fresh(copy, FORMAT_HISTOGRAMS))
		return false;
	atomic_init(&copy->header.histogram_count,
		    plain32(&copy->image.first->header.histogram_count));
	if (!take_fresh(copy, FORMAT_RECENT_SIZES))
		return false;
	atomic_init(&copy->header.recent_count, plain32(&copy->image.first->header.recent_count));
	return true;
}

/* What a reader takes for damage in the file of a process that has ended: records in the midst of a call, and of call stacks that
 * came later. */
static void settle_mapping(struct format_mapping *mapping, uint32_t stack_limit)
{
	uint64_t mapped = plain64(&mapping->mapped_bytes);

	if (plain64(&mapping->unmapped_bytes) > mapped)
		atomic_init(&mapping->unmapped_bytes, mapped);
	if (plain64(&mapping->peak_bytes) > mapped)
		atomic_init(&mapping->peak_bytes, mapped);
	if (plain32(&mapping->stack_id) >= stack_limit)
		atomic_init(&mapping->stack_id, 0);
}

static bool copy_mappings(struct copy *copy)
{
	struct pile *pile = &copy->piles[FORMAT_MAPPINGS];
	uint32_t limit = plain32(&copy->header.stack_limit);
	const size_t size = sizeof(struct format_mapping);

	if (!take_fresh(copy, FORMAT_MAPPINGS))
		return false;
	for (uint32_t i = 0; i < pile->blocks; i++)
		for (size_t at = 0; at + size <= FORMAT_BLOCK_SIZE; at += size)
			settle_mapping((struct format_mapping *)(block_of(pile, i) + at), limit);
	return true;
}

/* Lists lead to larger indexes, so blocks are read in their order; again if some came meanwhile. */
static bool copy_nodes(struct copy *copy)
{
	for (int tries = 0; tries < TRIES; tries++) {
		if (!take_fresh(copy, FORMAT_NODES) || !image_refresh(&copy->image))
			return false;
		if (copy->image.counts[FORMAT_NODES] == copy->piles[FORMAT_NODES].blocks)
			break;
	}
	return true;
}

static bool copy_all(struct copy *copy)
{
	return copy_counters(copy) && take_fresh(copy, FORMAT_STACKS) && copy_nodes(copy) &&
	       take_fresh(copy, FORMAT_REGIONS) && take_fresh(copy, FORMAT_MODULES) &&
	       take_fresh(copy, FORMAT_TEXT) && take_fresh(copy, FORMAT_THREADS) &&
	       copy_histograms(copy) && copy_mappings(copy) && take_fresh(copy, FORMAT_PINS) &&
	       take_fresh(copy, FORMAT_REALLOCS) && take_fresh(copy, FORMAT_FAILURES) &&
	       copy_slots(copy, FORMAT_POINTS, sizeof(struct format_point), 0) &&
	       copy_slots(copy, FORMAT_SERIES, sizeof(struct format_series), 0) &&
	       copy_slots(copy, FORMAT_MARKS, sizeof(struct format_mark), 0);
}

/* --- the new file ---------------------------------------------------------------------------- */

static uint32_t count_blocks(const struct copy *copy)
{
	uint32_t count = 1;

	for (int kind = 0; kind < FORMAT_KINDS; kind++)
		count += copy->piles[kind].blocks;
	return count;
}

static uint32_t count_parts(uint32_t blocks)
{
	uint32_t parts = 0;

	while (blocks + parts > FORMAT_FIRST_ENTRIES + parts * FORMAT_ENTRIES)
		parts++;
	return parts;
}

static void enter(struct format_first_block *first, uint32_t number, uint32_t kind, uint32_t index)
{
	char *file = (char *)first;
	uint32_t entry = kind << FORMAT_INDEX_BITS | index;
	uint32_t rest = number - FORMAT_FIRST_ENTRIES;

	if (number < FORMAT_FIRST_ENTRIES) {
		atomic_init(&first->blocks[number], entry);
		return;
	}
	/* The parts of the directory are the blocks behind block 0. */
	memcpy(file + (size_t)(1 + rest / FORMAT_ENTRIES) * FORMAT_BLOCK_SIZE +
		       rest % FORMAT_ENTRIES * sizeof(entry),
	       &entry, sizeof(entry));
}

static void lay_out(const struct copy *copy, char *file, uint32_t parts)
{
	struct format_first_block *first = (struct format_first_block *)file;
	uint32_t number = 1;

	memcpy((void *)&first->header, &copy->header, sizeof(first->header));
	memset((void *)first->header.directories, 0, sizeof(first->header.directories));
	atomic_init(&first->header.chunk_count, copy->chunk_count);
	atomic_init(&first->header.given_count, 0);
	enter(first, 0, FORMAT_HEADER, 0);
	for (uint32_t part = 0; part < parts; part++, number++) {
		atomic_init(&first->header.directories[part], number);
		enter(first, number, FORMAT_DIRECTORY, part);
	}
	for (uint32_t kind = 0; kind < FORMAT_KINDS; kind++) {
		for (uint32_t i = 0; i < copy->piles[kind].blocks; i++, number++) {
			memcpy(file + (size_t)number * FORMAT_BLOCK_SIZE,
			       block_of(&copy->piles[kind], i), FORMAT_BLOCK_SIZE);
			enter(first, number, kind, i);
		}
	}
}

static bool make_file(const struct copy *copy, char **bytes, size_t *size)
{
	uint32_t blocks = count_blocks(copy);
	uint32_t parts = count_parts(blocks);

	if (parts > FORMAT_DIRECTORIES)
		return false;
	*bytes = calloc(blocks + parts, FORMAT_BLOCK_SIZE);
	if (!*bytes)
		return false;
	*size = (size_t)(blocks + parts) * FORMAT_BLOCK_SIZE;
	lay_out(copy, *bytes, parts);
	return true;
}

static void free_copy(struct copy *copy)
{
	image_close(&copy->image);
	for (int kind = 0; kind < FORMAT_KINDS; kind++)
		free(copy->piles[kind].bytes);
	free(copy->frees.bytes);
	free(copy->wide_frees.bytes);
	free(copy);
}

static struct copy *new_copy(const char *path, struct error *err)
{
	struct copy *copy = calloc(1, sizeof(*copy));

	if (!copy) {
		error_set(err, "%s: no memory", path);
		return NULL;
	}
	copy->image.damage = (struct damage){copy->damage_text, sizeof(copy->damage_text),
					     &copy->damage_count, &copy->damage_unlisted};
	if (image_open(&copy->image, path, err))
		return copy;
	free(copy);
	return NULL;
}

bool image_copy_running(const char *path, char **bytes, size_t *size, struct error *err)
{
	struct copy *copy = new_copy(path, err);
	bool done;

	if (!copy)
		return false;
	copy->image.grows = true;
	copy->image.quiet = true;
	done = copy_all(copy) && make_file(copy, bytes, size);
	free_copy(copy);
	return done || error_set(err, "%s: no memory to copy it, or it went away", path);
}

bool image_copy_bytes(const char *path, char **bytes, size_t *size, struct error *err)
{
	struct copy *copy = new_copy(path, err);
	bool done;

	if (!copy)
		return false;
	*size = (size_t)copy->image.size;
	*bytes = malloc(*size + 1);
	done = *bytes && image_read(&copy->image, 0, *bytes, *size) == *size;
	free_copy(copy);
	if (done)
		return true;
	free(*bytes);
	return error_set(err, "%s: no memory to copy it, or it was cut off", path);
}
