/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * range_leaf.h - how the recorder keeps the ranges of addresses that the program mapped itself (libpmem/ranges.h).
 *
 * Apart, for the tool reads it in a running process (format_header.ranges), where it changes meanwhile: what comes out must be checked.
 */
#ifndef PMEM_CORE_RANGE_LEAF_H
#define PMEM_CORE_RANGE_LEAF_H
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum {
	RANGES_LEAF = 127, /* ranges in a leaf */
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
	uint64_t inherited; /* the caller's: ranges that were born no later are a parent process's */
	_Atomic uint32_t count; /* of ranges; may be read without the lock */
	_Atomic size_t size;	/* bytes of memory; likewise */
};

#endif
