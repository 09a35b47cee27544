/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * growth.c - what the timeline says: whether the heap grows, and what a call stack held at a time.
 *
 * trend.c says what kind of series it is.  Here stands which points belong to it: not those in which a process gives everything back
 * at its exit.
 */
#include "profile/growth.h"

#include <stdlib.h>

/* AT_EXIT_MAX: points that freeing everything at exit may take.  HELD_MAX: in all gaps.  GAP: of so many distances. */
enum { POINTS_MIN = TREND_POINTS_MIN, AT_EXIT_MAX = 3, HELD_MAX = 200, GAP = 4 };

#define SECOND_NS UINT64_C(1000000000)
#define MINUTE_NS (60 * SECOND_NS)
#define SPAN_MIN ((double)GROWTH_SPAN_NS / (double)SECOND_NS) /* s; */
#define SPAN_POINTS 8	       /* or so many distances of points, who sets them closer */
#define LEAST_BYTES 16384.0    /* a smaller rise is never worth a word */
#define LEAST_SHARE 1e-4       /* nor one that is less of the heap */
#define NOISE_BYTES 65536.0    /* up and down by so much is steady, */
#define NOISE_SHARE (1 / 20.0) /* and by so much of the heap */

static int64_t rounded(double value)
{
	const double limit = 9.0e18; /* below 2^63 */

	if (value > limit || value < -limit)
		return value > 0 ? INT64_MAX : INT64_MIN;
	return (int64_t)(value < 0 ? value - 0.5 : value + 0.5);
}

static double larger(double a, double b)
{
	return a > b ? a : b;
}

double growth_least(double most)
{
	return larger(LEAST_BYTES, most * LEAST_SHARE);
}

double growth_seconds(uint64_t time_ns)
{
	return (double)time_ns / (double)SECOND_NS;
}

uint64_t growth_ns(double seconds)
{
	int64_t time_ns = rounded(seconds * (double)SECOND_NS);

	return time_ns > 0 ? (uint64_t)time_ns : 0;
}

uint64_t growth_rate_per_minute(double rate)
{
	int64_t per_minute = rounded(rate * 60);

	return per_minute > 0 ? (uint64_t)per_minute : 0;
}

/* In seconds. */
static double span_min(const struct profile *profile)
{
	uint64_t interval_ns = atomic_load_explicit(&profile->header.interval_ns,
						    memory_order_relaxed);
	double span = growth_seconds(interval_ns) * SPAN_POINTS;

	return interval_ns && span < SPAN_MIN ? span : SPAN_MIN;
}

bool growth_too_little(const struct profile *profile, const struct robust_point *points,
		       size_t count)
{
	return count < TREND_POINTS_MIN ||
	       points[count - 1].time - points[0].time < span_min(profile);
}

uint32_t growth_finer_ms(const struct profile *profile)
{
	static const uint32_t choices[] = {100, 50, 20, 10, 5, 2, 1};
	uint64_t interval_ns = atomic_load_explicit(&profile->header.interval_ns,
						    memory_order_relaxed);

	for (unsigned i = 0; i < sizeof(choices) / sizeof(*choices); i++) {
		uint64_t choice_ns = choices[i] * UINT64_C(1000000);

		/* Twice as many as it takes: the first ones may come late. */
		if (choice_ns * SPAN_POINTS * 2 <= profile->duration_ns)
			return choice_ns < interval_ns ? choices[i] : 0;
	}
	return 0;
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

/* A program that makes no events has no points either, and its heap stays as it is.  How far apart held points are in such a gap, in
 * ns; 0: there are none. */
static uint64_t held_distance(const struct profile *profile, const struct range *range)
{
	uint64_t interval_ns = atomic_load_explicit(&profile->header.interval_ns,
						    memory_order_relaxed);
	uint64_t span_ns;

	if (range->end - range->first < 2 || !interval_ns)
		return 0;
	span_ns = profile->points[range->end - 1].time_ns - profile->points[range->first].time_ns;
	return interval_ns > span_ns / HELD_MAX ? interval_ns : span_ns / HELD_MAX;
}

struct filling {
	struct robust_point *points;
	size_t count;
};

static void add_point(struct filling *filling, uint64_t time_ns, uint64_t live_bytes)
{
	filling->points[filling->count++] = (struct robust_point){growth_seconds(time_ns),
								  (double)live_bytes};
}

static void add_held(struct filling *filling, const struct profile_point *before, uint64_t until_ns,
		     uint64_t distance)
{
	uint64_t time_ns = before->time_ns;

	if (!distance || until_ns - time_ns < distance * GAP)
		return;
	for (time_ns += distance; time_ns < until_ns - distance / 2; time_ns += distance)
		add_point(filling, time_ns, before->live_bytes);
}

/* The range's points, those held in gaps too: to be freed.  NULL: no memory. */
static struct robust_point *points_of(const struct profile *profile, const struct range *range,
				      size_t *count)
{
	uint64_t distance = held_distance(profile, range);
	struct filling filling = {.count = 0};

	filling.points = calloc((size_t)(range->end - range->first) + HELD_MAX + 1,
				sizeof(*filling.points));
	for (uint32_t i = range->first; filling.points && i < range->end; i++) {
		const struct profile_point *point = &profile->points[i];

		if (i > range->first)
			add_held(&filling, point - 1, point->time_ns, distance);
		add_point(&filling, point->time_ns, point->live_bytes);
	}
	*count = filling.count;
	return filling.points;
}

struct robust_point *growth_points(const struct profile *profile,
				   const struct growth_interval *interval, size_t *count)
{
	struct range range = range_of(profile, interval);

	return points_of(profile, &range, count);
}

static enum growth_kind kind_of(const struct trend *trend)
{
	switch (trend->course) {
	case TREND_RISING:
		return GROWTH_GROWING;
	case TREND_FALLING:
		return GROWTH_SHRINKING;
	case TREND_SWINGING:
		return GROWTH_VARYING;
	case TREND_STEADY:
		return trend->high - trend->low > 2 * larger(NOISE_BYTES, trend->high * NOISE_SHARE)
			       ? GROWTH_VARYING
			       : GROWTH_STEADY;
	default:
		return GROWTH_UNKNOWN;
	}
}

static void read_trend(const struct profile *profile, const struct range *range,
		       struct growth *growth)
{
	size_t count, i;
	struct robust_point *points = points_of(profile, range, &count);
	double most = 0;

	*growth = (struct growth){.kind = GROWTH_UNKNOWN};
	if (!points || range->end - range->first < POINTS_MIN ||
	    growth_too_little(profile, points, count)) {
		free(points);
		return;
	}
	for (i = 0; i < count; i++)
		most = larger(most, points[i].value);
	trend_read(points, count, growth_least(most), &growth->trend);
	free(points);
	growth->kind = kind_of(&growth->trend);
	growth->per_minute = rounded(growth->trend.rate * 60);
	growth->since_ns = growth_ns(growth->trend.since);
	growth->low = (uint64_t)rounded(growth->trend.low);
	growth->high = (uint64_t)rounded(growth->trend.high);
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

/* --- moments --------------------------------------------------------------------------------- */

/* True if all call stacks were looked at for a point: then it has the sums.  Of what the program maps itself there are none. */
static bool is_complete(const struct profile *profile, const struct profile_point *point)
{
	return profile->is_mapped || point->alloc_count;
}

/* The index of the first point that is later. */
static uint32_t point_after(const struct profile *profile, uint64_t time_ns)
{
	uint32_t low = 0, high = profile->point_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (profile->points[middle].time_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* True in a time without events, in which all stays as it is. */
static bool is_quiet(const struct profile *profile, uint32_t after)
{
	uint64_t interval_ns = atomic_load_explicit(&profile->header.interval_ns,
						    memory_order_relaxed);
	uint64_t until_ns = after < profile->point_count ? profile->points[after].time_ns
							 : profile->duration_ns;

	return after > 0 && is_complete(profile, &profile->points[after - 1]) &&
	       until_ns - profile->points[after - 1].time_ns > GAP * interval_ns;
}

uint64_t growth_moment(const struct profile *profile, uint64_t time_ns)
{
	uint32_t after = point_after(profile, time_ns), before = after;
	uint64_t early = 0, late = profile->duration_ns;

	if (time_ns >= late || !profile->point_count || is_quiet(profile, after))
		return time_ns;
	while (before > 0 && !is_complete(profile, &profile->points[before - 1]))
		before--;
	while (after < profile->point_count && !is_complete(profile, &profile->points[after]))
		after++;
	if (before > 0)
		early = profile->points[before - 1].time_ns;
	if (after < profile->point_count && profile->points[after].time_ns < late)
		late = profile->points[after].time_ns;
	return time_ns - early <= late - time_ns ? early : late;
}

/* --- call stacks ----------------------------------------------------------------------------- */

static struct growth_value value_of(const struct profile_sample *sample, uint64_t time_ns)
{
	return (struct growth_value){sample->live_bytes, sample->alloc_bytes, time_ns};
}

/* True if it is the end's: what is known then. */
static bool is_end(const struct profile *profile, const struct profile_series *series,
		   uint64_t time_ns, struct growth_value *value)
{
	const struct profile_counts *counts = &profile->stacks[series->stack].counts;

	if (time_ns < profile->duration_ns)
		return false;
	*value = (struct growth_value){profile_live_bytes(counts), counts->alloc_bytes,
				       profile->duration_ns};
	return true;
}

/* The index of the first sample that is later. */
static uint32_t sample_after(const struct profile_series *series, uint64_t time_ns)
{
	uint32_t low = 0, high = series->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (series->samples[middle].time_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void growth_at(const struct profile *profile, const struct profile_series *series, uint64_t time_ns,
	       struct growth_value *value)
{
	uint32_t after = sample_after(series, time_ns);
	const struct profile_sample *samples = series->samples;

	if (is_end(profile, series, time_ns, value))
		return;
	if (after == 0)
		*value = (struct growth_value){0, 0, time_ns};
	else if (after == series->count || !samples[after].gap)
		*value = value_of(&samples[after - 1], time_ns);
	else if (time_ns - samples[after - 1].time_ns <= samples[after].time_ns - time_ns)
		*value = value_of(&samples[after - 1], samples[after - 1].time_ns);
	else
		*value = value_of(&samples[after], samples[after].time_ns);
}

void growth_before(const struct profile *profile, const struct profile_series *series,
		   uint64_t time_ns, struct growth_value *value)
{
	uint32_t after = sample_after(series, time_ns);

	if (is_end(profile, series, time_ns, value))
		return;
	*value = (struct growth_value){0, 0, 0};
	if (after > 0)
		*value = value_of(&series->samples[after - 1], series->samples[after - 1].time_ns);
}

int64_t growth_change(const struct profile *profile, const struct profile_series *series,
		      const struct growth_interval *interval, uint64_t *over_ns)
{
	struct growth_value before, after;
	uint64_t distance_ns = atomic_load_explicit(&profile->header.interval_ns,
						    memory_order_relaxed);
	uint64_t since_ns = interval->since_ns;

	/* A growth that is said to begin a moment before a point begins with it. */
	if (since_ns > 0 && since_ns + distance_ns / 2 < interval->until_ns)
		since_ns += distance_ns / 2;
	growth_at(profile, series, since_ns, &before);
	growth_at(profile, series, interval->until_ns, &after);
	*over_ns = after.time_ns - before.time_ns;
	if (before.time_ns == since_ns)
		*over_ns += since_ns - interval->since_ns;
	return (int64_t)(after.live_bytes - before.live_bytes);
}

int64_t growth_per_minute(int64_t change, const struct growth_interval *interval)
{
	if (interval->until_ns <= interval->since_ns)
		return 0;
	return rounded((double)change * (double)MINUTE_NS /
		       (double)(interval->until_ns - interval->since_ns));
}
