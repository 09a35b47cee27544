/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_timeline.c - when points are taken and call stacks walked, with a program and clocks of known content.
 */
#include "timeline_fixture.h"

static const struct timeline_event none;

/* --- points ---------------------------------------------------------------------------------- */

static void the_first_check_takes_a_point(void **state)
{
	(void)state;
	event(0, 5, 5000, 1000);
	event(1, 700, 0, 500); /* a free of another thread's block */
	event(2, 700, 800, 0);
	loss_add(FORMAT_LOSS_EVENTS, 3);
	check_after(4 * MS);
	assert_int_equal(point_count(), 1);
	assert_int_equal(last_point()->time_ns, 4 * MS);
	assert_int_equal(last_point()->live_bytes, 4300);
	assert_int_equal(last_point()->rss_bytes, 8192);
	assert_int_equal(store_head()->address_bytes, 16384);
	assert_int_equal(store_head()->data_bytes, 12288);
	assert_int_equal(last_point()->lost_events, 3);
	expect_sums(last_point());
	assert_int_equal(store_head()->update_ns, 4 * MS);
	assert_int_equal(store_head()->live_bytes_hint, 4300);
	assert_int_equal(fakes_samples(5, samples, ROOM), 1);
	assert_int_equal(samples[0].time_ns, 4 * MS);
	assert_int_equal(samples[0].live_bytes, 4000);
	assert_int_equal(samples[0].alloc_bytes, 5000);
	assert_int_equal(fakes_samples(700, samples, ROOM), 0); /* 300 bytes */
}

static void the_clock_may_stand_behind_the_start(void **state)
{
	(void)state;
	coarse_ns = START - 3 * MS;
	timeline_check();
	assert_int_equal(point_count(), 0); /* not due yet */
	timeline_final();
	assert_int_equal(last_point()->time_ns, 1);
	timeline_final(); /* no time has passed */
	assert_int_equal(point_count(), 2);
	assert_int_equal(last_point()->time_ns, 2);
}

static void what_is_mapped_is_beside_the_heap(void **state)
{
	(void)state;
	event(0, 5, 5000, 1000); /* the mappings' neighbour */
	for (uint32_t i = 0; i < 150; i++)
		fakes_mapped[i] = (struct mappings_counts){6 + i, 2, 8192 + i, 4096};
	fakes_mapped[149].stack_id = TREE_STACK_SIGNAL;
	check_after(4 * MS);
	assert_int_equal(last_point()->live_bytes, 4000);
	assert_int_equal(last_point()->mapped_bytes, 150 * 4096 + 149 * 150 / 2);
	expect_sums(last_point());
	for (uint32_t i = 0; i < 149; i++) {
		assert_int_equal(fakes_samples(6 + i, samples, ROOM), 1);
		assert_int_equal(samples[0].live_bytes, 4096 + i);
		assert_int_equal(samples[0].alloc_bytes, 8192 + i);
	}
	assert_int_equal(fakes_samples(TREE_STACK_SIGNAL, samples, ROOM), 0);
	fakes_mapped[3].unmapped_bytes = fakes_mapped[3].mapped_bytes;
	check_after(400 * MS);
	assert_int_equal(shown_live(9), 0);
	assert_int_equal(fakes_samples(9, samples, ROOM), 2);
}

static void points_keep_their_distance_and_gaps_stay_gaps(void **state)
{
	(void)state;
	for (int i = 0; i < 500; i++)
		check_after(8 * MS);
	assert_int_equal(point_count(), 17); /* 4 s: at 8 ms, and then from 250 ms on */
	check_after(60000 * MS);
	check_after(4 * MS);
	assert_int_equal(point_count(), 18);
	assert_int_equal(last_point()->time_ns, 64000 * MS);
}

static void the_peak_has_the_time_of_the_next_point(void **state)
{
	(void)state;
	check_after(4 * MS);
	assert_int_equal(store_head()->peak_ns, 0);
	pass(100 * MS);
	peak_epoch_now = 9;
	check_after(200 * MS);
	assert_int_equal(store_head()->peak_ns, 304 * MS);
	check_after(600 * MS);
	assert_int_equal(store_head()->peak_ns, 304 * MS);
}

static void nothing_happens_when_it_is_off(void **state)
{
	(void)state;
	settings.timeline_ms = 0;
	start_process();
	timeline_fork_child(); /* what timeline_init() did is gone */
	timeline_final();
	assert_int_equal(point_count(), 0);
}

static void without_a_log_the_resident_set_is_begun_here(void **state)
{
	(void)state;
	assert_int_equal(rss_begun, 0);
	settings.log = false;
	timeline_init();
	assert_int_equal(rss_begun, 1);
	timeline_fork_child();
	assert_int_equal(rss_begun, 101);
}

/* --- walks ----------------------------------------------------------------------------------- */

static uint64_t random_state = 1;

static uint32_t next_random(uint32_t below)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(random_state >> 33) % below;
}

static void work(void)
{
	uint32_t id = 1 + next_random(IDS - 1), t = next_random(THREADS);
	uint64_t size = 1 + (next_random(10) ? next_random(3000) : next_random(40000000));

	if (next_random(2) && live_of(id))
		event(t, id, 0, next_random(2) ? live_of(id) : 1 + live_of(id) / 3);
	else
		event(t, id, size, 0);
}

static void every_large_call_stack_is_shown_after_each_walk(void **state)
{
	(void)state;
	for (int i = 0; i < 300; i++) {
		pass(252 * MS);
		timeline_look_back(&none);
		for (int n = 0; n < 20; n++)
			work();
		timeline_check();
		expect_sums(last_point());
		if (i % 10 == 0)
			expect_shown();
	}
	assert_int_equal(point_count(), 300);
	assert_int_equal(loss_count(FORMAT_LOSS_TIMELINE), 0);
}

static void a_walk_goes_on_in_later_checks(void **state)
{
	int slices;

	(void)state;
	for (int n = 0; n < 5000; n++)
		work();
	pass(100000 * MS); /* may spend 500 ms */
	clock_step_ns = MS * 7 / 10;
	timeline_check();
	assert_int_equal(last_point()->alloc_count, 0);
	assert_true(read_count > 0 && read_count <= 4 * THREADS * FORMAT_CHUNK);
	for (slices = 1; last_point()->alloc_count == 0 && slices < 100; slices++) {
		uint32_t before = read_count;

		coarse_ns = clock_ns;
		timeline_check();
		assert_true(read_count - before <= 4 * THREADS * FORMAT_CHUNK);
	}
	assert_in_range(slices, 4, 6);
	assert_int_equal(point_count(), 1);
	assert_int_equal(read_count, THREADS * IDS);
	expect_sums(last_point());
	expect_shown();
}

static void the_time_spent_stays_within_its_share(void **state)
{
	uint64_t worst = 0;

	(void)state;
	for (int n = 0; n < 5000; n++)
		work();
	clock_step_ns = MS / 5; /* a walk: more than 3 ms */
	for (int i = 0; i < 200000; i++) {
		uint64_t uptime, spent;

		work();
		check_after(MS / 2);
		uptime = clock_ns - START;
		spent = store_head()->timeline_ns;
		if (uptime / TIMELINE_SHARE > TIMELINE_CREDIT_NS &&
		    spent > uptime / TIMELINE_SHARE && spent - uptime / TIMELINE_SHARE > worst)
			worst = spent - uptime / TIMELINE_SHARE;
	}
	assert_true(worst <= 2 * TIMELINE_SLICE_NS);
	assert_in_range(store_head()->timeline_ns, (clock_ns - START) / 400,
			(clock_ns - START) / 190);
	assert_int_equal(point_count(), (clock_ns - START) / (250 * MS) + 1); /* all the same */
}

static void a_walk_that_does_not_fit_in_is_not_begun(void **state)
{
	uint32_t before;

	(void)state;
	for (int n = 0; n < 5000; n++)
		work();
	clock_step_ns = MS * 4 / 10;
	for (int i = 0; i < 10; i++)
		check_after(4 * MS);
	expect_sums(fakes_point(0));
	assert_in_range(store_head()->timeline_ns, TIMELINE_CREDIT_NS / 2,
			TIMELINE_CREDIT_NS - 2 * MS);
	before = read_count;
	check_after(200 * MS);
	check_after(52 * MS);
	assert_int_equal(point_count(), 2);
	assert_int_equal(read_count, before);
	check_after(4000 * MS); /* now it does */
	assert_true(read_count > before);
}

static void the_final_walk_is_complete_whatever_was_spent(void **state)
{
	(void)state;
	for (int n = 0; n < 5000; n++)
		work();
	clock_step_ns = MS;
	for (int i = 0; i < 100; i++)
		check_after(4 * MS);
	assert_true(store_head()->timeline_ns >= TIMELINE_CREDIT_NS);
	work();
	timeline_final();
	expect_sums(last_point());
	expect_shown();
}

static void the_final_walk_ends_in_time(void **state)
{
	uint64_t before_ns;

	(void)state;
	for (int n = 0; n < 5000; n++)
		work();
	clock_step_ns = 5 * MS;
	before_ns = clock_ns;
	timeline_final();
	assert_true(clock_ns - before_ns <= TIMELINE_FINAL_NS + 3 * clock_step_ns);
	assert_int_equal(point_count(), 1);
	assert_int_equal(last_point()->alloc_bytes, 0); /* not known */
}

/* --- signal handlers and forks --------------------------------------------------------------- */

static void check_and_end(void)
{
	coarse_ns += 10000 * MS;
	timeline_check();
	timeline_final();
}

static void a_handler_inside_a_slice_does_without(void **state)
{
	(void)state;
	event(0, 5, 5000, 0);
	interrupt = check_and_end;
	check_after(4 * MS);
	assert_null(interrupt);
	assert_int_equal(point_count(), 1);
	expect_sums(last_point());
	assert_int_equal(loss_count(FORMAT_LOSS_TIMELINE), 1); /* the end's */
	coarse_ns = clock_ns;
	check_after(300 * MS);
	assert_int_equal(point_count(), 2);
}

static void fork_here(void)
{
	start_process();
	timeline_fork_child();
	timeline_check();
	assert_int_equal(point_count(), 0);
}

static void a_child_of_a_handler_begins_after_the_slice(void **state)
{
	(void)state;
	event(0, 5, 5000, 0);
	event(0, 500, 5000, 0);
	pass(4 * MS);
	interrupt = fork_here;
	timeline_final();
	assert_null(interrupt);
	/* Nothing of the parent's slice got into the child. */
	assert_int_equal(point_count() | store_head()->series_count, 0);
	assert_int_equal(store_head()->timeline_ns, 0);
	check_after(4 * MS);
	assert_int_equal(point_count(), 1);
	expect_sums(last_point());
	expect_shown();
}

static void wipe_mark(void)
{
	process_page.mark = 0;
}

static void a_child_that_does_not_record_writes_nothing_more(void **state)
{
	(void)state;
	event(0, 5, 5000, 0);
	interrupt = wipe_mark;
	check_after(4 * MS);
	assert_int_equal(store_head()->series_count, 0);
	assert_int_equal(last_point()->alloc_count, 0);
	check_after(1000 * MS);
	timeline_final();
	assert_int_equal(point_count(), 1);
	process_page.mark = 1;
	start_process();
	timeline_fork_child();
	check_after(4 * MS);
	expect_sums(last_point());
	expect_shown();
}

static void a_forked_child_begins_anew(void **state)
{
	(void)state;
	event(0, 5, 5000, 0);
	check_after(4 * MS);
	check_after(5000 * MS);
	start_process();
	timeline_fork_child();
	assert_int_equal(store_head()->interval_ns, 250 * MS);
	check_after(4 * MS);
	assert_int_equal(point_count(), 1);
	assert_int_equal(last_point()->time_ns, 4 * MS);
	assert_int_equal(fakes_samples(5, samples, ROOM), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(the_first_check_takes_a_point, begin),
		cmocka_unit_test_setup(what_is_mapped_is_beside_the_heap, begin),
		cmocka_unit_test_setup(the_clock_may_stand_behind_the_start, begin),
		cmocka_unit_test_setup(points_keep_their_distance_and_gaps_stay_gaps, begin),
		cmocka_unit_test_setup(the_peak_has_the_time_of_the_next_point, begin),
		cmocka_unit_test_setup(nothing_happens_when_it_is_off, begin),
		cmocka_unit_test_setup(without_a_log_the_resident_set_is_begun_here, begin),
		cmocka_unit_test_setup(every_large_call_stack_is_shown_after_each_walk, begin),
		cmocka_unit_test_setup(a_walk_goes_on_in_later_checks, begin),
		cmocka_unit_test_setup(the_time_spent_stays_within_its_share, begin),
		cmocka_unit_test_setup(a_walk_that_does_not_fit_in_is_not_begun, begin),
		cmocka_unit_test_setup(the_final_walk_is_complete_whatever_was_spent, begin),
		cmocka_unit_test_setup(the_final_walk_ends_in_time, begin),
		cmocka_unit_test_setup(a_handler_inside_a_slice_does_without, begin),
		cmocka_unit_test_setup(a_child_of_a_handler_begins_after_the_slice, begin),
		cmocka_unit_test_setup(a_child_that_does_not_record_writes_nothing_more, begin),
		cmocka_unit_test_setup(a_forked_child_begins_anew, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
