/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * diff.h - what changed between two profiles, or between two moments of one.
 *
 * Call stacks are matched by the names of their frames (diff_tree.h), inlined ones too; those of one profile that have the
 * same names are summed first, whatever entry of the allocator they called.  A site is a function here, without its line.
 *
 * Of a moment before the end only live and allocated bytes are known, and only of the call stacks that the series have.
 * The others are left out on both sides, and counted.
 */
#ifndef PMEM_PROFILE_DIFF_H
#define PMEM_PROFILE_DIFF_H
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "profile/names.h"
#include "profile/places.h"
#include "profile/profile.h"
#include "profile/sites.h"

enum { DIFF_A, DIFF_B, DIFF_SIDES };

#define DIFF_NONE UINT32_MAX
#define DIFF_END UINT64_MAX

struct diff_side {
	const struct profile *profile;
	struct names *names;
	struct places *places;
	const bool *selected; /* by index of the call stack; NULL = all */
	uint64_t time_ns; /* the moment, since start; DIFF_END, or the duration or more: the last state */
};

struct diff_query {
	struct diff_side sides[DIFF_SIDES]; /* profile, names and places may be the same */
	bool fold_recursion;
};

enum diff_state { DIFF_MATCHED, DIFF_NEW, DIFF_GONE };

/* Call stacks with the same names, or all call stacks of a site. */
struct diff_row {
	struct sites_counts counts[DIFF_SIDES];
	uint32_t stack_count[DIFF_SIDES];
	/* Index of the call stack that stands for the row; of a site's row that of its largest change.  DIFF_NONE: has none. */
	uint32_t stack[DIFF_SIDES];
	uint64_t largest; /* of a site's row: how much those changed */
	uint32_t site;	  /* equal for rows of one site, and in the site's own row */
	bool inexact;	  /* one of its call stacks is */
};

/* Matched rows of call stacks, and the bytes allocated in them. */
struct diff_quality {
	uint32_t matched;
	uint32_t fresh; /* only in B */
	uint32_t gone;	/* only in A */
	uint64_t matched_bytes[DIFF_SIDES];
	uint64_t fresh_bytes;
	uint64_t gone_bytes;
};

struct diff {
	struct diff_query query;
	bool is_timed; /* only live_bytes and alloc_bytes are known */
	struct diff_row *stacks;
	uint32_t stack_count;
	struct diff_row *sites;
	uint32_t site_count;
	struct sites_counts sums[DIFF_SIDES]; /* over the rows */
	/* Of the process; if call stacks are selected, or a moment is not on the timeline: sums. */
	struct sites_counts totals[DIFF_SIDES];
	struct diff_quality quality;
	uint32_t left_out;	 /* call stacks that the series do not have */
	uint64_t left_out_bytes; /* live in them at the end */
};

bool diff_build(const struct diff_query *query, struct diff **diff, struct error *err);
void diff_free(struct diff *diff);

/* True if the moment of a side is before the end. */
bool diff_side_is_timed(const struct diff_side *side);

/* That moment, or the end, since start. */
uint64_t diff_side_moment(const struct diff_side *side);

/* True if all samples are of the moments compared: no older ones were dropped there. */
bool diff_is_exact(const struct diff *diff);

/* True if call stacks without a series are left out on a side: it is of a moment, or compared with a moment of the same profile. */
bool diff_needs_series(const struct diff *diff, unsigned index);

/* B - A, of what the key sorts by. */
int64_t diff_change(const struct sites_counts counts[DIFF_SIDES], enum sites_key key);

enum diff_state diff_state(const struct diff_row *row);

/* The side that shows a row: B, A if the row is gone. */
unsigned diff_shown_side(const struct diff_row *row);

/* Sites and call stacks by change, largest growth first; equal ones by bytes allocated in B. */
void diff_sort(struct diff *diff, enum sites_key key);

#endif
