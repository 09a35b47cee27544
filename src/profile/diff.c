/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * diff.c - what changed between two profiles.
 *
 * First every call stack gets the number of its path, then the rows are made: so their index by path is one array.
 */
#include "profile/diff.h"

#include <stdlib.h>
#include <string.h>

#include "profile/diff_frames.h"
#include "profile/diff_tree.h"
#include "profile/growth.h"

/* What only the building needs. */
struct build {
	struct diff *diff;
	struct diff_frames *frames;
	struct diff_tree *tree;
	uint32_t *series[DIFF_SIDES]; /* by call stack: index in the profile's series; DIFF_NONE: has none */
	uint32_t *paths[DIFF_SIDES]; /* by call stack; 0 = not selected */
	uint32_t *rows;		     /* by path: index in stacks */
	bool *unknown; /* by row: a call stack of a side with a moment is not in the series, so rows of one side may be of both */
	uint32_t *sites; /* by the number of the site's name: index in sites */
};

bool diff_side_is_timed(const struct diff_side *side)
{
	return side->time_ns < side->profile->duration_ns;
}

uint64_t diff_side_moment(const struct diff_side *side)
{
	return diff_side_is_timed(side) ? side->time_ns : side->profile->duration_ns;
}

bool diff_is_exact(const struct diff *diff)
{
	for (unsigned side = 0; side < DIFF_SIDES; side++) {
		const struct sites_counts *sum = &diff->sums[side];
		uint64_t moment_ns = diff_side_moment(&diff->query.sides[side]);

		if (sum->most_ns && (sum->least_ns != moment_ns || sum->most_ns != moment_ns))
			return false;
	}
	return true;
}

static uint64_t change_of(uint64_t a, uint64_t b)
{
	return b - a;
}

int64_t diff_change(const struct sites_counts counts[DIFF_SIDES], enum sites_key key)
{
	return (int64_t)change_of((uint64_t)sites_value(&counts[DIFF_A], key),
				  (uint64_t)sites_value(&counts[DIFF_B], key));
}

enum diff_state diff_state(const struct diff_row *row)
{
	if (row->stack_count[DIFF_A] && row->stack_count[DIFF_B])
		return DIFF_MATCHED;
	return row->stack_count[DIFF_B] ? DIFF_NEW : DIFF_GONE;
}

unsigned diff_shown_side(const struct diff_row *row)
{
	return row->stack[DIFF_B] != DIFF_NONE ? DIFF_B : DIFF_A;
}

static void add_row(struct diff_row *sum, const struct diff_row *row)
{
	for (unsigned side = 0; side < DIFF_SIDES; side++) {
		sites_add(&sum->counts[side], &row->counts[side]);
		sum->stack_count[side] += row->stack_count[side];
	}
	sum->inexact |= row->inexact;
}

/* --- paths ----------------------------------------------------------------------------------- */

/* An array of DIFF_NONE; NULL: no memory. */
static uint32_t *new_indexes(size_t count)
{
	uint32_t *indexes = malloc((count + 1) * sizeof(*indexes));

	return indexes ? memset(indexes, 0xff, (count + 1) * sizeof(*indexes)) : NULL;
}

static bool find_paths(struct build *build, unsigned index)
{
	const struct diff_side *side = &build->diff->query.sides[index];
	const struct profile *profile = side->profile;

	build->series[index] = new_indexes(profile->stack_count);
	build->paths[index] = calloc((size_t)profile->stack_count + 1, sizeof(**build->paths));
	if (!build->series[index] || !build->paths[index])
		return false;
	for (uint32_t i = 0; i < profile->series_count; i++)
		build->series[index][profile->series[i].stack] = i;
	for (uint32_t i = 0; i < profile->stack_count; i++) {
		uint32_t node = profile->stacks[i].node;

		/* The root is a call stack of nothing, which a damaged profile may hold. */
		if (node == 0 || (side->selected && !side->selected[i]))
			continue;
		build->paths[index][i] = diff_tree_path(build->tree, index, node);
		if (build->paths[index][i] == 0)
			return false;
	}
	return true;
}

/* --- rows of call stacks --------------------------------------------------------------------- */

static struct sites_counts last_state(const struct profile_counts *from)
{
	return (struct sites_counts){
		.live_bytes = profile_live_bytes(from),
		.live_count = profile_live_count(from),
		.alloc_bytes = from->alloc_bytes,
		.alloc_count = from->alloc_count,
		.temporary_count = from->temporary_count,
		.peak_bytes = from->peak_bytes,
		.peak_count = from->peak_count,
	};
}

/* Counts of which only the bytes that the series have are known. */
static struct sites_counts state_at(const struct diff_side *side, uint32_t series)
{
	struct growth_value value;

	growth_at(side->profile, &side->profile->series[series], side->time_ns, &value);
	return (struct sites_counts){.live_bytes = value.live_bytes,
				     .alloc_bytes = value.alloc_bytes,
				     .least_ns = value.time_ns,
				     .most_ns = value.time_ns};
}

bool diff_needs_series(const struct diff *diff, unsigned index)
{
	const struct diff_side *side = &diff->query.sides[index];
	const struct diff_side *other = &diff->query.sides[!index];

	return diff_side_is_timed(side) ||
	       (side->profile == other->profile && diff_side_is_timed(other));
}

static bool is_heavier(const struct sites_counts *counts, const struct sites_counts *than)
{
	if (counts->live_bytes != than->live_bytes)
		return counts->live_bytes > than->live_bytes;
	return counts->alloc_bytes > than->alloc_bytes;
}

static struct sites_counts counts_of(const struct build *build, unsigned index, uint32_t stack)
{
	const struct diff_side *side = &build->diff->query.sides[index];
	uint32_t series = build->series[index][stack];
	struct sites_counts counts;

	if (diff_side_is_timed(side))
		return series == DIFF_NONE ? (struct sites_counts){0} : state_at(side, series);
	counts = last_state(&side->profile->stacks[stack].counts);
	if (build->diff->is_timed)
		counts = (struct sites_counts){.live_bytes = counts.live_bytes,
					       .alloc_bytes = counts.alloc_bytes,
					       .least_ns = side->profile->duration_ns,
					       .most_ns = side->profile->duration_ns};
	return counts;
}

/* The row of a path, made if there is none. */
static struct diff_row *row_of(struct build *build, uint32_t path)
{
	struct diff *diff = build->diff;
	uint32_t *index = &build->rows[path];

	if (*index == DIFF_NONE) {
		*index = diff->stack_count++;
		diff->stacks[*index] = (struct diff_row){.stack = {DIFF_NONE, DIFF_NONE}};
	}
	return &diff->stacks[*index];
}

static void add_stack(struct build *build, unsigned index, uint32_t stack)
{
	struct diff *diff = build->diff;
	const struct profile_stack *from = &diff->query.sides[index].profile->stacks[stack];
	struct diff_row *row = row_of(build, build->paths[index][stack]);
	struct sites_counts counts = counts_of(build, index, stack), before;

	if (build->series[index][stack] == DIFF_NONE && diff_needs_series(diff, index)) {
		build->unknown[row - diff->stacks] = true;
		if (diff->query.sides[0].profile == diff->query.sides[1].profile && index == DIFF_A)
			return; /* it comes again on the other side */
		diff->left_out++;
		diff->left_out_bytes += profile_live_bytes(&from->counts);
		return;
	}
	/* At that moment there was nothing yet. */
	if (diff_side_is_timed(&diff->query.sides[index]) && counts.alloc_bytes == 0)
		return;
	if (row->stack[index] != DIFF_NONE)
		before = counts_of(build, index, row->stack[index]);
	if (row->stack[index] == DIFF_NONE || is_heavier(&counts, &before))
		row->stack[index] = stack;
	row->stack_count[index]++;
	row->inexact |= from->inexact;
	sites_add(&row->counts[index], &counts);
}

/* Drops rows without call stacks, and those whose other side may be what the series do not have. */
static void drop_rows(struct build *build)
{
	struct diff *diff = build->diff;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < diff->stack_count; i++) {
		const struct diff_row *row = &diff->stacks[i];
		unsigned side = diff_shown_side(row);

		if (row->stack_count[DIFF_A] + row->stack_count[DIFF_B] == 0)
			continue;
		if (build->unknown[i] && diff_state(row) != DIFF_MATCHED &&
		    diff_needs_series(diff, !side) && !diff_needs_series(diff, side))
			continue;
		diff->stacks[kept++] = *row;
	}
	diff->stack_count = kept;
}

static bool make_rows(struct build *build)
{
	struct diff *diff = build->diff;
	const struct diff_side *sides = diff->query.sides;
	uint32_t limit = diff_tree_limit(build->tree);
	size_t most = (size_t)sides[0].profile->stack_count + sides[1].profile->stack_count;

	build->rows = new_indexes(limit);
	build->unknown = calloc(most + 1, sizeof(*build->unknown));
	diff->stacks = malloc((most + 1) * sizeof(*diff->stacks));
	if (!build->rows || !build->unknown || !diff->stacks)
		return false;
	for (unsigned side = 0; side < DIFF_SIDES; side++)
		for (uint32_t i = 0; i < sides[side].profile->stack_count; i++)
			if (build->paths[side][i])
				add_stack(build, side, i);
	drop_rows(build);
	return true;
}

/* --- sites and sums -------------------------------------------------------------------------- */

/* The number of the name of the function that a row is charged to; 0: no memory. */
static uint32_t site_name(struct build *build, const struct diff_row *row)
{
	unsigned index = diff_shown_side(row);
	const struct diff_side *side = &build->diff->query.sides[index];
	const struct profile *profile = side->profile;
	uint32_t node = names_site(side->names, &profile->stacks[row->stack[index]]);
	uint32_t number = places_find(side->places, profile->nodes[node].location);
	const struct place *place = places_get(side->places, number);
	struct diff_frames_place at = {index, place->location, place->symbol};

	return diff_frames_find(build->frames, &at);
}

/* Has the names looked up that site_name() will ask for of the rows that a side shows. */
static bool prepare_names(const struct build *build, unsigned index)
{
	const struct diff_side *side = &build->diff->query.sides[index];
	const struct profile *profile = side->profile;
	bool *wanted = calloc((size_t)profile->location_count + 1, sizeof(*wanted));

	if (!wanted)
		return false;
	for (uint32_t i = 0; i < build->diff->stack_count; i++) {
		const struct diff_row *row = &build->diff->stacks[i];
		const struct profile_stack *stack;
		uint32_t node, site;

		if (diff_shown_side(row) != index)
			continue;
		stack = &profile->stacks[row->stack[index]];
		site = names_site_fast(side->names, stack);
		for (node = stack->node; node != site; node = profile->nodes[node].parent)
			if (names_is_unsettled(side->names, profile->nodes[node].location))
				wanted[profile->nodes[node].location] = true;
		wanted[profile->nodes[site].location] = true;
	}
	names_prepare(side->names, wanted);
	free(wanted);
	return true;
}

static bool number_sites(struct build *build)
{
	struct diff *diff = build->diff;

	if (!prepare_names(build, DIFF_A) || !prepare_names(build, DIFF_B))
		return false;
	for (uint32_t i = 0; i < diff->stack_count; i++) {
		diff->stacks[i].site = site_name(build, &diff->stacks[i]);
		if (diff->stacks[i].site == 0)
			return false;
	}
	build->sites = new_indexes(diff_frames_count(build->frames));
	diff->sites = malloc(((size_t)diff->stack_count + 1) * sizeof(*diff->sites));
	return build->sites && diff->sites;
}

/* Numbers of names become indexes in sites, which are the sites' numbers from then on. */
static bool make_sites(struct build *build)
{
	struct diff *diff = build->diff;

	if (!number_sites(build))
		return false;
	for (uint32_t i = 0; i < diff->stack_count; i++) {
		struct diff_row *row = &diff->stacks[i];
		uint32_t *index = &build->sites[row->site];

		if (*index == DIFF_NONE) {
			*index = diff->site_count++;
			diff->sites[*index] = (struct diff_row){.site = *index};
		}
		row->site = *index;
		add_row(&diff->sites[*index], row);
	}
	return true;
}

static void measure(struct diff *diff)
{
	struct diff_quality *quality = &diff->quality;

	for (uint32_t i = 0; i < diff->stack_count; i++) {
		const struct diff_row *row = &diff->stacks[i];
		enum diff_state state = diff_state(row);

		quality->matched += state == DIFF_MATCHED;
		quality->fresh += state == DIFF_NEW;
		quality->gone += state == DIFF_GONE;
		for (unsigned side = 0; side < DIFF_SIDES; side++) {
			uint64_t bytes = row->counts[side].alloc_bytes;

			sites_add(&diff->sums[side], &row->counts[side]);
			if (state == DIFF_MATCHED)
				quality->matched_bytes[side] += bytes;
		}
		if (state == DIFF_NEW)
			quality->fresh_bytes += row->counts[DIFF_B].alloc_bytes;
		if (state == DIFF_GONE)
			quality->gone_bytes += row->counts[DIFF_A].alloc_bytes;
	}
}

/* False: the timeline does not say. */
static bool total_at(const struct diff_side *side, struct sites_counts *counts)
{
	const struct profile *profile = side->profile;
	uint32_t count = 0;

	while (count < profile->point_count && profile->points[count].time_ns <= side->time_ns)
		count++;
	*counts = (struct sites_counts){0};
	if (count == 0)
		return true;
	counts->live_bytes = profile->points[count - 1].live_bytes;
	counts->alloc_bytes = profile->points[count - 1].alloc_bytes;
	return counts->alloc_bytes != 0;
}

static void set_totals(struct diff *diff)
{
	for (unsigned i = 0; i < DIFF_SIDES; i++) {
		const struct diff_side *side = &diff->query.sides[i];

		diff->totals[i] = last_state(&side->profile->totals);
		if (side->selected ||
		    (diff_side_is_timed(side) && !total_at(side, &diff->totals[i]))) {
			memcpy(diff->totals, diff->sums, sizeof(diff->totals));
			return;
		}
	}
}

/* --------------------------------------------------------------------------------------------- */

static bool begin(struct build *build, const struct diff_query *query)
{
	const struct diff_side *sides = query->sides;
	struct diff_tree_query tree = {
		.profiles = {sides[0].profile, sides[1].profile},
		.names = {sides[0].names, sides[1].names},
		.fold_recursion = query->fold_recursion,
	};

	build->diff = calloc(1, sizeof(*build->diff));
	build->frames = diff_frames_new(sides[0].profile, sides[1].profile);
	if (!build->diff || !build->frames)
		return false;
	build->diff->query = *query;
	build->diff->is_timed = diff_side_is_timed(&sides[0]) || diff_side_is_timed(&sides[1]);
	tree.frames = build->frames;
	build->tree = diff_tree_new(&tree);
	return build->tree != NULL;
}

static void end(struct build *build)
{
	for (unsigned side = 0; side < DIFF_SIDES; side++) {
		free(build->series[side]);
		free(build->paths[side]);
	}
	free(build->rows);
	free(build->unknown);
	free(build->sites);
	diff_tree_free(build->tree);
	diff_frames_free(build->frames);
}

bool diff_build(const struct diff_query *query, struct diff **diff, struct error *err)
{
	struct build build = {0};
	bool ok = begin(&build, query) && find_paths(&build, DIFF_A) &&
		  find_paths(&build, DIFF_B) && make_rows(&build) && make_sites(&build);

	if (ok) {
		measure(build.diff);
		set_totals(build.diff);
		diff_sort(build.diff, SITES_LIVE);
		*diff = build.diff;
	} else {
		diff_free(build.diff);
		error_set(err, "no memory to compare %u call stacks with %u",
			  query->sides[DIFF_A].profile->stack_count,
			  query->sides[DIFF_B].profile->stack_count);
	}
	end(&build);
	return ok;
}

void diff_free(struct diff *diff)
{
	if (!diff)
		return;
	free(diff->stacks);
	free(diff->sites);
	free(diff);
}

/* --- order ----------------------------------------------------------------------------------- */

static int by_change(const void *left, const void *right, void *key)
{
	const struct diff_row *a = left, *b = right;
	int64_t first = diff_change(a->counts, *(enum sites_key *)key);
	int64_t second = diff_change(b->counts, *(enum sites_key *)key);

	if (first != second)
		return first < second ? 1 : -1;
	for (unsigned side = DIFF_SIDES; side-- > 0;) {
		uint64_t one = a->counts[side].alloc_bytes, two = b->counts[side].alloc_bytes;

		if (one != two)
			return one < two ? 1 : -1;
	}
	if (a->stack[DIFF_B] != b->stack[DIFF_B])
		return a->stack[DIFF_B] < b->stack[DIFF_B] ? -1 : 1;
	return (a->stack[DIFF_A] > b->stack[DIFF_A]) - (a->stack[DIFF_A] < b->stack[DIFF_A]);
}

static uint64_t distance(int64_t change)
{
	return change < 0 ? -(uint64_t)change : (uint64_t)change;
}

/* Each site shows the call stacks of its largest change. */
static void choose_stacks(struct diff *diff, enum sites_key key)
{
	for (uint32_t i = 0; i < diff->site_count; i++)
		memset(diff->sites[i].stack, 0xff, sizeof(diff->sites[i].stack));
	for (uint32_t i = 0; i < diff->stack_count; i++) {
		const struct diff_row *row = &diff->stacks[i];
		struct diff_row *site = &diff->sites[row->site];
		uint64_t change = distance(diff_change(row->counts, key));
		bool is_first = site->stack[diff_shown_side(site)] == DIFF_NONE;

		if (!is_first && change <= site->largest)
			continue;
		memcpy(site->stack, row->stack, sizeof(site->stack));
		site->largest = change;
	}
}

static int by_number(const void *left, const void *right)
{
	const struct diff_row *a = left, *b = right;

	return (a->site > b->site) - (a->site < b->site);
}

void diff_sort(struct diff *diff, enum sites_key key)
{
	if (diff->stack_count == 0)
		return;
	/* Back to where a row's site is an index. */
	qsort(diff->sites, diff->site_count, sizeof(*diff->sites), by_number);
	choose_stacks(diff, key);
	qsort_r(diff->stacks, diff->stack_count, sizeof(*diff->stacks), by_change, &key);
	qsort_r(diff->sites, diff->site_count, sizeof(*diff->sites), by_change, &key);
}
