/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_retained.c - when a process's size is about free memory: timelines of known shape, with the lines of the resident set at their end.
 */
#include "report_fixture.h"

#include "profile/retained.h"

enum { OTHER = 10 }; /* MiB of the resident set that are no heap */

struct course {
	struct profile profile;
	struct profile_point points[100];
};

static struct course *course_new(void)
{
	struct course *course = calloc(1, sizeof(*course));

	assert_non_null(course);
	return course;
}

/* MiB live and free at the point of each second. */
static void add(struct course *course, uint64_t live, uint64_t free_mib)
{
	uint32_t i = course->profile.point_count++;

	course->points[i] = (struct profile_point){
		.time_ns = (i + 1) * SECOND,
		.live_bytes = live * MIB,
		.rss_bytes = (live + free_mib + OTHER) * MIB,
	};
	course->profile.points = course->points;
	course->profile.duration_ns = (i + 1) * SECOND;
}

static struct rss lines(uint64_t live, uint64_t fragments, uint64_t kept)
{
	struct rss rss = {.lines = {.total = (live + fragments + kept + OTHER) * MIB}};

	rss.lines.lines[FORMAT_RSS_LIVE] = live * MIB;
	rss.lines.lines[FORMAT_RSS_FRAGMENTS] = fragments * MIB;
	rss.lines.lines[FORMAT_RSS_KEPT] = kept * MIB;
	return rss;
}

static void test_free_memory_that_stays(void **state)
{
	struct course *course = course_new();
	struct rss rss = lines(100, 40, 30);
	struct retained retained;

	(void)state;
	for (int i = 0; i < 60; i++)
		add(course, 100, i < 20 ? 0 : 70);
	assert_true(retained_find(&course->profile, &rss, &retained));
	assert_int_equal(retained.free_bytes, 70 * MIB);
	assert_int_equal(retained.used_bytes, 100 * MIB);
	assert_int_equal(retained.per_minute, 0);
	assert_false(retained.given_back);
	/* Less than half of what is in use; less than is worth a word. */
	rss = lines(150, 40, 30);
	assert_false(retained_find(&course->profile, &rss, &retained));
	rss = lines(100, 30, 30);
	assert_false(retained_find(&course->profile, &rss, &retained));
	/* Not told from fewer points. */
	rss = lines(100, 40, 30);
	course->profile.point_count = 3;
	assert_false(retained_find(&course->profile, &rss, &retained));
	free(course);
}

/* Nothing but free memory is left of a heap that was freed at the end. */
static void test_freed_at_the_end(void **state)
{
	struct course *course = course_new();
	const struct rss rss = lines(1, 0, 199);
	struct retained retained;

	(void)state;
	for (int i = 0; i < 59; i++)
		add(course, 200, 1);
	add(course, 1, 199);
	assert_false(retained_find(&course->profile, &rss, &retained));
	/* But before it was as bad: what was then is told. */
	for (int i = 20; i < 59; i++) {
		course->points[i].live_bytes = 80 * MIB;
		course->points[i].rss_bytes = 210 * MIB;
	}
	assert_true(retained_find(&course->profile, &rss, &retained));
	assert_true(retained.given_back);
	assert_int_equal(retained.free_bytes / MIB, 120);
	assert_int_equal(retained.used_bytes / MIB, 80);
	free(course);
}

/* A quarter of the time is not enough, whatever the time is. */
static void test_for_how_long(void **state)
{
	struct course *course = course_new();
	const struct rss rss = lines(50, 90, 0);
	struct retained retained;

	(void)state;
	for (int i = 0; i < 100; i++)
		add(course, i < 80 ? 140 : 50, i < 80 ? 0 : 90);
	assert_false(retained_find(&course->profile, &rss, &retained));
	for (int i = 70; i < 80; i++) {
		course->points[i].live_bytes = 50 * MIB;
		course->points[i].rss_bytes = (50 + 90 + OTHER) * MIB;
	}
	assert_true(retained_find(&course->profile, &rss, &retained));
	free(course);
}

/* Of a program that rests there are a point from its beginning, and one from its end. */
static void test_no_events_no_points(void **state)
{
	struct course *course = course_new();
	const struct rss rss = lines(50, 90, 0);
	struct retained retained;

	(void)state;
	add(course, 1, 0);
	add(course, 50, 90);
	course->points[0].time_ns = SECOND / 100;
	assert_false(retained_find(&course->profile, &rss, &retained));
	atomic_init(&course->profile.header.interval_ns, SECOND / 4);
	assert_true(retained_find(&course->profile, &rss, &retained));
	assert_int_equal(retained.free_bytes, 90 * MIB);
	/* It rests for too short a time to be known as well as four points are. */
	course->points[1].time_ns = course->profile.duration_ns = SECOND * 3 / 4;
	assert_false(retained_find(&course->profile, &rss, &retained));
	course->points[1].time_ns = course->profile.duration_ns = SECOND * 4 / 5;
	assert_true(retained_find(&course->profile, &rss, &retained));
	/* The heap was full, and is freed from then on. */
	add(course, 0, 140);
	course->points[1].live_bytes = 140 * MIB;
	course->points[2].time_ns = course->profile.duration_ns = SECOND * 9 / 10;
	assert_false(retained_find(&course->profile, &rss, &retained));
	free(course);
}

/* Of one that runs the latest point is older than what is measured. */
static void test_no_events_until_now(void **state)
{
	struct course *course = course_new();
	struct rss rss = lines(50, 90, 0);
	struct retained retained;

	(void)state;
	add(course, 1, 0);
	course->points[0].time_ns = SECOND / 100;
	course->profile.totals.alloc_bytes = 50 * MIB;
	atomic_init(&course->profile.header.interval_ns, SECOND / 10);
	assert_false(retained_find(&course->profile, &rss, &retained));
	rss.is_now = true;
	assert_true(retained_find(&course->profile, &rss, &retained));
	free(course);
}

/* When a large block is freed, the point is taken by that: what was before is not known. */
static void test_one_large_block(void **state)
{
	struct course *course = course_new();
	const struct rss rss = lines(50, 90, 0);
	struct profile_stack stack = {.sizes = 1 + FORMAT_CLASSES - 1,
				      .counts = {.alloc_bytes = 100 * MIB, .alloc_count = 1}};
	struct retained retained;

	(void)state;
	add(course, 1, 0);
	add(course, 50, 90);
	course->points[0].time_ns = SECOND / 100;
	atomic_init(&course->profile.header.interval_ns, SECOND / 4);
	course->profile.stacks = &stack;
	course->profile.stack_count = 1;
	assert_false(retained_find(&course->profile, &rss, &retained));
	stack.sizes = 1 + 10;
	assert_true(retained_find(&course->profile, &rss, &retained));
	free(course);
}

/* What the allocator adds to small blocks is no free memory. */
static void test_rounding_is_in_use(void **state)
{
	struct course *course = course_new();
	struct rss rss = lines(100, 70, 0);
	struct retained retained;

	(void)state;
	for (int i = 0; i < 60; i++)
		add(course, 100, 170);
	rss.lines.lines[FORMAT_RSS_ROUNDING] = 100 * MIB;
	rss.lines.total += 100 * MIB;
	assert_false(retained_find(&course->profile, &rss, &retained));
	free(course);
}

/* A few MiB count if they become more and more. */
static void test_growing(void **state)
{
	struct course *course = course_new();
	const struct rss rss = lines(20, 40, 0);
	struct retained retained;

	(void)state;
	for (uint64_t i = 0; i < 100; i++)
		add(course, 20, i * 40 / 100);
	assert_true(retained_find(&course->profile, &rss, &retained));
	assert_in_range(retained.per_minute, 23 * MIB, 25 * MIB);
	assert_in_range(retained.since_ns, 0, 3 * SECOND);
	for (uint64_t i = 0; i < 100; i++)
		course->points[i].rss_bytes = (20 + 40 + OTHER) * MIB;
	assert_false(retained_find(&course->profile, &rss, &retained));
	free(course);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_free_memory_that_stays),
		cmocka_unit_test(test_freed_at_the_end),
		cmocka_unit_test(test_for_how_long),
		cmocka_unit_test(test_no_events_no_points),
		cmocka_unit_test(test_no_events_until_now),
		cmocka_unit_test(test_one_large_block),
		cmocka_unit_test(test_rounding_is_in_use),
		cmocka_unit_test(test_growing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
