/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_growth.c - the words for timelines of known shape, and what a call stack held at a time.
 */
#include "report_fixture.h"

#include "profile/growth.h"

#define HOUR (3600 * SECOND)

struct timeline {
	struct profile profile;
	struct profile_point points[4096];
};

static void add(struct timeline *timeline, uint64_t time_ns, uint64_t live_bytes)
{
	struct profile_point *point = &timeline->points[timeline->profile.point_count++];

	*point = (struct profile_point){.time_ns = time_ns, .live_bytes = live_bytes};
	timeline->profile.duration_ns = time_ns;
	timeline->profile.points = timeline->points;
}

static struct timeline *new_timeline(void)
{
	struct timeline *timeline = calloc(1, sizeof(*timeline));

	assert_non_null(timeline);
	return timeline;
}

static struct growth growth_of(const struct timeline *timeline)
{
	struct growth_interval all = {0, UINT64_MAX};
	struct growth growth;

	growth_of_process(&timeline->profile, &all, &growth);
	return growth;
}

static void assert_near(int64_t value, int64_t wanted, int64_t percent)
{
	int64_t allowed = (wanted < 0 ? -wanted : wanted) * percent / 100;

	if (value < wanted - allowed || value > wanted + allowed)
		fail_msg("%lld is not %lld +- %lld %%", (long long)value, (long long)wanted,
			 (long long)percent);
}

/* Fewer than 4 points, or less than 2 s, say nothing. */
static void test_too_little(void **state)
{
	struct timeline *timeline = new_timeline();

	(void)state;
	assert_int_equal(growth_of(timeline).kind, GROWTH_UNKNOWN);
	add(timeline, SECOND, MIB);
	add(timeline, 10 * SECOND, 2 * MIB);
	add(timeline, 20 * SECOND, 3 * MIB);
	assert_int_equal(growth_of(timeline).kind, GROWTH_UNKNOWN);
	add(timeline, 30 * SECOND, 4 * MIB);
	assert_int_equal(growth_of(timeline).kind, GROWTH_GROWING);
	timeline->points[3].time_ns = SECOND + 3;
	timeline->points[2].time_ns = SECOND + 2;
	timeline->points[1].time_ns = SECOND + 1;
	assert_int_equal(growth_of(timeline).kind, GROWTH_UNKNOWN);
	free(timeline);
}

/* Who sets points closer gets a verdict sooner; of the usual ones it is said which distance would do. */
static void test_short_runs(void **state)
{
	struct timeline *timeline = new_timeline();

	(void)state;
	for (uint64_t i = 1; i <= 5; i++)
		add(timeline, i * SECOND / 4, i * MIB);
	atomic_init(&timeline->profile.header.interval_ns, SECOND / 4);
	assert_int_equal(growth_of(timeline).kind, GROWTH_UNKNOWN);
	assert_int_equal(growth_finer_ms(&timeline->profile), 50);
	timeline->profile.duration_ns = 10 * SECOND;
	assert_int_equal(growth_finer_ms(&timeline->profile), 100);
	timeline->profile.duration_ns = SECOND / 100;
	assert_int_equal(growth_finer_ms(&timeline->profile), 0);
	timeline->profile.point_count = 0;
	atomic_init(&timeline->profile.header.interval_ns, SECOND / 20);
	for (uint64_t i = 1; i <= 8; i++)
		add(timeline, i * SECOND / 20, i * MIB);
	assert_int_equal(growth_of(timeline).kind, GROWTH_UNKNOWN);
	assert_int_equal(growth_finer_ms(&timeline->profile), 20);
	add(timeline, 9 * SECOND / 20, 9 * MIB);
	assert_int_equal(growth_of(timeline).kind, GROWTH_GROWING);
	free(timeline);
}

static void test_growing(void **state)
{
	struct timeline *timeline = new_timeline();
	struct growth growth;
	uint64_t i;

	(void)state;
	for (i = 0; i < 100; i++)
		add(timeline, (i + 1) * SECOND, 10 * MIB + i * MIB);
	growth = growth_of(timeline);
	assert_int_equal(growth.kind, GROWTH_GROWING);
	assert_near(growth.per_minute, 60 * (int64_t)MIB, 1);
	assert_int_equal(growth.since_ns, SECOND);
	assert_int_equal(growth.low, 10 * MIB);
	assert_int_equal(growth.high, 109 * MIB);
	free(timeline);
}

/* Data are loaded in the first seconds, then 1 MiB/min comes on top: that is the rate, and it begins after the load. */
static void test_growing_after_a_load(void **state)
{
	struct timeline *timeline = new_timeline();
	struct growth growth;
	uint64_t i;

	(void)state;
	for (i = 0; i < 10; i++)
		add(timeline, (i + 1) * 60 * SECOND, i * 30 * MIB);
	for (i = 0; i < 50; i++)
		add(timeline, (i + 11) * 60 * SECOND, 300 * MIB + i * 4 * MIB);
	growth = growth_of(timeline);
	assert_int_equal(growth.kind, GROWTH_GROWING);
	assert_near(growth.per_minute, 4 * (int64_t)MIB, 15);
	assert_in_range(growth.since_ns, 8 * 60 * SECOND, 13 * 60 * SECOND);
	free(timeline);
}

static void test_steady_with_noise(void **state)
{
	struct timeline *timeline = new_timeline();
	struct growth growth;
	uint64_t i;

	(void)state;
	for (i = 0; i < 1000; i++)
		add(timeline, (i + 1) * SECOND, 100 * MIB + (i * 7919 % 13) * MIB / 10);
	growth = growth_of(timeline);
	assert_int_equal(growth.kind, GROWTH_STEADY);
	assert_int_equal(growth.since_ns, SECOND);
	free(timeline);
}

static void test_shrinking(void **state)
{
	struct timeline *timeline = new_timeline();
	struct growth growth;
	uint64_t i;

	(void)state;
	for (i = 0; i < 60; i++)
		add(timeline, (i + 1) * 60 * SECOND, 100 * MIB - i * MIB);
	growth = growth_of(timeline);
	assert_int_equal(growth.kind, GROWTH_SHRINKING);
	assert_near(growth.per_minute, -(int64_t)MIB, 1);
	free(timeline);
}

/* Loads for 15 s, then makes no event until its end: there are no points, and nothing changes. */
static void test_silence_is_steady(void **state)
{
	struct timeline *timeline = new_timeline();
	struct growth growth;
	uint64_t i;

	(void)state;
	for (i = 0; i < 15; i++)
		add(timeline, (i + 1) * SECOND, (i + 1) * MIB);
	add(timeline, 100 * SECOND, 15 * MIB);
	atomic_init(&timeline->profile.header.interval_ns, SECOND);
	growth = growth_of(timeline);
	assert_int_equal(growth.kind, GROWTH_STEADY);
	assert_int_equal(growth.trend.class, TREND_PLATEAU);
	assert_in_range(growth.since_ns, 13 * SECOND, 17 * SECOND);
	free(timeline);
}

/* A saw that rises and falls has no rate. */
static void test_varying(void **state)
{
	struct timeline *timeline = new_timeline();
	struct growth growth;
	uint64_t i;

	(void)state;
	for (i = 0; i < 60; i++)
		add(timeline, (i + 1) * SECOND, (i % 2 ? 100 : 10) * MIB);
	growth = growth_of(timeline);
	assert_int_equal(growth.kind, GROWTH_VARYING);
	assert_int_equal(growth.per_minute, 0);
	assert_int_equal(growth.low, 10 * MIB);
	assert_int_equal(growth.high, 100 * MIB);
	free(timeline);
}

/* A server that grew and then frees all in its exit was growing. */
static void test_given_back_at_exit(void **state)
{
	struct timeline *timeline = new_timeline();
	struct growth growth;
	uint64_t i;

	(void)state;
	for (i = 0; i < 60; i++)
		add(timeline, (i + 1) * SECOND, (i + 1) * MIB);
	add(timeline, 61 * SECOND, 1000);
	atomic_init(&timeline->profile.header.state, FORMAT_STATE_ENDED);
	growth = growth_of(timeline);
	assert_int_equal(growth.kind, GROWTH_GROWING);
	assert_true(growth.freed_at_end);
	assert_int_equal(growth.until_ns, 60 * SECOND);
	free(timeline);
}

/* A cache of 500 MiB stays: what grew beside it was given back all the same. */
static void test_growth_beside_a_cache_is_given_back(void **state)
{
	struct timeline *timeline = new_timeline();
	struct growth growth;
	uint64_t i;

	(void)state;
	for (i = 0; i < 60; i++)
		add(timeline, (i + 1) * SECOND, (500 + i) * MIB);
	add(timeline, 61 * SECOND, 510 * MIB);
	add(timeline, 62 * SECOND, 500 * MIB);
	timeline->profile.totals.alloc_bytes = 500 * MIB;
	atomic_init(&timeline->profile.header.state, FORMAT_STATE_ENDED);
	growth = growth_of(timeline);
	assert_int_equal(growth.kind, GROWTH_GROWING);
	assert_near(growth.per_minute, 60 * (int64_t)MIB, 1);
	assert_true(growth.freed_at_end);
	assert_int_equal(growth.until_ns, 60 * SECOND);
	assert_int_equal(growth.high, 559 * MIB);
	/* A running process may do the same, and has not ended. */
	atomic_init(&timeline->profile.header.state, FORMAT_STATE_RECORDING);
	timeline->profile.is_live = true;
	assert_false(growth_of(timeline).freed_at_end);
	free(timeline);
}

/* The last point is that before exit: only the final state knows of the freeing.  At that time growth_at() must not tell it. */
static void test_freed_after_the_last_point(void **state)
{
	struct timeline *timeline = new_timeline();
	struct growth growth;
	uint64_t i;

	(void)state;
	for (i = 0; i < 60; i++)
		add(timeline, (i + 1) * SECOND, (i + 1) * MIB);
	timeline->profile.totals.alloc_bytes = 60 * MIB;
	growth = growth_of(timeline);
	assert_int_equal(growth.kind, GROWTH_GROWING);
	assert_false(growth.freed_at_end);
	assert_true(growth.until_ns == UINT64_MAX);
	timeline->profile.totals.free_bytes = 50 * MIB;
	growth = growth_of(timeline);
	assert_true(growth.freed_at_end);
	assert_int_equal(growth.until_ns, 60 * SECOND - 1);
	timeline->profile.is_live = true;
	assert_false(growth_of(timeline).freed_at_end);
	free(timeline);
}

/* Values at the ends of what 64 bits hold must not overflow. */
static void test_extremes(void **state)
{
	struct timeline *timeline = new_timeline();
	struct growth growth;
	uint64_t i;

	(void)state;
	for (i = 0; i < 8; i++)
		add(timeline, i * (UINT64_MAX / 8), i % 2 ? UINT64_MAX : 0);
	growth = growth_of(timeline);
	assert_int_equal(growth.kind, GROWTH_VARYING);
	timeline->profile.point_count = 0;
	for (i = 0; i < 8; i++)
		add(timeline, i * SECOND, i * (UINT64_MAX / 8));
	growth = growth_of(timeline);
	assert_int_equal(growth.kind, GROWTH_GROWING);
	assert_true(growth.per_minute == INT64_MAX);
	free(timeline);
}

static void test_only_the_interval_counts(void **state)
{
	struct timeline *timeline = new_timeline();
	struct growth_interval interval = {70 * SECOND, 100 * SECOND};
	struct growth growth;
	uint64_t i;

	(void)state;
	for (i = 0; i < 60; i++)
		add(timeline, (i + 1) * SECOND, (i + 1) * MIB);
	for (; i < 120; i++)
		add(timeline, (i + 1) * SECOND, 60 * MIB);
	growth_of_process(&timeline->profile, &interval, &growth);
	assert_int_equal(growth.kind, GROWTH_STEADY);
	assert_int_equal(growth.since_ns, 70 * SECOND);
	interval = (struct growth_interval){0, 50 * SECOND};
	growth_of_process(&timeline->profile, &interval, &growth);
	assert_int_equal(growth.kind, GROWTH_GROWING);
	interval = (struct growth_interval){10 * HOUR, 20 * HOUR};
	growth_of_process(&timeline->profile, &interval, &growth);
	assert_int_equal(growth.kind, GROWTH_UNKNOWN);
	free(timeline);
}

/* A step function: nothing before the first sample, the final state from the end on. */
static void test_value_at_a_time(void **state)
{
	struct model *model = model_new();
	const struct profile_series *series = &model->series[0];
	struct growth_value value;

	(void)state;
	growth_at(&model->profile, series, SECOND - 1, &value);
	assert_int_equal(value.live_bytes, 0);
	growth_at(&model->profile, series, SECOND, &value);
	assert_int_equal(value.live_bytes, MIB);
	growth_at(&model->profile, series, 2 * SECOND - 1, &value);
	assert_int_equal(value.live_bytes, MIB);
	assert_int_equal(value.alloc_bytes, MIB);
	growth_at(&model->profile, series, 60 * SECOND - 1, &value);
	assert_int_equal(value.live_bytes, 59 * MIB);
	model->stacks[0].counts.alloc_bytes += 5;
	growth_at(&model->profile, series, UINT64_MAX, &value);
	assert_int_equal(value.live_bytes, 60 * MIB + 5);
	free(model);
}

/* Where samples were dropped the nearest one says what was, and when; where none were it is known. */
static void test_value_where_samples_were_dropped(void **state)
{
	struct model *model = model_new();
	struct profile_sample *samples = model->samples[0];
	const struct profile_series series = {0, 3, samples};
	struct growth_value value;

	(void)state;
	samples[1] = (struct profile_sample){10 * SECOND, 10 * MIB, 10 * MIB, true};
	samples[2] = (struct profile_sample){20 * SECOND, 20 * MIB, 20 * MIB, false};
	growth_at(&model->profile, &series, 5 * SECOND, &value);
	assert_int_equal(value.live_bytes, MIB);
	assert_int_equal(value.time_ns, SECOND);
	growth_at(&model->profile, &series, 6 * SECOND, &value);
	assert_int_equal(value.live_bytes, 10 * MIB);
	assert_int_equal(value.alloc_bytes, 10 * MIB);
	assert_int_equal(value.time_ns, 10 * SECOND);
	growth_before(&model->profile, &series, 6 * SECOND, &value);
	assert_int_equal(value.live_bytes, MIB);
	assert_int_equal(value.time_ns, SECOND);
	growth_at(&model->profile, &series, 19 * SECOND, &value);
	assert_int_equal(value.live_bytes, 10 * MIB);
	assert_int_equal(value.time_ns, 19 * SECOND);
	growth_at(&model->profile, &series, 30 * SECOND, &value);
	assert_int_equal(value.live_bytes, 20 * MIB);
	assert_int_equal(value.time_ns, 30 * SECOND);
	free(model);
}

/* All call stacks are looked at for points that have sums.  In a time without events all stays as it was. */
static void test_moments_of_which_all_is_known(void **state)
{
	struct timeline *timeline = new_timeline();
	struct profile *profile = &timeline->profile;

	(void)state;
	assert_int_equal(growth_moment(profile, 5), 5); /* no timeline */
	atomic_init(&profile->header.interval_ns, SECOND);
	for (uint64_t i = 1; i <= 6; i++) {
		add(timeline, i * SECOND, MIB);
		timeline->points[i - 1].alloc_count = i != 3 && i != 4;
	}
	add(timeline, 60 * SECOND, MIB);
	timeline->points[6].alloc_count = 1;
	profile->duration_ns = 61 * SECOND;
	assert_int_equal(growth_moment(profile, 0), 0);
	assert_int_equal(growth_moment(profile, SECOND / 2 + 1), SECOND);
	assert_int_equal(growth_moment(profile, SECOND / 2 - 1), 0);
	assert_int_equal(growth_moment(profile, 2 * SECOND), 2 * SECOND);
	assert_int_equal(growth_moment(profile, 3 * SECOND), 2 * SECOND);
	assert_int_equal(growth_moment(profile, 4 * SECOND), 5 * SECOND);
	assert_int_equal(growth_moment(profile, 33 * SECOND), 33 * SECOND);
	assert_int_equal(growth_moment(profile, 60 * SECOND + 1), 60 * SECOND);
	assert_int_equal(growth_moment(profile, 61 * SECOND - 1), 61 * SECOND);
	assert_int_equal(growth_moment(profile, UINT64_MAX), UINT64_MAX);
	free(timeline);
}

static void test_change(void **state)
{
	struct model *model = model_new();
	struct growth_interval interval = {10 * SECOND, 30 * SECOND};
	uint64_t over_ns;

	(void)state;
	assert_int_equal(growth_change(&model->profile, &model->series[0], &interval, &over_ns),
			 20 * MIB);
	assert_int_equal(over_ns, 20 * SECOND);
	assert_int_equal(growth_per_minute(20 * (int64_t)MIB, &interval), 60 * MIB);
	assert_int_equal(growth_per_minute(-20 * (int64_t)MIB, &interval), -60 * (int64_t)MIB);
	interval.until_ns = interval.since_ns;
	assert_int_equal(growth_per_minute(1, &interval), 0);
	free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_too_little),
		cmocka_unit_test(test_short_runs),
		cmocka_unit_test(test_growing),
		cmocka_unit_test(test_growing_after_a_load),
		cmocka_unit_test(test_steady_with_noise),
		cmocka_unit_test(test_shrinking),
		cmocka_unit_test(test_silence_is_steady),
		cmocka_unit_test(test_varying),
		cmocka_unit_test(test_given_back_at_exit),
		cmocka_unit_test(test_growth_beside_a_cache_is_given_back),
		cmocka_unit_test(test_freed_after_the_last_point),
		cmocka_unit_test(test_extremes),
		cmocka_unit_test(test_only_the_interval_counts),
		cmocka_unit_test(test_value_at_a_time),
		cmocka_unit_test(test_value_where_samples_were_dropped),
		cmocka_unit_test(test_moments_of_which_all_is_known),
		cmocka_unit_test(test_change),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
