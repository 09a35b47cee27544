/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sites.h - call stacks grouped by allocation site: what each place in the user's own code holds.
 *
 * A call stack belongs to exactly one site, that of its innermost own frame, however often a recursive function
 * is on it: sums over sites are the sums over call stacks.
 *
 * Lines and inlined functions take time.  A program has thousands of sites and a screen shows ten: so sites are whole functions at
 * first, and by sites_sort() those that matter become lines.
 */
#ifndef PMEM_PROFILE_SITES_H
#define PMEM_PROFILE_SITES_H
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "profile/growth.h"
#include "profile/places.h"
#include "profile/profile.h"

enum sites_key {
	SITES_LIVE,
	SITES_PEAK,
	SITES_ALLOC,
	SITES_COUNT, /* calls */
	SITES_TEMPORARY,
	SITES_GROWTH,
	SITES_KEYS,
};

/* "live" and so on; NULL after the last. */
const char *sites_key_name(enum sites_key key);

/* False: no key has this name. */
bool sites_key_find(const char *name, enum sites_key *key);

struct sites_counts {
	uint64_t live_bytes;
	uint64_t live_count;
	uint64_t alloc_bytes;
	uint64_t alloc_count;
	uint64_t temporary_count;
	int64_t peak_bytes; /* share of the process's peak */
	int64_t peak_count;
	int64_t growth; /* change of live bytes over the query's interval */
	/* Over how long that was measured, as samples are not always of the interval's ends; in a comparison of moments: when a
	 * sample is from.  Of the call stacks the least and the most.  0: the timeline does not say. */
	uint64_t least_ns;
	uint64_t most_ns;
};

/* Adds the counts of one to those of many. */
void sites_add(struct sites_counts *sum, const struct sites_counts *counts);

/* What the key sorts by. */
int64_t sites_value(const struct sites_counts *counts, enum sites_key key);

struct site {
	uint32_t place; /* places_get() */
	uint32_t stack_count;
	uint32_t heaviest; /* index in stacks: the one with the most of the key sorted by; live at first */
	int64_t heaviest_value; /* what it has of that */
	uint32_t rough_count; /* of its call stacks those whose lines and inlined functions were not looked up */
	bool inexact; /* one of its call stacks is */
	struct sites_counts counts;
};

enum sites_detail {
	/* Sites that have a ten-thousandth of the total or more of what they are sorted by are lines, and at least so many of the largest
	 * as SITES_EXACT_ROWS says; the rest may be whole functions. */
	SITES_LARGE,
	SITES_ALL,
};

enum { SITES_EXACT_ROWS = 16 };

struct sites_query {
	const struct profile *profile;
	struct names *names;
	struct places *places;
	const bool *selected; /* by index of the call stack; NULL = all */
	/* Growth is over this interval.  If it does not reach to the profile's end, live bytes are those at its end. */
	struct growth_interval interval;
	/* True: what was allocated is that of the interval too.  Numbers of calls and blocks, temporary allocations and
	 * the peak are then not known and 0. */
	bool only_interval;
	enum sites_detail detail;
};

struct sites {
	struct sites_query query;
	struct site *items;
	uint32_t count;
	struct sites_counts totals;
	uint32_t stack_count; /* selected */
	uint32_t untimed_count; /* of them those that the timeline does not show: their growth counts as 0 */
	uint64_t untimed_bytes; /* their live bytes at the end */
	enum sites_key sorted;	/* SITES_KEYS: the order is none */
	uint32_t *of_stack;	/* place of the site by call stack; SITES_NONE: not selected */
	bool *is_rough;		/* by call stack */
	uint32_t *of_place;	/* index in items by place; SITES_NONE: no site */
	uint32_t *series; /* index in the profile's series by call stack; SITES_NONE: has none */
};

#define SITES_NONE UINT32_MAX

bool sites_build(const struct sites_query *query, struct sites **sites, struct error *err);
void sites_free(struct sites *sites);

/* The figures of one call stack under the query. */
void sites_stack(const struct sites *sites, uint32_t stack, struct sites_counts *counts);

/* Looks up lines and inlined functions of what is large by any of the keys (bits 1 << key): in one pass, which is faster than by
 * sorting by one after another.  The order is none then. */
void sites_refine(struct sites *sites, unsigned keys);

/* The same of the call stacks that are true in marked[stack_count]: for who shows them by figures that are no key.  False: nothing was left
 * to be looked up. */
bool sites_refine_stacks(struct sites *sites, const bool *marked);

/* Largest first; equal ones by bytes allocated, then in the order of the profile.  Sets heaviest.  Places of the sites may change. */
void sites_sort(struct sites *sites, enum sites_key key);

/* True if the site is what the loader's start-up of libraries allocated, without a frame of the user's: libstdc++'s reserve for
 * exceptions, in every C++ program.  Nobody is to blame for that. */
bool sites_is_start_up(const struct sites *sites, const struct site *site);

/* Who makes a heap grow. */
struct sites_grower {
	const struct site *site;
	uint64_t growth;     /* of the site, over the query's interval */
	uint64_t all_growth; /* of all; others may shrink: never less than the site's */
	uint64_t live_bytes; /* of the site at the interval's end */
};

/* The site that makes most of the growth of the query's interval: one answer for all who name it.  False: none grew.
 * sites_refine() by SITES_GROWTH, or sites_sort(), comes before. */
bool sites_find_grower(const struct sites *sites, struct sites_grower *grower);

/* The selected call stack with the most of the key, as sites_stacks() has it first; SITES_NONE: there is none. */
uint32_t sites_heaviest(const struct sites *sites, enum sites_key key);

/* The selected call stacks of one site (NULL: of all), largest first: array of *count indexes in stacks,
 * to be freed; NULL: no memory. */
uint32_t *sites_stacks(const struct sites *sites, const struct site *site, enum sites_key key,
		       uint32_t *count);

#endif
