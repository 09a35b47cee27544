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

enum {
	RANGES_LEAF = 127, /* ranges in a leaf */
	RANGES_MAX = 1 << 20, /* 32 MiB; Linux allows a process 65,530 mappings, if nobody changed that */
};

struct range {
	uint64_t start;
	uint64_t end;	/* > start */
	uint64_t birth; /* the caller's, see ranges_cut() */
	uint32_t owner; /* likewise */
	uint32_t reserved;
};

struct ranges_leaf {
	struct ranges_leaf *next_free;
	uint32_t count; /* > 0, unless it is free */
	uint32_t reserved;
	struct range items[RANGES_LEAF]; /* by address */
};

/* Begins zeroed. */
struct ranges {
	struct ranges_leaf **leaves; /* by address */
	uint32_t leaf_count;
	uint32_t leaf_room;
	struct ranges_leaf *free_leaves;
	_Atomic uint32_t count; /* of ranges; may be read without the lock */
	_Atomic size_t size;	/* bytes of memory; likewise */
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
