/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * retained.c - free memory that stays resident, see retained.h.
 *
 * The lines of the resident set are of one moment, often that of the exit.  What was before is in the timeline: resident set and live bytes at
 * each point, of which the difference, without what is no heap, was free.
 *
 * A point that is due is taken by the first events after that: in a time without any there is none, and what the next one says was so all the
 * while.  But for the block whose free made these events, as far as anyone knows: it counts as live.
 */
#include "profile/retained.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "profile/growth.h"
#include "profile/trend.h"

enum { MOMENTS_MIN = 4, USED_PART = 2 /* of what is used so much must be free: a half */ };

/* What the process is made of beside free memory. */
struct makeup {
	uint64_t other;	   /* bytes that are no heap */
	uint64_t live;	   /* resident live bytes when that was measured */
	uint64_t rounding; /* what the allocator added to them */
};

/* How it was over a part of the time, each point standing for the time until the next one. */
struct held {
	uint64_t moments; /* points, and as many as there would have been in times without events */
	uint64_t time_ns;
	uint64_t enough_ns; /* of it, in which enough was free */
	double free;	    /* bytes x ns, over that */
	double used;
};

static struct makeup makeup_of(const struct rss *rss)
{
	const uint64_t *lines = rss->lines.lines;
	uint64_t heap = lines[FORMAT_RSS_LIVE] + lines[FORMAT_RSS_ROUNDING] +
			lines[FORMAT_RSS_FRAGMENTS] + lines[FORMAT_RSS_KEPT];

	return (struct makeup){.other = rss->lines.total > heap ? rss->lines.total - heap : 0,
			       .live = lines[FORMAT_RSS_LIVE],
			       .rounding = lines[FORMAT_RSS_ROUNDING]};
}

/* Live bytes with what the allocator adds to them: as much in proportion as when that was measured. */
static uint64_t used_by(const struct makeup *makeup, uint64_t live)
{
	double added = makeup->live ? (double)makeup->rounding / (double)makeup->live : 0;

	return live + (uint64_t)((double)live * added);
}

static uint64_t free_at(const struct makeup *makeup, const struct profile_point *point)
{
	uint64_t rest = makeup->other + used_by(makeup, point->live_bytes);

	return point->rss_bytes > rest ? point->rss_bytes - rest : 0;
}

static bool is_enough(uint64_t free_bytes, uint64_t used_bytes, uint64_t least)
{
	return free_bytes >= least && free_bytes >= used_bytes / USED_PART;
}

static void hold(const struct makeup *makeup, const struct profile_point *point, uint64_t time_ns,
		 struct held *held)
{
	uint64_t free_bytes = free_at(makeup, point);
	uint64_t used_bytes = used_by(makeup, point->live_bytes);

	held->time_ns += time_ns;
	/* Three quarters: the resident set and the live bytes of a point are not of one instant. */
	if (!is_enough(free_bytes, used_bytes, RETAINED_GROWING / 4 * 3))
		return;
	held->enough_ns += time_ns;
	held->free += (double)free_bytes * (double)time_ns;
	held->used += (double)used_bytes * (double)time_ns;
}

/* What one call can free at most: the largest block that there was. */
static uint64_t largest_block(const struct profile *profile)
{
	uint64_t largest = 0;

	for (uint32_t i = 0; i < profile->stack_count; i++) {
		const struct profile_stack *stack = &profile->stacks[i];
		uint64_t sizes[FORMAT_CLASSES], size = 0;
		unsigned count = profile_sizes(profile, stack, sizes) ? FORMAT_CLASSES : 0;

		while (count && !sizes[count - 1])
			count--;
		if (count == FORMAT_CLASSES) /* it has no upper end */
			size = stack->counts.alloc_bytes;
		else if (count)
			size = UINT64_C(1) << (FORMAT_SIZE_SHIFT + count - 1);
		largest = size > largest ? size : largest;
	}
	return largest;
}

/* What was so from when a point was due until there was one, and of a process that runs until now. */
struct quiet {
	uint64_t interval_ns; /* 0: not known */
	uint64_t block;
	struct profile_point now;
	bool is_now;
};

static struct quiet quiet_of(const struct profile *profile, const struct rss *rss)
{
	return (struct quiet){
		.interval_ns = atomic_load_explicit(&profile->header.interval_ns,
						    memory_order_relaxed),
		.block = largest_block(profile),
		.now = {.time_ns = profile->duration_ns,
			.live_bytes = profile_live_bytes(&profile->totals),
			.rss_bytes = rss->lines.total},
		.is_now = rss->is_now,
	};
}

/* False: there is no such time after point i. */
static bool find_quiet(const struct profile *profile, const struct quiet *quiet, uint32_t i,
		       struct profile_point *point)
{
	bool last = i + 1 == profile->point_count;

	if (!quiet->interval_ns || (last && !quiet->is_now))
		return false;
	*point = last ? quiet->now : profile->points[i + 1];
	if (!last)
		point->live_bytes += quiet->block;
	return point->time_ns > profile->points[i].time_ns + quiet->interval_ns;
}

/* Of a time the part from middle_ns on. */
static uint64_t late_part(uint64_t begin_ns, uint64_t end_ns, uint64_t middle_ns)
{
	begin_ns = begin_ns > middle_ns ? begin_ns : middle_ns;
	return end_ns > begin_ns ? end_ns - begin_ns : 0;
}

/* The second half of the time. */
static struct held hold_late(const struct profile *profile, const struct makeup *makeup,
			     const struct quiet *quiet)
{
	uint64_t middle_ns = profile->duration_ns / 2;
	struct held held = {.moments = profile->point_count};

	for (uint32_t i = 0; i < profile->point_count; i++) {
		const struct profile_point *point = &profile->points[i];
		uint64_t end_ns = i + 1 < profile->point_count ? point[1].time_ns
							       : profile->duration_ns;
		struct profile_point next;

		if (find_quiet(profile, quiet, i, &next)) {
			end_ns = point->time_ns + quiet->interval_ns;
			held.moments += (next.time_ns - end_ns) / quiet->interval_ns;
			if (next.rss_bytes)
				hold(makeup, &next, late_part(end_ns, next.time_ns, middle_ns),
				     &held);
		}
		if (point->rss_bytes)
			hold(makeup, point, late_part(point->time_ns, end_ns, middle_ns), &held);
	}
	return held;
}

static void read_growth(const struct profile *profile, const struct makeup *makeup,
			struct retained *retained)
{
	struct robust_point *points = calloc((size_t)profile->point_count + 1, sizeof(*points));
	struct trend trend;
	size_t count = 0;
	double most = 0;

	for (uint32_t i = 0; points && i < profile->point_count; i++) {
		const struct profile_point *point = &profile->points[i];
		double value = (double)free_at(makeup, point);

		if (!point->rss_bytes)
			continue;
		points[count++] = (struct robust_point){growth_seconds(point->time_ns), value};
		most = value > most ? value : most;
	}
	if (points && !growth_too_little(profile, points, count)) {
		trend_read(points, count, growth_least(most), &trend);
		if (trend.class == TREND_LEAK && trend.course == TREND_RISING) {
			retained->per_minute = growth_rate_per_minute(trend.rate);
			retained->since_ns = growth_ns(trend.since);
		}
	}
	free(points);
}

bool retained_find(const struct profile *profile, const struct rss *rss, struct retained *retained)
{
	const uint64_t *lines = rss->lines.lines;
	struct makeup makeup = makeup_of(rss);
	struct quiet quiet;
	struct held held;

	*retained = (struct retained){.rss = *rss,
				      .used_bytes = makeup.live + makeup.rounding,
				      .free_bytes = lines[FORMAT_RSS_FRAGMENTS] +
						    lines[FORMAT_RSS_KEPT]};
	if (profile->header.sample_bytes ||
	    !is_enough(retained->free_bytes, retained->used_bytes, RETAINED_GROWING))
		return false;
	quiet = quiet_of(profile, rss);
	held = hold_late(profile, &makeup, &quiet);
	if (held.moments < MOMENTS_MIN || held.enough_ns < held.time_ns / 2 || !held.enough_ns)
		return false;
	read_growth(profile, &makeup, retained);
	/* Most was given back at the end: then what was before counts. */
	if ((double)retained->used_bytes < held.used / (double)held.enough_ns / 2) {
		retained->given_back = true;
		retained->used_bytes = (uint64_t)(held.used / (double)held.enough_ns);
		retained->free_bytes = (uint64_t)(held.free / (double)held.enough_ns);
	}
	return is_enough(retained->free_bytes, retained->used_bytes,
			 retained->per_minute ? RETAINED_GROWING : RETAINED_LEAST);
}
