/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * state.c - see state.h.
 *
 * Live figures are what was allocated less what was freed, so taking the same from both leaves them as they are.
 */
#include "push/state.h"

#include <stdlib.h>
#include <string.h>

static void subtract(struct profile_counts *counts, const struct base_entry *entry)
{
	counts->alloc_bytes -= entry->alloc_bytes;
	counts->free_bytes -= entry->alloc_bytes;
	counts->alloc_count -= entry->alloc_count;
	counts->free_count -= entry->alloc_count;
}

static void add(struct profile_counts *sum, const struct profile_counts *counts)
{
	sum->alloc_bytes += counts->alloc_bytes;
	sum->free_bytes += counts->free_bytes;
	sum->alloc_count += counts->alloc_count;
	sum->free_count += counts->free_count;
}

static bool shows(const struct profile_counts *counts)
{
	return counts->alloc_count || counts->alloc_bytes || profile_live_count(counts) ||
	       profile_live_bytes(counts);
}

static int larger_first(const void *left, const void *right)
{
	const struct profile_counts *a = &((const struct profile_stack *)left)->counts;
	const struct profile_counts *b = &((const struct profile_stack *)right)->counts;
	uint64_t live_a = profile_live_bytes(a), live_b = profile_live_bytes(b);

	if (live_a != live_b)
		return live_a > live_b ? -1 : 1;
	return a->alloc_bytes > b->alloc_bytes ? -1 : a->alloc_bytes < b->alloc_bytes;
}

static bool copy_stacks(struct state *state, const struct profile *from,
			const struct state_view *view)
{
	struct profile *profile = &state->profile;
	uint32_t i;

	profile->stacks = calloc((size_t)from->stack_count + 1, sizeof(*profile->stacks));
	profile->stack_count = 0;
	for (i = 0; i < from->stack_count && profile->stacks; i++) {
		const struct base_entry *entry = view->base ? base_find(view->base,
									from->stacks[i].number)
							    : NULL;
		struct profile_stack *stack = &profile->stacks[profile->stack_count];

		*stack = from->stacks[i];
		if (entry)
			subtract(&stack->counts, entry);
		profile->stack_count += shows(&stack->counts);
	}
	return profile->stacks != NULL;
}

/* The last one that may stay takes up those behind it: node 0 is that of a call stack without frames. */
static void fold(struct state *state, uint32_t stacks_max)
{
	struct profile *profile = &state->profile;
	struct profile_stack *rest;
	uint32_t i;

	if (stacks_max == 0 || profile->stack_count <= stacks_max)
		return;
	qsort(profile->stacks, profile->stack_count, sizeof(*profile->stacks), larger_first);
	rest = &profile->stacks[stacks_max - 1];
	for (i = stacks_max; i < profile->stack_count; i++) {
		add(&rest->counts, &profile->stacks[i].counts);
		rest->inexact |= profile->stacks[i].inexact;
	}
	rest->node = 0;
	rest->hook = FORMAT_NO_HOOK;
	state->folded = profile->stack_count - stacks_max + 1;
	profile->stack_count = stacks_max;
}

/* Which locations are left: new_index[] is their number + 1. */
static uint32_t number_locations(const struct profile *profile, const struct profile_node *nodes,
				 uint32_t *new_index)
{
	uint32_t count = 0, i, node;

	for (i = 0; i < profile->stack_count; i++)
		for (node = profile->stacks[i].node; node != 0; node = nodes[node].parent)
			new_index[nodes[node].location] = 1;
	for (i = 0; i < profile->location_count; i++)
		if (new_index[i])
			new_index[i] = ++count;
	return count;
}

static void move_locations(struct state *state, const struct profile *from,
			   const uint32_t *new_index)
{
	struct profile *profile = &state->profile;
	uint32_t i;

	for (i = 0; i < from->location_count; i++) {
		if (!new_index[i])
			continue;
		profile->locations[new_index[i] - 1] = from->locations[i];
		if (from->given)
			state->given.by_location[new_index[i] - 1] = from->given->by_location[i];
	}
	for (i = 0; i < from->node_count; i++) {
		uint32_t location = i > 0 ? new_index[from->nodes[i].location] : 0;

		profile->nodes[i] = from->nodes[i];
		profile->nodes[i].location = location ? location - 1 : 0;
	}
}

/* Names that came with the profile are by location; all else of them is shared. */
static bool open_given(struct state *state, const struct given_names *given)
{
	if (!given)
		return true;
	state->given = *given;
	state->given.by_location = calloc((size_t)state->profile.location_count + 1,
					  sizeof(*state->given.by_location));
	state->profile.given = &state->given;
	return state->given.by_location != NULL;
}

static bool copy_places(struct state *state, const struct profile *from)
{
	uint32_t *new_index = calloc((size_t)from->location_count + 1, sizeof(*new_index));
	struct profile *profile = &state->profile;
	bool ok;

	if (!new_index)
		return false;
	profile->location_count = number_locations(profile, from->nodes, new_index);
	profile->locations = calloc((size_t)profile->location_count + 1,
				    sizeof(*profile->locations));
	profile->nodes = calloc((size_t)from->node_count + 1, sizeof(*profile->nodes));
	ok = profile->locations && profile->nodes && open_given(state, from->given);
	if (ok)
		move_locations(state, from, new_index);
	free(new_index);
	return ok;
}

static void sum_up(struct profile *profile)
{
	uint32_t i;

	profile->totals = (struct profile_counts){0};
	for (i = 0; i < profile->stack_count; i++)
		add(&profile->totals, &profile->stacks[i].counts);
}

bool state_make(struct state *state, const struct profile *from, const struct state_view *view,
		struct error *err)
{
	struct profile *profile = &state->profile;

	*state = (struct state){.profile = *from};
	profile->location_count = from->location_count;
	profile->locations = NULL;
	profile->nodes = NULL;
	profile->given = NULL;
	/* What the program maps lies on places that are not taken over. */
	profile->mapped = NULL;
	if (copy_stacks(state, from, view))
		fold(state, view->stacks_max);
	if (!profile->stacks || !copy_places(state, from)) {
		state_free(state);
		return error_set(err, "%s: no memory", from->path);
	}
	sum_up(profile);
	profile->header.start_realtime_ns = view->until_ns;
	profile->duration_ns = view->base && view->until_ns > view->from_ns
				       ? view->until_ns - view->from_ns
				       : 0;
	return true;
}

void state_free(struct state *state)
{
	free(state->profile.stacks);
	free(state->profile.locations);
	free(state->profile.nodes);
	free(state->given.by_location);
	*state = (struct state){0};
}
