/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * read_histograms.c - sizes and lifetimes of each call stack's blocks.
 *
 * A call stack whose blocks were all of one class has no histogram in the file; its count is that class.  With one, the first
 * class has what the others leave of the allocations.  Numbers of histograms are checked when a profile is opened; what they mean
 * is told when somebody asks for it: few views do, and written out it would be the largest part of a profile.
 */
#include <stdlib.h>
#include <string.h>

#include "profile/read.h"

#define INDEX_MASK ((1u << 24) - 1)

static const struct image_array histograms_array = {
	FORMAT_HISTOGRAMS, sizeof(struct format_histogram), "histograms", 1};
static const struct image_array recent_array = {
	FORMAT_RECENT_SIZES, sizeof(struct format_recent_sizes), "recent sizes", 0};

static bool is_many(uint32_t sizes)
{
	return (sizes & FORMAT_SIZES_MANY) != 0;
}

/* The class that has no count of its own. */
static uint32_t first_class(uint32_t sizes)
{
	return is_many(sizes) ? sizes >> 24 & 0x7f : sizes - 1;
}

/* --- reading --------------------------------------------------------------------------------- */

static bool is_possible(uint32_t sizes, uint32_t count)
{
	uint32_t index = sizes & INDEX_MASK;

	return first_class(sizes) < FORMAT_CLASSES &&
	       (!is_many(sizes) || (index > 0 && index < count));
}

/* Drops what leads to no histogram; returns how many that were. */
static unsigned check(struct profile_stack *stack, uint32_t count)
{
	bool sizes = stack->sizes == 0 || is_possible(stack->sizes, count);
	bool lifetimes = stack->lifetimes == 0 || stack->lifetimes < count;

	if (!sizes)
		stack->sizes = 0;
	if (!lifetimes)
		stack->lifetimes = 0;
	return !sizes + !lifetimes;
}

/* What threads have not added to their call stacks' histograms yet.  Of a process that runs it may be of call stacks, or be the
 * first of another class, that are newer than what was read: those are left out. */
static void add_recent(const struct reader *reader, struct format_histogram *histograms,
		       uint64_t count)
{
	const struct profile_stack *stack = reader_stack(
		reader, (uint32_t)(count >> FORMAT_RECENT_STACK_SHIFT));
	uint32_t size_class = count >> FORMAT_RECENT_CLASS_SHIFT & FORMAT_RECENT_CLASS_MASK;
	uint64_t sum = (uint32_t)count;
	_Atomic uint64_t *to;

	if (!stack || !is_many(stack->sizes) || size_class >= FORMAT_CLASSES)
		return;
	to = &histograms[stack->sizes & INDEX_MASK].counts[size_class];
	add_limited(&sum, plain64(to));
	atomic_init(to, sum);
}

/* After the histograms: what is added to one in between is in neither. */
static bool read_recent(struct reader *reader, struct format_histogram *histograms)
{
	struct format_recent_sizes *recent;
	uint32_t count;

	if (!image_refresh(&reader->image))
		return false;
	count = image_limit(&reader->image, &recent_array,
			    plain32(&reader->image.first->header.recent_count));
	recent = image_items(&reader->image, &recent_array, count);
	for (uint32_t i = 0; recent && i < count; i++)
		for (unsigned j = 0; j < FORMAT_RECENT; j++)
			add_recent(reader, histograms, plain64(&recent[i].counts[j]));
	free(recent);
	return recent != NULL;
}

bool read_histograms(struct reader *reader)
{
	struct profile *profile = &reader->profile;
	struct format_histogram *histograms;
	uint32_t count, wrong = 0;

	if (!image_refresh(&reader->image))
		return false;
	count = image_limit(&reader->image, &histograms_array,
			    plain32(&reader->image.first->header.histogram_count));
	histograms = reader_own(reader, image_items(&reader->image, &histograms_array, count));
	for (uint32_t i = 0; histograms && i < profile->stack_count; i++)
		wrong += check(&profile->stacks[i], count);
	if (wrong > 0)
		damage_add(&reader->image.damage, "%u histograms are missing", wrong);
	profile->histograms = histograms;
	return histograms && read_recent(reader, histograms);
}

/* --- asking ---------------------------------------------------------------------------------- */

/* Copies a histogram; returns its sum. */
static uint64_t copy(const struct format_histogram *histogram, uint64_t counts[FORMAT_CLASSES])
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < FORMAT_CLASSES; i++) {
		counts[i] = 0;
		add_limited(&counts[i],
			    atomic_load_explicit(&histogram->counts[i], memory_order_relaxed));
		add_limited(&sum, counts[i]);
	}
	return sum;
}

bool profile_sizes(const struct profile *profile, const struct profile_stack *stack,
		   uint64_t counts[FORMAT_CLASSES])
{
	uint64_t all = stack->counts.alloc_count, others = 0;
	uint32_t first = first_class(stack->sizes);

	if (stack->sizes == 0)
		return false;
	memset(counts, 0, FORMAT_CLASSES * sizeof(*counts));
	if (is_many(stack->sizes)) {
		others = copy(&profile->histograms[stack->sizes & INDEX_MASK], counts);
		others -= counts[first] < others ? counts[first] : others;
	}
	counts[first] = 0;
	/* The others may have been counted after the allocations were read. */
	for (unsigned i = 0; others > all; i++) {
		uint64_t more = others - all;
		uint64_t less = counts[i] < more ? counts[i] : more;

		counts[i] -= less;
		others -= less;
	}
	counts[first] = all - others;
	return true;
}

bool profile_lifetimes(const struct profile *profile, const struct profile_stack *stack,
		       uint64_t counts[FORMAT_CLASSES])
{
	if (stack->lifetimes == 0)
		return false;
	copy(&profile->histograms[stack->lifetimes], counts);
	return true;
}
