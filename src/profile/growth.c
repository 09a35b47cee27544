/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * growth.c - what the timeline says: whether the heap grows, and what a call stack held at a time.
 *
 * The line is that of Theil and Sen: the median of the slopes between all pairs of points, which a
 * third of wild points cannot move.  Of all parts of the timeline that reach to its end, the longest one that is
 * close to its line counts: so a program that loads its data first and then grows is said to
 * grow since then, at the later rate.
 */
#include "profile/growth.h"

#include <stdlib.h>

/* AT_EXIT_MAX: points that freeing everything at exit may take. */
enum {
	POINTS = 64,
	POINTS_MIN = 4,
	AT_EXIT_MAX = 3,
	RISING = 9,
	PAIRS = POINTS * (POINTS - 1) / 2
};

#define SECOND_NS UINT64_C(1000000000)
#define MINUTE_NS (60 * SECOND_NS)
#define SPAN_MIN_NS (2 * SECOND_NS)
#define NOISE_BYTES 65536.0 /* distance from the line that is never worth a word */

struct point {
	double time; /* s */
	double live;
};

struct line {
	double slope; /* bytes/s */
	double base;  /* at time 0 */
};

/* The C library's own need libm. */
static double larger(double a, double b)
{
	return a > b ? a : b;
}

static double distance(double a, double b)
{
	return a > b ? a - b : b - a;
}

static int64_t rounded(double value)
{
	const double limit = 9.0e18; /* below 2^63 */

	if (value > limit || value < -limit)
		return value > 0 ? INT64_MAX : INT64_MIN;
	return (int64_t)(value < 0 ? value - 0.5 : value + 0.5);
}

static int by_value(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

static double median(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), by_value);
	return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static struct line fit(const struct point *points, size_t count)
{
	double values[PAIRS];
	struct line line;
	size_t i, j, n = 0;

	for (i = 0; i < count; i++)
		for (j = i + 1; j < count; j++)
			if (points[j].time > points[i].time)
				values[n++] = (points[j].live - points[i].live) /
					      (points[j].time - points[i].time);
	line.slope = n ? median(values, n) : 0;
	for (i = 0; i < count; i++)
		values[i] = points[i].live - line.slope * points[i].time;
	line.base = median(values, count);
	return line;
}

static double span(const struct point *points, size_t count)
{
	return points[count - 1].time - points[0].time;
}

static double highest(const struct point *points, size_t count)
{
	double high = 0;
	size_t i;

	for (i = 0; i < count; i++)
		high = larger(high, points[i].live);
	return high;
}

static double lowest(const struct point *points, size_t count)
{
	double low = points[0].live;
	size_t i;

	for (i = 1; i < count; i++)
		low = points[i].live < low ? points[i].live : low;
	return low;
}

/* True if no point is far from the line: a twentieth of the heap, or a tenth of what the line rises. */
static bool is_close(const struct point *points, size_t count, const struct line *line)
{
	double allowed = larger(NOISE_BYTES, highest(points, count) / 20);
	size_t i;

	allowed = larger(allowed, distance(line->slope, 0) * span(points, count) / 10);
	for (i = 0; i < count; i++)
		if (distance(points[i].live, line->base + line->slope * points[i].time) > allowed)
			return false;
	return true;
}

/* A rise that is no more than the points' usual distance from the line, or a hundredth of the heap, is none. */
static enum growth_kind kind_of(const struct point *points, size_t count, const struct line *line)
{
	double rise = line->slope * span(points, count);
	double distances[POINTS], noise;
	size_t i;

	for (i = 0; i < count; i++)
		distances[i] = distance(points[i].live, line->base + line->slope * points[i].time);
	noise = larger(highest(points, count) / 100, 3 * median(distances, count));
	if (distance(rise, 0) <= noise)
		return GROWTH_STEADY;
	return rise > 0 ? GROWTH_GROWING : GROWTH_SHRINKING;
}

/* A part of the profile's points. */
struct range {
	uint32_t first;
	uint32_t end; /* behind the last */
};

static struct range range_of(const struct profile *profile, const struct growth_interval *interval)
{
	const struct profile_point *from = profile->points;
	struct range range = {0, profile->point_count};

	while (range.first < range.end && from[range.first].time_ns < interval->since_ns)
		range.first++;
	while (range.end > range.first && from[range.end - 1].time_ns > interval->until_ns)
		range.end--;
	return range;
}

/* True if the process's exit may be among the last points. */
static bool has_exit(const struct profile *profile, const struct range *range)
{
	return range->end == profile->point_count &&
	       atomic_load_explicit(&profile->header.state, memory_order_relaxed) ==
		       FORMAT_STATE_ENDED;
}

/* Where the points are that the trend may use: in a process that ended, last ones that are far below those before
 * them are the heap being given back at exit. */
static uint32_t end_of_trend(const struct profile *profile, const struct range *range)
{
	const struct profile_point *from = profile->points;
	uint32_t last = range->end;

	if (!has_exit(profile, range))
		return range->end;
	while (last - range->first > POINTS_MIN && range->end - last < AT_EXIT_MAX) {
		if (from[last - 1].live_bytes < from[last - 2].live_bytes / 2)
			return last - 1;
		last--;
	}
	return range->end;
}

/* The range's points, thinned out to POINTS. */
static size_t choose(const struct profile *profile, const struct range *range,
		     struct point points[POINTS])
{
	size_t all = range->end - range->first, count = all < POINTS ? all : POINTS, i;

	for (i = 0; i < count; i++) {
		size_t at = range->first + (count == 1 ? 0 : i * (all - 1) / (count - 1));

		points[i].time = (double)profile->points[at].time_ns / (double)SECOND_NS;
		points[i].live = (double)profile->points[at].live_bytes;
	}
	return count;
}

/* True if nearly all later points are higher than the earlier ones: growth, though along no line. */
static bool is_rising(const struct point *points, size_t count)
{
	size_t i, j, up = 0, down = 0;

	for (i = 0; i < count; i++)
		for (j = i + 1; j < count; j++) {
			up += points[j].live > points[i].live;
			down += points[j].live < points[i].live;
		}
	return up > RISING * down && points[count - 1].live > points[0].live + NOISE_BYTES;
}

static void describe(const struct point *points, size_t count, struct growth *growth)
{
	growth->since_ns = (uint64_t)rounded(points[0].time * (double)SECOND_NS);
	growth->low = (uint64_t)rounded(lowest(points, count));
	growth->high = (uint64_t)rounded(highest(points, count));
}

static void read_trend(const struct profile *profile, const struct range *range,
		       struct growth *growth)
{
	struct point points[POINTS];
	size_t count = choose(profile, range, points), i;
	double whole, least = (double)SPAN_MIN_NS / (double)SECOND_NS;

	*growth = (struct growth){.kind = GROWTH_UNKNOWN};
	if (count < POINTS_MIN || span(points, count) < least)
		return;
	whole = span(points, count);
	for (i = 0; count - i >= POINTS_MIN; i++) {
		struct line line;

		/* A straight end that is short against the whole may be chance. */
		if (span(points + i, count - i) < larger(least, whole / 5))
			break;
		line = fit(points + i, count - i);
		if (!is_close(points + i, count - i, &line))
			continue;
		growth->kind = kind_of(points + i, count - i, &line);
		growth->per_minute = rounded(line.slope * 60);
		describe(points + i, count - i, growth);
		return;
	}
	growth->kind = is_rising(points, count) ? GROWTH_GROWING : GROWTH_VARYING;
	if (growth->kind == GROWTH_GROWING)
		growth->per_minute = rounded(fit(points, count).slope * 60);
	describe(points, count, growth);
}

/* True if live bytes are less than half of the growth above where it began. */
static bool gives_back(const struct growth *growth, uint64_t live_bytes)
{
	return growth->kind == GROWTH_GROWING &&
	       live_bytes < growth->low + (growth->high - growth->low) / 2;
}

/* A heap of which most stays until the end, such as a cache, may hide that what grew was given back at exit: the trend is
 * then that of the points up to the highest of the last ones. */
static bool read_before_exit(const struct profile *profile, struct range *range,
			     struct growth *growth)
{
	const struct profile_point *from = profile->points;
	struct range before = *range;
	uint32_t end = range->end;

	if (!has_exit(profile, range))
		return false;
	while (end - range->first > POINTS_MIN && range->end - end < AT_EXIT_MAX) {
		end--;
		if (from[end - 1].live_bytes > from[before.end - 1].live_bytes)
			before.end = end;
	}
	if (before.end == range->end)
		return false;
	read_trend(profile, &before, growth);
	if (!gives_back(growth, from[range->end - 1].live_bytes))
		return false;
	*range = before;
	return true;
}

/* Ends the growth before it was given back.  At the profile's end growth_at() tells the final state: so before it. */
static void end_before_exit(const struct profile *profile, const struct range *range,
			    struct growth *growth)
{
	uint64_t last_ns = profile->points[range->end - 1].time_ns;

	if (last_ns >= profile->duration_ns && profile->duration_ns)
		last_ns = profile->duration_ns - 1;
	growth->freed_at_end = true;
	growth->until_ns = last_ns;
}

void growth_of_process(const struct profile *profile, const struct growth_interval *interval,
		       struct growth *growth)
{
	struct range range = range_of(profile, interval);
	bool reaches_end = !profile->is_live && range.end == profile->point_count &&
			   interval->until_ns >= profile->duration_ns;
	bool freed = read_before_exit(profile, &range, growth);

	if (!freed) {
		range.end = end_of_trend(profile, &range);
		read_trend(profile, &range, growth);
		freed = reaches_end && gives_back(growth, profile_live_bytes(&profile->totals));
	}
	growth->until_ns = interval->until_ns;
	if (freed)
		end_before_exit(profile, &range, growth);
}

const char *growth_kind_name(enum growth_kind kind)
{
	static const char *const names[] = {
		[GROWTH_UNKNOWN] = "unknown",	  [GROWTH_GROWING] = "growing",
		[GROWTH_SHRINKING] = "shrinking", [GROWTH_STEADY] = "steady",
		[GROWTH_VARYING] = "varying",
	};

	return names[kind];
}

const char *growth_word(const struct growth *growth)
{
	return growth->freed_at_end ? "grew" : growth_kind_name(growth->kind);
}

void growth_at(const struct profile *profile, const struct profile_series *series, uint64_t time_ns,
	       struct growth_value *value)
{
	uint32_t low = 0, high = series->count;

	if (time_ns >= profile->duration_ns) {
		const struct profile_counts *counts = &profile->stacks[series->stack].counts;

		*value = (struct growth_value){profile_live_bytes(counts), counts->alloc_bytes};
		return;
	}
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (series->samples[middle].time_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	*value = (struct growth_value){0, 0};
	if (low > 0)
		*value = (struct growth_value){series->samples[low - 1].live_bytes,
					       series->samples[low - 1].alloc_bytes};
}

int64_t growth_change(const struct profile *profile, const struct profile_series *series,
		      const struct growth_interval *interval)
{
	struct growth_value before, after;

	growth_at(profile, series, interval->since_ns, &before);
	growth_at(profile, series, interval->until_ns, &after);
	return (int64_t)(after.live_bytes - before.live_bytes);
}

int64_t growth_per_minute(int64_t change, const struct growth_interval *interval)
{
	if (interval->until_ns <= interval->since_ns)
		return 0;
	return rounded((double)change * (double)MINUTE_NS /
		       (double)(interval->until_ns - interval->since_ns));
}
