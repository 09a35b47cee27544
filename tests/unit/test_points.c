/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_points.c - points over days, in a bounded number of slots, none ever lost or torn.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "libpmem/loss.h"
#include "libpmem/points.h"
#include "libpmem/store.h"
#include "timeline_fakes.h"

#define INTERVAL UINT64_C(250000000)
#define DAY (UINT64_C(86400) * 1000000000)

static uint64_t first_ns, newest_ns;

static int begin(void **state)
{
	(void)state;
	fakes_clear_store();
	points_begin(INTERVAL);
	first_ns = newest_ns = 0;
	return 0;
}

/* What a point at that time must say. */
static struct points_values values_at(uint64_t time_ns)
{
	return (struct points_values){.time_ns = time_ns,
				      .live_bytes = time_ns * 3 + 1,
				      .rss_bytes = time_ns ^ 0x5555,
				      .lost_events = time_ns / 7};
}

static struct format_point *add(uint64_t time_ns)
{
	const struct points_values values = values_at(time_ns);
	struct format_point *point = points_add(&values);

	if (!first_ns)
		first_ns = time_ns;
	newest_ns = time_ns;
	return point;
}

static void expect_point(const struct format_point *point)
{
	const struct points_values values = values_at(point->time_ns);

	assert_int_equal(point->live_bytes, values.live_bytes);
	assert_int_equal(point->rss_bytes, values.rss_bytes);
	assert_int_equal(point->lost_events, values.lost_events);
}

static uint64_t times[POINTS_MAX];

static int by_time(const void *a, const void *b)
{
	uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

	return (one > other) - (one < other);
}

/* The times of all points, sorted. */
static uint32_t read_times(void)
{
	uint32_t i, count = 0;

	assert_true(store_head()->point_count <= POINTS_MAX);
	for (i = 0; i < store_head()->point_count; i++) {
		if (fakes_point(i)->time_ns == 0)
			continue;
		expect_point(fakes_point(i));
		times[count++] = fakes_point(i)->time_ns;
	}
	qsort(times, count, sizeof(*times), by_time);
	return count;
}

/* All points are sound, the first and the newest are there, and none is missing between them for longer than gap_ns. */
static void expect_all(uint64_t gap_ns)
{
	uint32_t count = read_times(), i;

	assert_true(count > 0);
	assert_int_equal(times[0], first_ns);
	assert_int_equal(times[count - 1], newest_ns);
	for (i = 1; i < count; i++)
		assert_in_range(times[i] - times[i - 1], 1, gap_ns);
}

static void a_point_has_its_values_and_is_due_once_in_an_interval(void **state)
{
	struct format_point *point;

	(void)state;
	assert_int_equal(points_due_ns(), 0);
	assert_int_equal(store_head()->interval_ns, INTERVAL);
	point = add(1);
	assert_ptr_equal(point, fakes_point(0));
	expect_point(point);
	assert_int_equal(point->time_ns, 1);
	assert_int_equal(point->alloc_bytes | point->alloc_count, 0);
	assert_int_equal(points_due_ns(), INTERVAL);
	add(INTERVAL + 5);
	assert_int_equal(points_last_ns(), INTERVAL + 5);
	assert_int_equal(points_due_ns(), 2 * INTERVAL);
	add(10 * INTERVAL - 1); /* late: no points in between */
	assert_int_equal(points_due_ns(), 10 * INTERVAL);
	assert_int_equal(store_head()->point_count, 3);
	assert_int_equal(loss_count(FORMAT_LOSS_TIMELINE), 0);
}

static void until_the_slots_are_used_every_point_is_there(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i < POINTS_MAX; i++)
		add(1 + i * INTERVAL);
	assert_int_equal(read_times(), POINTS_MAX);
	expect_all(INTERVAL);
	assert_int_equal(store_head()->interval_ns, INTERVAL);
	add(1 + i * INTERVAL);
	assert_int_equal(read_times(), POINTS_MAX);
	assert_in_range(store_head()->interval_ns, INTERVAL, 3 * INTERVAL);
	expect_all(2 * INTERVAL);
}

/* What is asked of a timeline is the last minute as often as the last day. */
static void expect_fine_to_the_end(uint32_t count)
{
	for (uint32_t i = 1; i < count; i++) {
		uint64_t age_ns = newest_ns - times[i];

		assert_in_range(times[i] - times[i - 1], 1, 2 * INTERVAL + age_ns / 50);
	}
}

static void days_of_points_stay_bounded_and_fine_to_the_end(void **state)
{
	uint64_t time_ns = 1;
	uint32_t n = 0, i, kept;

	(void)state;
	for (; time_ns < 7 * DAY; time_ns = points_due_ns() + n % 7 * 1000000) {
		assert_non_null(add(time_ns));
		if (n++ % 4099 == 0)
			expect_all(store_head()->interval_ns + INTERVAL);
	}
	expect_all(store_head()->interval_ns + INTERVAL);
	assert_int_equal(store_head()->point_count, POINTS_MAX);
	assert_int_equal(loss_count(FORMAT_LOSS_TIMELINE), 0);
	kept = read_times();
	expect_fine_to_the_end(kept);
	/* All of the last minute. */
	for (i = 0, n = 0; i < kept; i++)
		n += times[i] > newest_ns - 240 * INTERVAL;
	assert_int_equal(n, 240);
	/* And the first half has its part. */
	for (i = 0, n = 0; i < kept; i++)
		n += times[i] < 7 * DAY / 2;
	assert_in_range(n, kept / 8, kept / 2);
}

/* Events come rarely: of a cell with one point in it nothing is thrown away. */
static void lonely_points_are_kept(void **state)
{
	const uint64_t burst_ns = 100 * DAY;
	uint32_t i, count, before = 0;

	(void)state;
	for (i = 0; i < 100; i++)
		add(1 + i * DAY);
	for (i = 0; i < POINTS_MAX; i++)
		add(burst_ns + i * INTERVAL);
	count = read_times();
	for (i = 0; i < count; i++)
		before += times[i] < burst_ns;
	assert_int_equal(before, 100);
	assert_int_equal(times[count - 1], newest_ns);
}

static void with_less_memory_there_are_fewer_points(void **state)
{
	enum { SLOTS = FORMAT_BLOCK_SIZE / sizeof(struct format_point) };
	uint64_t time_ns;

	(void)state;
	fakes_block_limit[FORMAT_POINTS] = 1;
	for (time_ns = 1; time_ns < DAY; time_ns = points_due_ns()) {
		assert_non_null(add(time_ns));
		expect_all(3 * store_head()->interval_ns);
	}
	assert_int_equal(store_head()->point_count, SLOTS);
	assert_int_equal(loss_count(FORMAT_LOSS_TIMELINE), 0);
	assert_int_equal(loss_count(FORMAT_LOSS_MEMORY), 1);
}

static void without_memory_each_point_is_a_loss(void **state)
{
	(void)state;
	fakes_block_limit[FORMAT_POINTS] = 0;
	assert_null(add(1));
	assert_null(add(1 + INTERVAL));
	assert_int_equal(loss_count(FORMAT_LOSS_TIMELINE), 2);
	assert_int_equal(points_due_ns(), 2 * INTERVAL);
}

static void a_new_beginning_has_no_points(void **state)
{
	(void)state;
	add(5 * INTERVAL);
	fakes_clear_store();
	points_begin(7);
	assert_int_equal(points_due_ns() | points_last_ns(), 0);
	assert_int_equal(store_head()->interval_ns, 7);
	assert_ptr_equal(add(3), fakes_point(0));
}

/* --- killed at any instruction --------------------------------------------------------------- */

static uint64_t slots_before[POINTS_MAX];
static uint64_t next_ns;

static void add_next(void)
{
	add(next_ns);
}

static void check_slots(void)
{
	uint32_t i, changed = 0;

	for (i = 0; i < POINTS_MAX; i++) {
		uint64_t time_ns = fakes_point(i)->time_ns;

		if (time_ns)
			expect_point(fakes_point(i));
		if (time_ns == slots_before[i])
			continue;
		changed++;
		assert_true(time_ns == 0 || time_ns == next_ns);
		assert_true(slots_before[i] != first_ns && slots_before[i] != newest_ns);
	}
	assert_true(changed <= 1);
}

static void fill(uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		add(1 + i * INTERVAL);
	next_ns = 1 + i * INTERVAL;
	for (i = 0; i < POINTS_MAX; i++)
		slots_before[i] = fakes_point(i)->time_ns;
}

static void killed_in_a_reused_slot_only_that_point_is_missing(void **state)
{
	(void)state;
	fill(POINTS_MAX + 3);
	assert_true(fakes_step(add_next, check_slots) > 20);
	assert_int_equal(read_times(), POINTS_MAX);
	assert_int_equal(times[POINTS_MAX - 1], next_ns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_point_has_its_values_and_is_due_once_in_an_interval, begin),
		cmocka_unit_test_setup(until_the_slots_are_used_every_point_is_there, begin),
		cmocka_unit_test_setup(days_of_points_stay_bounded_and_fine_to_the_end, begin),
		cmocka_unit_test_setup(lonely_points_are_kept, begin),
		cmocka_unit_test_setup(with_less_memory_there_are_fewer_points, begin),
		cmocka_unit_test_setup(without_memory_each_point_is_a_loss, begin),
		cmocka_unit_test_setup(a_new_beginning_has_no_points, begin),
		cmocka_unit_test_setup(killed_in_a_reused_slot_only_that_point_is_missing, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
