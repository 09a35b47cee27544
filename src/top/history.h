/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * history.h - live bytes and resident set over time: the profile's timeline, and what was seen since the process is watched.
 *
 * Times are nanoseconds since the start of recording.  The recorder notes no resident set while the program does not allocate; who
 * watches does.
 */
#ifndef PMEM_TOP_HISTORY_H
#define PMEM_TOP_HISTORY_H
#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"

enum { HISTORY_POINTS = 4096 };

struct history_point {
	uint64_t time_ns;
	uint64_t live_bytes;
	uint64_t rss_bytes; /* 0 = not known */
};

/* All 0 = empty. */
struct history {
	struct history_point points[HISTORY_POINTS]; /* by time */
	unsigned count;
};

/* Adds a point that is not before the last one.  When it is full, every other point goes. */
void history_add(struct history *history, const struct history_point *point);

/* A part of the time, in count cells. */
struct history_cells {
	uint64_t since_ns;
	uint64_t until_ns;
	unsigned count;
};

/* What was last known at the end of each cell; SPARK_UNKNOWN: nothing. */
void history_read(const struct history *history, const struct profile *profile,
		  const struct history_cells *cells, uint64_t *live, uint64_t *rss);

#endif
