/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ranges.h - ranges of addresses that do not overlap, each with its owner: an interval map.
 *
 * Sorted leaves of one page each, and a sorted list of them: a search is two binary ones, a change moves at most a page (and seldom
 * the list).  Memory is the recorder's own and is given back only by other ranges' use.  No locks: mappings.c has one.
 */
#ifndef PMEM_LIBPMEM_RANGES_H
#define PMEM_LIBPMEM_RANGES_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/range_leaf.h"

enum {
	RANGES_MAX = 1 << 20, /* 32 MiB; Linux allows a process 65,530 mappings, if nobody changed that */
};

/* What to take away: of the ranges that were born no later than latest the parts in [start, end). */
struct ranges_cut {
	uint64_t start;
	uint64_t end;
	uint64_t latest;
	/* Called for each part, by address; owner and birth are those of its range. */
	void (*taken)(void *context, const struct range *part);
	void *context;
};

/* Adds *range, whose addresses no other one may have.  False: no memory, or RANGES_MAX of them. */
bool ranges_put(struct ranges *ranges, const struct range *range);

/* Returns false if a part that should have stayed, behind the cut, was taken too for want of memory: *taken has been told. */
bool ranges_cut(struct ranges *ranges, const struct ranges_cut *cut);

/* The first range that ends after addr.  False: there is none. */
bool ranges_next(const struct ranges *ranges, uint64_t addr, struct range *range);

#endif
