/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * points.c - the points of the timeline in the store, see points.h.
 *
 * Which slot holds what is private memory: order[] lists the slots in use, first those of the points that are kept, from
 * the oldest to the newest, then the free ones.  So a new point's slot is order[kept].
 */
#include "libpmem/points.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "libpmem/loss.h"
#include "libpmem/store.h"
#include "libpmem/thinning.h"

enum { POINTS_MIN = 16 }; /* with fewer slots than that there is no timeline */

static struct {
	uint64_t interval_ns;
	uint64_t last_ns;
	uint32_t kept;
	uint32_t used;
	uint32_t capacity; /* slots that there can be: fewer than POINTS_MAX when memory is exhausted */
	uint16_t order[POINTS_MAX];
	/* Only inside thin(). */
	uint16_t dropped[POINTS_MAX];
	bool drop[POINTS_MAX];
} points;

static uint64_t time_of(uint32_t i)
{
	const struct format_point *point = store_item(FORMAT_POINTS, sizeof(*point),
						      points.order[i]);

	return point ? atomic_load_explicit(&point->time_ns, memory_order_relaxed) : 0;
}

static void say_interval(uint64_t interval_ns)
{
	_Atomic uint64_t *said = &store_head()->interval_ns;

	if (interval_ns > atomic_load_explicit(said, memory_order_relaxed))
		atomic_store_explicit(said, interval_ns, memory_order_relaxed);
}

/* Frees an eighth of the slots: what it costs is spread over as many points. */
static void thin(void)
{
	const struct thinning thinning = {.time_at = time_of,
					  .count = points.kept,
					  .most = points.used / 8 * 7,
					  .drop = points.drop};
	uint32_t i, kept = 0, dropped = 0;
	uint64_t spacing_ns;

	memset(points.drop, 0, sizeof(points.drop));
	thinning_choose(&thinning, &spacing_ns);
	for (i = 0; i < points.kept; i++)
		if (points.drop[i])
			points.dropped[dropped++] = points.order[i];
		else
			points.order[kept++] = points.order[i];
	points.kept = kept;
	for (i = 0; i < dropped; i++)
		points.order[kept + i] = points.dropped[i];
	say_interval(spacing_ns);
}

/* Adds a slot to those in use.  Returns false when memory is exhausted. */
static bool take_slot(void)
{
	_Atomic uint32_t *count = &store_head()->point_count;
	uint32_t index;

	if (!store_take(FORMAT_POINTS, sizeof(struct format_point), count, &index) ||
	    index >= POINTS_MAX)
		return false;
	points.order[points.used++] = (uint16_t)index;
	return true;
}

/* Makes order[kept] a slot that may be written. */
static bool make_room(void)
{
	if (points.kept < points.used)
		return true;
	if (points.used < points.capacity && take_slot())
		return true;
	points.capacity = points.used;
	if (points.used < POINTS_MIN)
		return false;
	thin();
	return points.kept < points.used;
}

static void write_point(struct format_point *point, const struct points_values *values)
{
	atomic_store_explicit(&point->time_ns, 0, memory_order_relaxed);
	/* Who reads a new field reads this 0, or the new time, afterwards. */
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&point->live_bytes, values->live_bytes, memory_order_relaxed);
	atomic_store_explicit(&point->alloc_bytes, 0, memory_order_relaxed);
	atomic_store_explicit(&point->alloc_count, 0, memory_order_relaxed);
	atomic_store_explicit(&point->rss_bytes, values->rss_bytes, memory_order_relaxed);
	atomic_store_explicit(&point->lost_events, values->lost_events, memory_order_relaxed);
	atomic_store_explicit(&point->mapped_bytes, values->mapped_bytes, memory_order_relaxed);
	/* Release: the fields; a reader acquires. */
	atomic_store_explicit(&point->time_ns, values->time_ns, memory_order_release);
}

void points_begin(uint64_t interval_ns)
{
	points.interval_ns = interval_ns;
	say_interval(interval_ns);
	points.last_ns = 0;
	points.kept = 0;
	points.used = 0;
	points.capacity = POINTS_MAX;
}

uint64_t points_due_ns(void)
{
	if (points.last_ns == 0)
		return 0;
	return (points.last_ns / points.interval_ns + 1) * points.interval_ns;
}

uint64_t points_last_ns(void)
{
	return points.last_ns;
}

struct format_point *points_add(const struct points_values *values)
{
	struct format_point *point = NULL;

	points.last_ns = values->time_ns;
	if (make_room())
		point = store_item(FORMAT_POINTS, sizeof(*point), points.order[points.kept]);
	if (!point) {
		loss_add(FORMAT_LOSS_TIMELINE, 1);
		return NULL;
	}
	write_point(point, values);
	points.kept++;
	return point;
}
