/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * points.h - the points of the timeline in the store: a bounded number, for any length of run.
 *
 * A point belongs to the cell time / interval.  When POINTS_MAX slots are in use some points are forgotten (thinning.h), never the first
 * one or the latest: the last minutes keep all of theirs, and the whole run its shape.  The slots of the others are free to be written over,
 * and until then a reader sees them.  No point is ever moved: a kill loses at most the one being written.
 *
 * All under LOCK_TIMELINE, but for points_begin() while there is one thread.
 */
#ifndef PMEM_LIBPMEM_POINTS_H
#define PMEM_LIBPMEM_POINTS_H
#include <stdint.h>

#include "core/format.h"

enum { POINTS_MAX = 4096 };

struct points_values {
	uint64_t time_ns; /* later than the point before */
	uint64_t live_bytes;
	uint64_t rss_bytes;
	uint64_t lost_events;
	uint64_t mapped_bytes;
};

/* No points yet, and from now on one for every interval_ns (> 0): at the start of a process. */
void points_begin(uint64_t interval_ns);

/* When the next point is due: in the cell after that of the last one. */
uint64_t points_due_ns(void);

/* Time of the last point; 0 = none yet. */
uint64_t points_last_ns(void);

/* Writes a point.  Returns its place, or NULL (and counts FORMAT_LOSS_TIMELINE) when there is no memory for it. */
struct format_point *points_add(const struct points_values *values);

#endif
