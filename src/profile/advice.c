/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * advice.c - see advice.h.
 */
#include "profile/advice.h"

#include <stdlib.h>

#include "profile/read.h"

/* doc/ADVICE.md */
enum {
	LEAST_PERCENT = 1, /* of the whole */
	LARGE_PERCENT = 10,
	LEAST_CALLS = 10000,
	LEAST_BYTES = 1 << 20,
};

/* What the call stacks of a site have in all. */
struct site_sums {
	uint64_t gains[ADVICE_KINDS];
	uint64_t most[ADVICE_KINDS];   /* of one call stack */
	uint32_t stacks[ADVICE_KINDS]; /* that one */
	uint64_t frees;
	uint64_t moved;
	uint64_t steps;
	uint64_t grown; /* blocks of realloc() that grew no further, and their bytes */
	uint64_t grown_bytes;
	uint64_t lifetimes[FORMAT_CLASSES];
};

struct search {
	const struct sites *sites;
	const struct pinned *pinned;
	struct site_sums *sums; /* by index of the site */
	uint64_t wholes[ADVICE_KINDS];
	struct advices *found;
};

/* --- sums ------------------------------------------------------------------------------------ */

static void add_gain(struct site_sums *sums, enum advice_kind kind, uint32_t stack, uint64_t gain)
{
	add_limited(&sums->gains[kind], gain);
	if (gain <= sums->most[kind])
		return;
	sums->most[kind] = gain;
	sums->stacks[kind] = stack;
}

static uint64_t less(uint64_t whole, uint64_t part)
{
	return whole > part ? whole - part : 0;
}

static void add_reallocs(struct site_sums *sums, const struct profile_stack *stack,
			 const struct profile_realloc *reallocs)
{
	add_limited(&sums->moved, reallocs->moved_count);
	add_limited(&sums->steps, reallocs->count);
	add_limited(&sums->grown, less(stack->counts.alloc_count, reallocs->chained_count));
	add_limited(&sums->grown_bytes, less(stack->counts.alloc_bytes, reallocs->chained_bytes));
}

static void add_stack(const struct search *search, uint32_t index)
{
	const struct sites *sites = search->sites;
	const struct profile *profile = sites->query.profile;
	const struct profile_stack *stack = &profile->stacks[index];
	const struct profile_realloc *reallocs = profile_reallocs(profile, stack);
	uint64_t lifetimes[FORMAT_CLASSES];
	uint32_t place = sites->of_stack[index];
	uint32_t site = place == SITES_NONE ? SITES_NONE : sites->of_place[place];
	struct site_sums *sums = site == SITES_NONE ? NULL : &search->sums[site];

	if (!sums)
		return;
	add_gain(sums, ADVICE_TEMPORARIES, index, stack->counts.temporary_count);
	add_gain(sums, ADVICE_FOREIGN, index, stack->counts.foreign_count);
	add_limited(&sums->frees, stack->counts.free_count);
	if (search->pinned)
		add_gain(sums, ADVICE_SLACK, index, search->pinned->stacks[index].slack);
	if (reallocs) {
		add_gain(sums, ADVICE_REALLOC, index, reallocs->copied_bytes);
		add_reallocs(sums, stack, reallocs);
	}
	if (profile_lifetimes(profile, stack, lifetimes))
		for (unsigned i = 0; i < FORMAT_CLASSES; i++)
			add_limited(&sums->lifetimes[i], lifetimes[i]);
}

static void find_wholes(struct search *search)
{
	const struct profile_counts *totals = &search->sites->query.profile->totals;
	const uint64_t *lines = search->pinned ? search->pinned->rss.lines.lines : NULL;

	search->wholes[ADVICE_TEMPORARIES] = totals->alloc_count;
	search->wholes[ADVICE_REALLOC] = totals->alloc_bytes;
	search->wholes[ADVICE_FOREIGN] = totals->free_count;
	if (lines)
		search->wholes[ADVICE_SLACK] = lines[FORMAT_RSS_LIVE] + lines[FORMAT_RSS_ROUNDING];
}

/* --- what is worth it ------------------------------------------------------------------------ */

static bool is_part(uint64_t gain, uint64_t whole, unsigned percent)
{
	return whole && gain >= whole / 100 * percent + whole % 100 * percent / 100;
}

static bool is_worth(const struct search *search, const struct site *site,
		     const struct site_sums *sums, enum advice_kind kind)
{
	uint64_t gain = sums->gains[kind];
	uint64_t least = advice_is_bytes(kind) ? LEAST_BYTES : LEAST_CALLS;

	if (gain < least || !is_part(gain, search->wholes[kind], LEAST_PERCENT))
		return false;
	if (kind == ADVICE_TEMPORARIES)
		return gain >= site->counts.alloc_count / 2;
	if (kind == ADVICE_FOREIGN)
		return gain >= sums->frees / 2;
	return true;
}

bool advice_is_large(const struct advice *advice)
{
	return is_part(advice->gain, advice->whole, LARGE_PERCENT);
}

/* The end of the class with the block in the middle; 0: none was measured, or the class is open. */
static uint64_t median_ns(const uint64_t lifetimes[FORMAT_CLASSES])
{
	uint64_t sum = 0, seen = 0;

	for (unsigned i = 0; i < FORMAT_CLASSES; i++)
		add_limited(&sum, lifetimes[i]);
	for (unsigned i = 0; sum && i + 1 < FORMAT_CLASSES; i++) {
		add_limited(&seen, lifetimes[i]);
		if (seen >= sum / 2 + sum % 2)
			return UINT64_C(1) << (FORMAT_LIFETIME_SHIFT + i);
	}
	return 0;
}

static uint64_t mean(uint64_t bytes, uint64_t count)
{
	return count ? bytes / count : 0;
}

static void fill(struct advice *advice, const struct site_sums *sums)
{
	const struct sites_counts *counts = &advice->site->counts;

	switch (advice->kind) {
	case ADVICE_TEMPORARIES:
		advice->mean_bytes = mean(counts->alloc_bytes, counts->alloc_count);
		advice->lifetime_ns = median_ns(sums->lifetimes);
		break;
	case ADVICE_REALLOC:
		advice->blocks = sums->moved;
		advice->steps = sums->steps;
		advice->grown = sums->grown;
		advice->mean_bytes = mean(sums->grown_bytes, sums->grown);
		break;
	case ADVICE_SLACK:
		advice->blocks = counts->live_count;
		advice->mean_bytes = mean(counts->live_bytes, counts->live_count);
		break;
	default:
		advice->blocks = sums->frees;
	}
}

static void add_site(struct search *search, uint32_t index)
{
	const struct site *site = &search->sites->items[index];
	const struct site_sums *sums = &search->sums[index];

	for (unsigned kind = 0; kind < ADVICE_KINDS; kind++) {
		struct advice *advice = &search->found->items[search->found->count];

		if (!is_worth(search, site, sums, (enum advice_kind)kind))
			continue;
		*advice = (struct advice){.kind = (enum advice_kind)kind,
					  .site = site,
					  .stack = sums->stacks[kind],
					  .gain = sums->gains[kind],
					  .whole = search->wholes[kind]};
		fill(advice, sums);
		search->found->count++;
	}
}

static int compare(const void *first, const void *second)
{
	const struct advice *a = first, *b = second;
	double one = (double)a->gain / (double)a->whole, other = (double)b->gain / (double)b->whole;

	if (one != other)
		return one < other ? 1 : -1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return a->site < b->site ? -1 : a->site > b->site;
}

bool advice_find(const struct sites *sites, const struct pinned *pinned, struct advices *advices,
		 struct error *err)
{
	struct search search = {.sites = sites, .pinned = pinned, .found = advices};
	uint32_t stacks = sites->query.profile->stack_count;

	*advices = (struct advices){
		.items = calloc(ADVICE_KINDS * (size_t)sites->count + 1, sizeof(*advices->items))};
	search.sums = calloc((size_t)sites->count + 1, sizeof(*search.sums));
	find_wholes(&search);
	for (uint32_t i = 0; search.sums && advices->items && i < stacks; i++)
		add_stack(&search, i);
	for (uint32_t i = 0; search.sums && advices->items && i < sites->count; i++)
		add_site(&search, i);
	if (search.sums && advices->items) {
		qsort(advices->items, advices->count, sizeof(*advices->items), compare);
		free(search.sums);
		return true;
	}
	free(search.sums);
	advice_free(advices);
	return error_set(err, "no memory for %u sites", sites->count);
}

void advice_free(struct advices *advices)
{
	free(advices->items);
	*advices = (struct advices){.items = NULL};
}

const char *advice_name(enum advice_kind kind)
{
	static const char *const names[ADVICE_KINDS] = {
		[ADVICE_TEMPORARIES] = "temporaries",
		[ADVICE_REALLOC] = "realloc",
		[ADVICE_SLACK] = "slack",
		[ADVICE_FOREIGN] = "foreign_frees",
	};

	return names[kind];
}
