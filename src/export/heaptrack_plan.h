/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * heaptrack_plan.h - single blocks that add up to a call stack's counts.
 *
 * A profile says how many blocks, and how many bytes, a call stack had allocated, had at the peak and has in the end, but not which
 * blocks these were.  The plan is the smallest set of blocks that fits: those that were there at the peak
 * and still are, those of the peak only, those of the end only, and those of neither.
 */
#ifndef PMEM_EXPORT_HEAPTRACK_PLAN_H
#define PMEM_EXPORT_HEAPTRACK_PLAN_H
#include <stdint.h>

#include "profile/profile.h"

enum plan_part {
	PLAN_KEPT,	/* there at the peak and in the end */
	PLAN_PEAK_ONLY, /* freed since the peak */
	PLAN_LIVE_ONLY, /* allocated since the peak */
	PLAN_TEMPORARY, /* freed right after they were allocated, at another time than the peak */
	PLAN_FREED,	/* all others */
	PLAN_PARTS,
};

struct plan_blocks {
	uint64_t count;
	uint64_t bytes; /* of all; 0 if there are none */
};

struct plan {
	struct plan_blocks parts[PLAN_PARTS];
};

/* Bytes at the peak and in the end come out exactly, if there are blocks to hold them.  share: from 0 to 1, so many of the blocks
 * of each part are enough, but at least one where there is one; those of the peak and the end become larger then. */
void plan_make(const struct profile_counts *counts, double share, struct plan *plan);

/* The blocks have this size, but for some that are one byte larger.  count is not 0. */
uint64_t plan_size(const struct plan_blocks *blocks);
uint64_t plan_large_count(const struct plan_blocks *blocks);

#endif
