/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_timeline_silence.c - points of the moment at which a time without events began.
 */
#include "timeline_fixture.h"

static const struct timeline_event none;

/* The latest point is at 904 ms; what happens then is seen by looks at 944 and 984 ms, and a little by none. */
static void burst(void)
{
	event(0, 5, 50000, 0);
	check_after(4 * MS);
	check_after(240 * MS);
	check_after(240 * MS);
	check_after(240 * MS);
	check_after(180 * MS);
	assert_int_equal(last_point()->time_ns, 904 * MS);
	event(1, 700, 800000, 0);
	check_after(40 * MS);
	event(2, 5, 0, 50000);
	check_after(40 * MS);
	event(2, 700, 200, 0);
	assert_int_equal(last_point()->time_ns, 904 * MS);
}

static void expect_burst(const struct format_point *point)
{
	uint32_t count = fakes_samples(700, samples, ROOM);

	assert_int_equal(point->time_ns, 984 * MS);
	assert_int_equal(point->live_bytes, 800200);
	assert_int_equal(point->alloc_bytes, 850200);
	assert_true(count >= 1);
	assert_int_equal(samples[0].time_ns, 984 * MS);
	assert_int_equal(samples[0].live_bytes, 800200);
	assert_int_equal(fakes_samples(5, samples, ROOM), 2);
	assert_int_equal(samples[1].time_ns, 984 * MS);
	assert_int_equal(samples[1].live_bytes, 0);
}

static void the_end_looks_back_over_a_silence(void **state)
{
	uint32_t before;

	(void)state;
	burst();
	before = point_count();
	pass(12000 * MS);
	timeline_final();
	assert_int_equal(point_count(), before + 2);
	expect_burst(fakes_point(before));
	assert_int_equal(last_point()->time_ns, 12984 * MS);
	assert_int_equal(last_point()->live_bytes, 800200);
	assert_int_equal(fakes_samples(700, samples, ROOM), 1);
}

static void a_large_event_after_a_silence_is_not_of_before(void **state)
{
	uint32_t before;

	(void)state;
	burst();
	before = point_count();
	pass(12000 * MS);
	assert_true(timeline_was_silent());
	timeline_look_back(&none);
	assert_int_equal(point_count(), before + 1);
	event(1, 700, 5000000, 0);
	timeline_check();
	assert_false(timeline_was_silent());
	assert_int_equal(point_count(), before + 2);
	expect_burst(fakes_point(before));
	assert_int_equal(last_point()->live_bytes, 5800200);
	expect_shown();
}

static void what_is_counted_already_is_left_out(void **state)
{
	const struct timeline_event counted = {700, 5000000};
	uint32_t before;

	(void)state;
	burst();
	before = point_count();
	pass(12000 * MS);
	event(1, 700, 5000000, 0);
	peak_epoch_now = 9;
	timeline_look_back(&counted);
	timeline_check();
	assert_int_equal(point_count(), before + 2);
	expect_burst(fakes_point(before));
	assert_int_equal(last_point()->live_bytes, 5800200);
	assert_int_equal(last_point()->alloc_bytes, 5850200);
	assert_int_equal(store_head()->peak_ns, 12984 * MS);
	expect_shown();
}

static void there_is_nothing_to_look_back_at_without_a_look(void **state)
{
	(void)state;
	event(0, 5, 50000, 0);
	check_after(4 * MS);
	for (int i = 1; i < 20; i++) {
		event(0, 5, 5000, 0);
		check_after(1000 * MS);
	}
	assert_int_equal(point_count(), 20);
	assert_false(timeline_was_silent());
}

static void the_tick_of_a_point_is_before_the_silence(void **state)
{
	(void)state;
	event(0, 5, 500000, 0);
	check_after(4 * MS);
	event(0, 5, 0, 400000);
	pass(4000 * MS);
	timeline_final();
	assert_int_equal(point_count(), 3);
	assert_int_equal(fakes_point(1)->time_ns, 4 * MS + 1);
	assert_int_equal(fakes_point(1)->live_bytes, 100000);
	assert_int_equal(fakes_samples(5, samples, ROOM), 2);
	assert_int_equal(samples[1].time_ns, 4 * MS + 1);
	assert_int_equal(samples[1].live_bytes, 100000);
}

static void a_walk_back_ends_in_time_and_is_of_no_use_later(void **state)
{
	uint32_t before;

	(void)state;
	burst();
	before = point_count();
	pass(4000 * MS);
	clock_step_ns = 19 * MS;
	timeline_look_back(&none);
	clock_step_ns = 0;
	assert_int_equal(point_count(), before + 1);
	assert_int_equal(last_point()->alloc_count, 0); /* not known */
	event(1, 700, 5000000, 0);
	timeline_check();
	check_after(20000 * MS); /* what was spent is over the budget until then */
	assert_int_equal(fakes_point(before)->alloc_count, 0);
	expect_sums(last_point());
	expect_shown();
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(the_end_looks_back_over_a_silence, begin),
		cmocka_unit_test_setup(a_large_event_after_a_silence_is_not_of_before, begin),
		cmocka_unit_test_setup(what_is_counted_already_is_left_out, begin),
		cmocka_unit_test_setup(there_is_nothing_to_look_back_at_without_a_look, begin),
		cmocka_unit_test_setup(the_tick_of_a_point_is_before_the_silence, begin),
		cmocka_unit_test_setup(a_walk_back_ends_in_time_and_is_of_no_use_later, begin),
	};

	return cmocka_run_group_tests_name("timeline_silence", tests, NULL, NULL);
}
