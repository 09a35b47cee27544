/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * heavy_frames.c - the frames that a person is likely to look at.
 *
 * Bytes that are live and bytes that were allocated cannot be compared, shares of a total can: a frame weighs what its largest share
 * is.  Sites come before what calls them.
 */
#include "page/heavy_frames.h"

#include <stdlib.h>

#include "profile/sites.h"

enum { STEPS_MAX = 256 }; /* frames of a call stack that are looked at */

static const enum sites_key keys[] = {SITES_LIVE, SITES_PEAK, SITES_ALLOC, SITES_GROWTH};

enum { KEYS = sizeof(keys) / sizeof(*keys) };

struct ranked {
	double weight;
	uint32_t frame;
};

struct search {
	const struct call_tree *tree;
	const struct side *side;
	double totals[KEYS];
	double *shares;	 /* of sites, by frame; of one key */
	double *weights; /* by frame; 1 and more: a site */
	struct ranked *ranked;
};

static bool search_begin(struct search *search, const struct call_tree *tree)
{
	size_t count = (size_t)tree->keys.count + 1;

	*search = (struct search){
		.tree = tree,
		.shares = calloc(count, sizeof(double)),
		.weights = calloc(count, sizeof(double)),
		.ranked = calloc(count, sizeof(struct ranked)),
	};
	return search->shares && search->weights && search->ranked;
}

static void search_end(struct search *search)
{
	free(search->shares);
	free(search->weights);
	free(search->ranked);
}

static int heavier(const void *left, const void *right)
{
	const struct ranked *a = left, *b = right;

	if (a->weight != b->weight)
		return a->weight < b->weight ? 1 : -1;
	return (a->frame > b->frame) - (a->frame < b->frame);
}

/* Frames that have a line and a weight, the heaviest first.  Returns their number. */
static uint32_t rank(struct search *search, const double *weights)
{
	uint32_t count = 0;

	for (uint32_t frame = 0; frame < search->tree->keys.count; frame++)
		if (weights[frame] > 0 && search->tree->frames[frame].file &&
		    search->tree->frames[frame].line)
			search->ranked[count++] = (struct ranked){weights[frame], frame};
	if (count > 1)
		qsort(search->ranked, count, sizeof(*search->ranked), heavier);
	return count;
}

static double value_of(const struct search *search, uint32_t stack, unsigned key)
{
	struct sites_counts counts;
	int64_t value;

	sites_stack(search->side->report->sites, stack, &counts);
	value = sites_value(&counts, keys[key]);
	return value > 0 ? (double)value : 0;
}

/* The sites with the most of a key. */
static void add_sites(struct search *search, unsigned key)
{
	const struct side *side = search->side;
	uint32_t stacks = side->report->profile->stack_count, count;
	double total = 0;

	for (uint32_t frame = 0; frame < search->tree->keys.count; frame++)
		search->shares[frame] = 0;
	for (uint32_t i = 0; i < stacks; i++) {
		double value = value_of(search, i, key);

		search->shares[side->stacks.sites[i]] += value;
		total += value;
	}
	search->totals[key] = total;
	count = rank(search, search->shares);
	for (uint32_t i = 0; i < count && i < HEAVY_FRAMES_SITES; i++) {
		double *weight = &search->weights[search->ranked[i].frame];
		double share = 1 + search->ranked[i].weight / total;

		*weight = share > *weight ? share : *weight;
	}
}

/* The own frames next to the allocation. */
static void add_near(struct search *search, uint32_t stack, double share)
{
	const struct call_tree *tree = search->tree;
	uint32_t node = search->side->stacks.nodes[stack], near = 0;

	for (unsigned steps = 0; node && near < HEAVY_FRAMES_NEAR && steps < STEPS_MAX; steps++) {
		uint32_t frame = tree->frame_of[node];
		double *weight = &search->weights[frame];

		if (tree->frames[frame].is_own) {
			near++;
			if (*weight < 1)
				*weight = *weight + share < 0.999 ? *weight + share : 0.999;
		}
		node = tree->parents[node];
	}
}

static void add_callers(struct search *search)
{
	const struct side *side = search->side;

	for (uint32_t i = 0; i < side->report->profile->stack_count; i++) {
		double share = 0;

		if (search->weights[side->stacks.sites[i]] < 1)
			continue;
		for (unsigned key = 0; key < KEYS; key++) {
			double value = value_of(search, i, key);

			if (value > 0 && value / search->totals[key] > share)
				share = value / search->totals[key];
		}
		if (share > 0)
			add_near(search, i, share);
	}
}

uint32_t *heavy_frames(const struct call_tree *tree, const struct side *sides, unsigned side_count,
		       uint32_t *found)
{
	struct search search;
	uint32_t *frames = NULL, count = 0;

	if (search_begin(&search, tree)) {
		for (unsigned i = 0; i < side_count; i++) {
			search.side = &sides[i];
			for (unsigned key = 0; key < KEYS; key++)
				add_sites(&search, key);
			add_callers(&search);
		}
		count = rank(&search, search.weights);
		count = count < HEAVY_FRAMES_MAX ? count : HEAVY_FRAMES_MAX;
		frames = calloc((size_t)count + 1, sizeof(*frames));
		for (uint32_t i = 0; frames && i < count; i++)
			frames[i] = search.ranked[i].frame;
	}
	search_end(&search);
	*found = count;
	return frames;
}
