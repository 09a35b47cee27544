/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sites.c - call stacks grouped by allocation site.
 */
#include "profile/sites.h"

#include <stdlib.h>
#include <string.h>

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

static void add(struct sites_counts *sum, const struct sites_counts *counts)
{
	sum->live_bytes += counts->live_bytes;
	sum->live_count += counts->live_count;
	sum->alloc_bytes += counts->alloc_bytes;
	sum->alloc_count += counts->alloc_count;
	sum->temporary_count += counts->temporary_count;
	sum->peak_bytes = (int64_t)((uint64_t)sum->peak_bytes + (uint64_t)counts->peak_bytes);
	sum->peak_count = (int64_t)((uint64_t)sum->peak_count + (uint64_t)counts->peak_count);
	sum->growth = (int64_t)((uint64_t)sum->growth + (uint64_t)counts->growth);
}

/* Replaces what the timeline knows better than the final state.  Counts that it does not have become 0. */
static void use_timeline(const struct sites *sites, const struct profile_series *series,
			 struct sites_counts *counts)
{
	const struct sites_query *query = &sites->query;
	struct growth_value before = {0, 0}, after = {0, 0};

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
		counts->growth = growth_change(profile, series, &sites->query.interval);
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
	sites->of_place = new_indexes(profile->location_count);
	if (!sites->of_stack || !sites->series || !sites->of_place)
		return false;
	for (i = 0; i < profile->series_count; i++)
		sites->series[profile->series[i].stack] = i;
	return true;
}

static uint32_t place_of(const struct sites_query *query, const struct profile_stack *stack)
{
	uint32_t node = names_site(query->names, stack);

	/* The root has no location: a call stack of nothing, which a damaged profile may hold. */
	if (node == 0)
		return SITES_NONE;
	return places_find(query->places, query->profile->nodes[node].location);
}

static bool grow(struct sites *sites, uint32_t *capacity)
{
	uint32_t wanted = *capacity ? *capacity * 2 : 256;
	struct site *items = realloc(sites->items, wanted * sizeof(*items));

	if (!items)
		return false;
	sites->items = items;
	*capacity = wanted;
	return true;
}

/* Adds a call stack to its site, which exists. */
static void charge(struct sites *sites, uint32_t place, uint32_t stack)
{
	struct site *site = &sites->items[sites->of_place[place]];
	const struct profile_stack *from = &sites->query.profile->stacks[stack];
	struct sites_counts counts;

	sites_stack(sites, stack, &counts);
	sites->of_stack[stack] = place;
	sites->stack_count++;
	site->stack_count++;
	site->inexact |= from->inexact;
	add(&site->counts, &counts);
	add(&sites->totals, &counts);
	if (sites->series[stack] == SITES_NONE) {
		sites->untimed_count++;
		sites->untimed_bytes += profile_live_bytes(&from->counts);
	}
}

static bool group(struct sites *sites)
{
	const struct sites_query *query = &sites->query;
	uint32_t capacity = 0, i;

	for (i = 0; i < query->profile->stack_count; i++) {
		uint32_t place;

		if (query->selected && !query->selected[i])
			continue;
		place = place_of(query, &query->profile->stacks[i]);
		if (place == SITES_NONE)
			continue;
		if (sites->of_place[place] == SITES_NONE) {
			if (sites->count == capacity && !grow(sites, &capacity))
				return false;
			sites->items[sites->count] = (struct site){.place = place};
			sites->of_place[place] = sites->count++;
		}
		charge(sites, place, i);
	}
	return true;
}

bool sites_build(const struct sites_query *query, struct sites **built, struct error *err)
{
	struct sites *sites = calloc(1, sizeof(*sites));

	if (!sites)
		return error_set(err, "no memory for the allocation sites");
	sites->query = *query;
	if (!allocate(sites) || !group(sites)) {
		sites_free(sites);
		return error_set(err, "no memory for %u call stacks", query->profile->stack_count);
	}
	sites_sort(sites, SITES_LIVE);
	*built = sites;
	return true;
}

void sites_free(struct sites *sites)
{
	if (!sites)
		return;
	free(sites->items);
	free(sites->of_stack);
	free(sites->series);
	free(sites->of_place);
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
	for (i = 0; i < all; i++) {
		struct sites_counts counts;

		if (sites->of_stack[i] == SITES_NONE || (site && sites->of_stack[i] != site->place))
			continue;
		sites_stack(sites, i, &counts);
		entries[n++] = (struct entry){sites_value(&counts, key), counts.alloc_bytes, i};
	}
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
		struct sites_counts counts, best;
		struct site *site;

		if (sites->of_stack[i] == SITES_NONE)
			continue;
		site = &sites->items[sites->of_place[sites->of_stack[i]]];
		sites_stack(sites, i, &counts);
		if (site->heaviest != SITES_NONE) {
			sites_stack(sites, site->heaviest, &best);
			if (sites_value(&counts, key) <= sites_value(&best, key))
				continue;
		}
		site->heaviest = i;
	}
}

void sites_sort(struct sites *sites, enum sites_key key)
{
	uint32_t i;

	if (sites->count)
		qsort_r(sites->items, sites->count, sizeof(*sites->items), by_key, &key);
	for (i = 0; i < sites->count; i++)
		sites->of_place[sites->items[i].place] = i;
	find_heaviest(sites, key);
}
