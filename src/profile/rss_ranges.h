/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rss_ranges.h - what a running process has mapped itself, read from its recorder's memory.
 */
#ifndef PMEM_PROFILE_RSS_RANGES_H
#define PMEM_PROFILE_RSS_RANGES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/waterfall.h"

struct rss_ranges {
	struct waterfall_range *items; /* by address; to be freed */
	size_t count;
	size_t at; /* of rss_ranges_next() */
};

struct rss_ranges_source {
	live_cells_copy *copy; /* of the process's memory */
	void *context;
	uint64_t address; /* format_header.ranges */
};

/* What cannot be read, or makes no sense as the process is changing it, is left out. */
void rss_ranges_read(struct rss_ranges *ranges, const struct rss_ranges_source *source);

/* The first range that ends after addr, which grows.  False: there are no more. */
bool rss_ranges_next(struct rss_ranges *ranges, uint64_t addr, struct waterfall_range *range);

#endif
