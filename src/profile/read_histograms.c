/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * read_histograms.c - sizes and lifetimes of each call stack's blocks.
 *
 * A call stack whose blocks were all of one class has no histogram in the file; its count is that class.  With one, the first
 * class has what the others leave of the allocations.
 */
#include <stdlib.h>

#include "profile/read.h"

#define INDEX_MASK ((1u << 24) - 1)

static const struct image_array histograms_array = {
	FORMAT_HISTOGRAMS, sizeof(struct format_histogram), "histograms", 1};

struct histograms {
	struct reader *reader;
	struct format_histogram *raw;
	uint32_t count;
	uint64_t (*next)[FORMAT_CLASSES]; /* the next array to be given out */
	uint32_t wrong;
};

static bool check_index(struct histograms *histograms, uint32_t index)
{
	if (index > 0 && index < histograms->count)
		return true;
	histograms->wrong++;
	return false;
}

/* Copies a histogram; returns its sum. */
static uint64_t copy(const struct histograms *histograms, uint32_t index,
		     uint64_t counts[FORMAT_CLASSES])
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < FORMAT_CLASSES; i++) {
		counts[i] = 0;
		add_limited(&counts[i], plain64(&histograms->raw[index].counts[i]));
		add_limited(&sum, counts[i]);
	}
	return sum;
}

static void take_sizes(struct histograms *histograms, uint32_t sizes, struct profile_stack *stack)
{
	bool many = (sizes & FORMAT_SIZES_MANY) != 0;
	uint32_t first = many ? sizes >> 24 & 0x7f : sizes - 1;
	uint64_t *counts = *histograms->next;
	uint64_t others = 0;

	if (first >= FORMAT_CLASSES) {
		histograms->wrong++;
		return;
	}
	if (many) {
		if (!check_index(histograms, sizes & INDEX_MASK))
			return;
		others = copy(histograms, sizes & INDEX_MASK, counts);
		others -= counts[first] < others ? counts[first] : others;
	}
	counts[first] = 0;
	/* The others may have been counted after the allocations were read. */
	for (unsigned i = 0; others > stack->counts.alloc_count; i++) {
		uint64_t more = others - stack->counts.alloc_count;
		uint64_t less = counts[i] < more ? counts[i] : more;

		counts[i] -= less;
		others -= less;
	}
	counts[first] = stack->counts.alloc_count - others;
	stack->sizes = counts;
	histograms->next++;
}

static void take_lifetimes(struct histograms *histograms, uint32_t index,
			   struct profile_stack *stack)
{
	if (!check_index(histograms, index))
		return;
	copy(histograms, index, *histograms->next);
	stack->lifetimes = *histograms->next++;
}

static bool load(struct histograms *histograms)
{
	struct reader *reader = histograms->reader;
	struct image *image = &reader->image;
	size_t wanted = 0;

	if (!image_refresh(image))
		return false;
	histograms->count = image_limit(image, &histograms_array,
					plain32(&image->first->header.histogram_count));
	histograms->raw = image_items(image, &histograms_array, histograms->count);
	for (uint32_t i = 0; i < reader->profile.stack_count; i++) {
		struct format_stack *raw = &reader->raw_stacks[reader->profile.stacks[i].number];

		wanted += (plain32(&raw->sizes) != 0) + (plain32(&raw->lifetimes) != 0);
	}
	histograms->next = reader_alloc(reader, wanted, sizeof(*histograms->next));
	return histograms->raw && histograms->next;
}

bool read_histograms(struct reader *reader)
{
	struct histograms histograms = {.reader = reader};
	bool done = load(&histograms);

	for (uint32_t i = 0; done && i < reader->profile.stack_count; i++) {
		struct profile_stack *stack = &reader->profile.stacks[i];
		const struct format_stack *raw = &reader->raw_stacks[stack->number];

		if (plain32(&raw->sizes) != 0)
			take_sizes(&histograms, plain32(&raw->sizes), stack);
		if (plain32(&raw->lifetimes) != 0)
			take_lifetimes(&histograms, plain32(&raw->lifetimes), stack);
	}
	free(histograms.raw);
	if (histograms.wrong > 0)
		damage_add(&reader->image.damage, "%u histograms are missing", histograms.wrong);
	return done;
}
