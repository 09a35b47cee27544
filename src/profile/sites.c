/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sites.c - call stacks grouped by allocation site.
 */
#include "profile/sites.h"

#include <stdlib.h>
#include <string.h>

/* One part in so many of the total is large: many small sites may turn out to be one that is inlined in many places. */
enum { SHARE = 10000 };

static const char *const key_names[SITES_KEYS] = {
	[SITES_LIVE] = "live",	 [SITES_PEAK] = "peak",		  [SITES_ALLOC] = "alloc",
	[SITES_COUNT] = "count", [SITES_TEMPORARY] = "temporary", [SITES_GROWTH] = "growth",
};

struct entry {
	int64_t value;
	uint64_t alloc_bytes;
	uint32_t index;
};

const char *sites_key_name(enum sites_key key)
{
	return key < SITES_KEYS ? key_names[key] : NULL;
}

bool sites_key_find(const char *name, enum sites_key *key)
{
	unsigned i;

	for (i = 0; i < SITES_KEYS; i++) {
		if (strcmp(name, key_names[i]) == 0) {
			*key = (enum sites_key)i;
			return true;
		}
	}
	return false;
}

int64_t sites_value(const struct sites_counts *counts, enum sites_key key)
{
	switch (key) {
	case SITES_PEAK:
		return counts->peak_bytes;
	case SITES_ALLOC:
		return (int64_t)counts->alloc_bytes;
	case SITES_COUNT:
		return (int64_t)counts->alloc_count;
	case SITES_TEMPORARY:
		return (int64_t)counts->temporary_count;
	case SITES_GROWTH:
		return counts->growth;
	default:
		return (int64_t)counts->live_bytes;
	}
}

static void add_times(struct sites_counts *sum, const struct sites_counts *counts)
{
	if (!counts->most_ns)
		return;
	if (!sum->most_ns || counts->least_ns < sum->least_ns)
		sum->least_ns = counts->least_ns;
	if (counts->most_ns > sum->most_ns)
		sum->most_ns = counts->most_ns;
}

void sites_add(struct sites_counts *sum, const struct sites_counts *counts)
{
	sum->live_bytes += counts->live_bytes;
	sum->live_count += counts->live_count;
	sum->alloc_bytes += counts->alloc_bytes;
	sum->alloc_count += counts->alloc_count;
	sum->temporary_count += counts->temporary_count;
	sum->peak_bytes = (int64_t)((uint64_t)sum->peak_bytes + (uint64_t)counts->peak_bytes);
	sum->peak_count = (int64_t)((uint64_t)sum->peak_count + (uint64_t)counts->peak_count);
	sum->growth = (int64_t)((uint64_t)sum->growth + (uint64_t)counts->growth);
	add_times(sum, counts);
}

/* Replaces what the timeline knows better than the final state.  Counts that it does not have become 0. */
static void use_timeline(const struct sites *sites, const struct profile_series *series,
			 struct sites_counts *counts)
{
	const struct sites_query *query = &sites->query;
	struct growth_value before = {0}, after = {0};

	if (series) {
		growth_at(query->profile, series, query->interval.since_ns, &before);
		growth_at(query->profile, series, query->interval.until_ns, &after);
	}
	*counts = (struct sites_counts){
		.live_bytes = after.live_bytes,
		.alloc_bytes = after.alloc_bytes > before.alloc_bytes
				       ? after.alloc_bytes - before.alloc_bytes
				       : 0,
		.growth = (int64_t)(after.live_bytes - before.live_bytes),
		.least_ns = after.time_ns - before.time_ns,
		.most_ns = after.time_ns - before.time_ns,
	};
}

void sites_stack(const struct sites *sites, uint32_t stack, struct sites_counts *counts)
{
	const struct profile *profile = sites->query.profile;
	const struct profile_counts *from = &profile->stacks[stack].counts;
	const struct profile_series *series = NULL;

	if (sites->series[stack] != SITES_NONE)
		series = &profile->series[sites->series[stack]];
	*counts = (struct sites_counts){
		.live_bytes = profile_live_bytes(from),
		.live_count = profile_live_count(from),
		.alloc_bytes = from->alloc_bytes,
		.alloc_count = from->alloc_count,
		.temporary_count = from->temporary_count,
		.peak_bytes = from->peak_bytes,
		.peak_count = from->peak_count,
	};
	if (sites->query.only_interval) {
		uint64_t live = counts->live_bytes;

		use_timeline(sites, series, counts);
		if (!series && sites->query.interval.until_ns >= profile->duration_ns)
			counts->live_bytes = live;
	} else if (series) {
		counts->growth = growth_change(profile, series, &sites->query.interval,
					       &counts->most_ns);
		counts->least_ns = counts->most_ns;
	}
}

/* An array of SITES_NONE; NULL: no memory. */
static uint32_t *new_indexes(uint32_t count)
{
	size_t size = (count ? count : 1) * sizeof(uint32_t);
	uint32_t *indexes = malloc(size);

	return indexes ? memset(indexes, 0xff, size) : NULL;
}

static bool allocate(struct sites *sites)
{
	const struct profile *profile = sites->query.profile;
	uint32_t i;

	sites->of_stack = new_indexes(profile->stack_count);
	sites->series = new_indexes(profile->stack_count);
	sites->of_place = new_indexes(places_limit(sites->query.places));
	sites->is_rough = calloc((size_t)profile->stack_count + 1, sizeof(*sites->is_rough));
	/* There are at most as many sites as call stacks; what is not used of it is never touched. */
	sites->items = malloc(((size_t)profile->stack_count + 1) * sizeof(*sites->items));
	if (!sites->of_stack || !sites->series || !sites->of_place || !sites->is_rough ||
	    !sites->items)
		return false;
	for (i = 0; i < profile->series_count; i++)
		sites->series[profile->series[i].stack] = i;
	return true;
}

/* Where a call stack's site is.  The root has no location: a call stack of nothing, which a damaged profile may hold. */
static uint32_t place_of(const struct sites *sites, uint32_t stack)
{
	const struct sites_query *query = &sites->query;
	const struct profile_stack *from = &query->profile->stacks[stack];
	bool rough = sites->is_rough[stack];
	uint32_t node = rough ? names_site_fast(query->names, from) : names_site(query->names, from);
	uint32_t location = query->profile->nodes[node].location;

	if (node == 0)
		return SITES_NONE;
	return rough ? places_find_fast(query->places, location)
		     : places_find(query->places, location);
}

/* Adds a call stack to its site, which exists. */
static void charge(struct sites *sites, uint32_t place, uint32_t stack)
{
	struct site *site = &sites->items[sites->of_place[place]];
	const struct profile_stack *from = &sites->query.profile->stacks[stack];
	struct sites_counts counts;

	sites_stack(sites, stack, &counts);
	sites->stack_count++;
	site->stack_count++;
	site->rough_count += sites->is_rough[stack];
	site->inexact |= from->inexact;
	sites_add(&site->counts, &counts);
	sites_add(&sites->totals, &counts);
	if (sites->series[stack] == SITES_NONE) {
		sites->untimed_count++;
		sites->untimed_bytes += profile_live_bytes(&from->counts);
	}
}

/* Sums up by of_stack. */
static void group(struct sites *sites)
{
	for (uint32_t i = 0; i < sites->count; i++)
		sites->of_place[sites->items[i].place] = SITES_NONE;
	sites->sorted = SITES_KEYS;
	sites->count = sites->stack_count = sites->untimed_count = 0;
	sites->untimed_bytes = 0;
	sites->totals = (struct sites_counts){0};
	for (uint32_t i = 0; i < sites->query.profile->stack_count; i++) {
		uint32_t place = sites->of_stack[i];

		if (place == SITES_NONE)
			continue;
		if (sites->of_place[place] == SITES_NONE) {
			sites->items[sites->count] = (struct site){.place = place};
			sites->of_place[place] = sites->count++;
		}
		charge(sites, place, i);
	}
}

/* Gives each selected call stack its first site. */
static void place_all(struct sites *sites)
{
	const struct sites_query *query = &sites->query;

	for (uint32_t i = 0; i < query->profile->stack_count; i++) {
		if (query->selected && !query->selected[i])
			continue;
		sites->is_rough[i] = true;
		sites->of_stack[i] = place_of(sites, i);
	}
}

void sites_free(struct sites *sites)
{
	if (!sites)
		return;
	free(sites->items);
	free(sites->of_stack);
	free(sites->series);
	free(sites->of_place);
	free(sites->is_rough);
	free(sites);
}

static int by_entry(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;

	if (a->value != b->value)
		return a->value < b->value ? 1 : -1;
	if (a->alloc_bytes != b->alloc_bytes)
		return a->alloc_bytes < b->alloc_bytes ? 1 : -1;
	return (a->index > b->index) - (a->index < b->index);
}

static struct entry entry_of(const struct sites *sites, uint32_t stack, enum sites_key key)
{
	struct sites_counts counts;

	sites_stack(sites, stack, &counts);
	return (struct entry){sites_value(&counts, key), counts.alloc_bytes, stack};
}

uint32_t sites_heaviest(const struct sites *sites, enum sites_key key)
{
	struct entry best = {.index = SITES_NONE};

	for (uint32_t i = 0; i < sites->query.profile->stack_count; i++) {
		struct entry entry;

		if (sites->of_stack[i] == SITES_NONE)
			continue;
		entry = entry_of(sites, i, key);
		if (best.index == SITES_NONE || by_entry(&entry, &best) < 0)
			best = entry;
	}
	return best.index;
}

uint32_t *sites_stacks(const struct sites *sites, const struct site *site, enum sites_key key,
		       uint32_t *count)
{
	uint32_t all = sites->query.profile->stack_count, n = 0, i;
	struct entry *entries = malloc((all ? all : 1) * sizeof(*entries));
	uint32_t *stacks = malloc((all ? all : 1) * sizeof(*stacks));

	if (!entries || !stacks) {
		free(entries);
		free(stacks);
		return NULL;
	}
	for (i = 0; i < all; i++)
		if (sites->of_stack[i] != SITES_NONE && (!site || sites->of_stack[i] == site->place))
			entries[n++] = entry_of(sites, i, key);
	qsort(entries, n, sizeof(*entries), by_entry);
	for (i = 0; i < n; i++)
		stacks[i] = entries[i].index;
	free(entries);
	*count = n;
	return stacks;
}

static int by_key(const void *left, const void *right, void *key)
{
	const struct site *a = left, *b = right;
	enum sites_key by = *(enum sites_key *)key;
	struct entry first = {sites_value(&a->counts, by), a->counts.alloc_bytes, a->place};
	struct entry second = {sites_value(&b->counts, by), b->counts.alloc_bytes, b->place};

	return by_entry(&first, &second);
}

static void find_heaviest(struct sites *sites, enum sites_key key)
{
	uint32_t i;

	for (i = 0; i < sites->count; i++)
		sites->items[i].heaviest = SITES_NONE;
	for (i = 0; i < sites->query.profile->stack_count; i++) {
		struct sites_counts counts;
		struct site *site;
		int64_t value;

		if (sites->of_stack[i] == SITES_NONE)
			continue;
		site = &sites->items[sites->of_place[sites->of_stack[i]]];
		sites_stack(sites, i, &counts);
		value = sites_value(&counts, key);
		if (site->heaviest != SITES_NONE && value <= site->heaviest_value)
			continue;
		site->heaviest = i;
		site->heaviest_value = value;
	}
}

/* The keys by which sites should be lines, and from which value on. */
struct due {
	unsigned keys; /* bit for each enum sites_key */
	int64_t from[SITES_KEYS];
};

static int by_value(const void *left, const void *right)
{
	int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

	return (a < b) - (a > b);
}

/* A ten-thousandth of all, or less if that takes to have SITES_EXACT_ROWS. */
static int64_t due_from(const struct sites *sites, enum sites_key key, int64_t *values)
{
	int64_t total = sites_value(&sites->totals, key);
	int64_t from;

	for (uint32_t i = 0; i < sites->count; i++)
		values[i] = sites_value(&sites->items[i].counts, key);
	if (sites->count > 0)
		qsort(values, sites->count, sizeof(*values), by_value);
	/* Growth of some and shrinking of others may sum up to nothing. */
	from = sites->count > 0 && values[0] > total ? values[0] / SHARE : total / SHARE;
	if (sites->count <= SITES_EXACT_ROWS)
		from = 1;
	else if (values[SITES_EXACT_ROWS - 1] < from)
		from = values[SITES_EXACT_ROWS - 1];
	return from > 0 ? from : 1;
}

static bool is_due(const struct due *due, const struct site *site)
{
	for (unsigned key = 0; site->rough_count > 0 && key < SITES_KEYS; key++)
		if ((due->keys & 1u << key) &&
		    sites_value(&site->counts, (enum sites_key)key) >= due->from[key])
			return true;
	return false;
}

/* Of a call stack that belongs to one. */
static const struct site *site_of(const struct sites *sites, uint32_t stack)
{
	return &sites->items[sites->of_place[sites->of_stack[stack]]];
}

/* True if lines and inlined functions were not looked up. */
static bool is_rough(const struct sites *sites, uint32_t stack)
{
	return sites->is_rough[stack] && sites->of_stack[stack] != SITES_NONE;
}

/* Marks the locations that decide about a call stack's site. */
static void want(const struct sites_query *query, const struct profile_stack *stack, bool *wanted)
{
	const struct profile_node *nodes = query->profile->nodes;
	uint32_t site = names_site_fast(query->names, stack);

	for (uint32_t node = stack->node; node != 0; node = nodes[node].parent) {
		uint32_t location = nodes[node].location;

		wanted[location] |= node == site || names_is_unsettled(query->names, location);
		if (names_is_own_fast(query->names, location))
			break;
	}
}

static void prepare(const struct sites *sites, const bool *marked)
{
	const struct profile *profile = sites->query.profile;
	bool *wanted = calloc((size_t)profile->location_count + 1, sizeof(*wanted));

	if (!wanted)
		return;
	for (uint32_t i = 0; i < profile->stack_count; i++)
		if (marked[i] && is_rough(sites, i))
			want(&sites->query, &profile->stacks[i], wanted);
	names_prepare(sites->query.names, wanted);
	free(wanted);
}

bool sites_refine_stacks(struct sites *sites, const bool *marked)
{
	uint32_t count = sites->query.profile->stack_count, i;

	for (i = 0; i < count && !(marked[i] && is_rough(sites, i)); i++)
		;
	if (i == count)
		return false;
	prepare(sites, marked);
	for (; i < count; i++) {
		if (!marked[i] || !is_rough(sites, i))
			continue;
		sites->is_rough[i] = false;
		sites->of_stack[i] = place_of(sites, i);
	}
	group(sites);
	return true;
}

/* Looks up lines and inlined functions of the sites that are due.  False: none was. */
static bool refine(struct sites *sites, const struct due *due)
{
	uint32_t count = sites->query.profile->stack_count, i;
	bool *marked;
	bool any;

	/* Sites are fewer than call stacks. */
	for (i = 0; i < sites->count && !is_due(due, &sites->items[i]); i++)
		;
	if (i == sites->count)
		return false;
	marked = calloc((size_t)count + 1, sizeof(*marked));
	if (!marked)
		return false;
	for (i = 0; i < count; i++)
		marked[i] = is_rough(sites, i) && is_due(due, site_of(sites, i));
	any = sites_refine_stacks(sites, marked);
	free(marked);
	return any;
}

void sites_refine(struct sites *sites, unsigned keys)
{
	struct due due = {.keys = keys};
	int64_t *values;

	/* Divided sites make room for smaller ones among the largest. */
	do {
		values = malloc(((size_t)sites->count + 1) * sizeof(*values));
		if (!values)
			return;
		for (unsigned key = 0; key < SITES_KEYS; key++)
			if (keys & 1u << key)
				due.from[key] = due_from(sites, (enum sites_key)key, values);
		free(values);
	} while (refine(sites, &due));
}

void sites_sort(struct sites *sites, enum sites_key key)
{
	sites_refine(sites, 1u << key);
	if (sites->sorted == key)
		return;
	sites->sorted = key;
	if (sites->count)
		qsort_r(sites->items, sites->count, sizeof(*sites->items), by_key, &key);
	for (uint32_t i = 0; i < sites->count; i++)
		sites->of_place[sites->items[i].place] = i;
	find_heaviest(sites, key);
}

bool sites_is_start_up(const struct sites *sites, const struct site *site)
{
	const struct profile *profile = sites->query.profile;
	const struct profile_location *location = NULL;
	const char *path, *slash;
	uint32_t node;

	if (places_get(sites->query.places, site->place)->own || !profile->stack_count)
		return false;
	for (node = profile->stacks[site->heaviest].node; node != 0;
	     node = profile->nodes[node].parent)
		location = &profile->locations[profile->nodes[node].location];
	if (!location || location->special)
		return false;
	path = profile->modules[location->module].path;
	slash = strrchr(path, '/');
	return strncmp(slash ? slash + 1 : path, "ld-", 3) == 0;
}

static uint64_t live_at_end(const struct sites *sites, const struct site *site)
{
	const struct sites_query *query = &sites->query;
	const struct profile *profile = query->profile;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < profile->stack_count; i++) {
		struct growth_value value;

		if (sites->of_stack[i] != site->place || sites->series[i] == SITES_NONE)
			continue;
		growth_at(profile, &profile->series[sites->series[i]], query->interval.until_ns,
			  &value);
		sum += value.live_bytes;
	}
	return sum;
}

bool sites_find_grower(const struct sites *sites, struct sites_grower *grower)
{
	enum sites_key key = SITES_GROWTH;
	const struct site *best = NULL;

	for (uint32_t i = 0; i < sites->count; i++)
		if (!best || by_key(&sites->items[i], best, &key) < 0)
			best = &sites->items[i];
	if (!best || best->counts.growth <= 0)
		return false;
	*grower = (struct sites_grower){
		.site = best,
		.growth = (uint64_t)best->counts.growth,
		.all_growth = (uint64_t)(sites->totals.growth > best->counts.growth
						 ? sites->totals.growth
						 : best->counts.growth),
		.live_bytes = best->counts.live_bytes,
	};
	if (sites->query.interval.until_ns < sites->query.profile->duration_ns)
		grower->live_bytes = live_at_end(sites, best);
	return true;
}

bool sites_build(const struct sites_query *query, struct sites **built, struct error *err)
{
	const struct due everything = {1u << SITES_LIVE, {[SITES_LIVE] = INT64_MIN}};
	struct sites *sites = calloc(1, sizeof(*sites));

	if (!sites)
		return error_set(err, "no memory for the allocation sites");
	sites->query = *query;
	if (!allocate(sites)) {
		sites_free(sites);
		return error_set(err, "no memory for %u call stacks", query->profile->stack_count);
	}
	place_all(sites);
	group(sites);
	if (query->detail == SITES_ALL)
		refine(sites, &everything);
	sites_sort(sites, SITES_LIVE);
	*built = sites;
	return true;
}
