/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_series.c - samples of call stacks: which are taken, and what is left when there is no more room.
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
#include "libpmem/series.h"
#include "libpmem/settings.h"
#include "libpmem/store.h"
#include "libpmem/thinning.h"
#include "timeline_fakes.h"

enum { LEAST = 1024, ROOM = SERIES_STACK_CHUNKS * FORMAT_SAMPLES };

struct settings settings;

static struct format_sample samples[ROOM + 1];
static uint64_t now;

static int begin(void **state)
{
	(void)state;
	settings.max_nodes = 400000;
	fakes_clear_store();
	series_forget();
	now = 0;
	return 0;
}

/* Total ever allocated, in a reading of that time. */
static uint64_t alloc_at(uint64_t time_ns)
{
	return time_ns * 1000003;
}

static void note(uint32_t id, uint64_t live)
{
	const struct series_reading reading = {
		.time_ns = now + 1, .live_bytes = live, .alloc_bytes = alloc_at(now + 1)};

	now++;
	series_note(id, &reading, LEAST);
}

static uint32_t read_samples(uint32_t id)
{
	uint32_t count = fakes_samples(id, samples, ROOM + 1);

	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(samples[i].alloc_bytes, alloc_at(samples[i].time_ns));
	return count;
}

static void only_changes_of_large_call_stacks_are_samples(void **state)
{
	(void)state;
	note(7, LEAST - 1);
	assert_int_equal(read_samples(7), 0);
	note(7, LEAST);
	note(7, LEAST); /* the same */
	assert_int_equal(read_samples(7), 1);
	assert_int_equal(samples[0].time_ns, 2);
	assert_int_equal(samples[0].live_bytes, LEAST);
	note(7, 10); /* was large */
	note(7, 20); /* was small, and is */
	note(8, 5000);
	assert_int_equal(read_samples(7), 2);
	assert_int_equal(samples[1].live_bytes, 10);
	note(7, 2000);
	note(7, 0);
	assert_int_equal(read_samples(7), 4);
	assert_int_equal(samples[3].live_bytes, 0);
	assert_int_equal(read_samples(8), 1);
	assert_int_equal(store_head()->series_count, 2);
}

/* Between two samples there were others just where that is said, for samples of each moment from 1 on. */
static void expect_gaps_are_marked(uint32_t count)
{
	for (uint32_t n = 1; n < count; n++)
		assert_int_equal(fakes_gap(3, samples[n].time_ns),
				 samples[n].time_ns - samples[n - 1].time_ns > 1);
	assert_false(fakes_gap(3, samples[0].time_ns));
}

static void many_samples_are_thinned_and_both_ends_stay(void **state)
{
	uint32_t count, i;

	(void)state;
	for (i = 1; i <= ROOM; i++)
		note(3, LEAST + i);
	assert_int_equal(read_samples(3), ROOM);
	expect_gaps_are_marked(ROOM);
	for (; i <= 100000; i++) {
		note(3, LEAST + i);
		if (i % 37)
			continue;
		count = read_samples(3);
		assert_in_range(count, ROOM / 3 * 2, ROOM);
		assert_int_equal(samples[0].time_ns, 1);
		assert_int_equal(samples[count - 1].time_ns, now);
		for (uint32_t n = 0; n < count; n++)
			assert_int_equal(samples[n].live_bytes, LEAST + samples[n].time_ns);
		/* Everywhere alike, but finer to the end: by a quarter of the age at most. */
		for (uint32_t n = 1; n < count; n++) {
			uint64_t age = now - samples[n].time_ns;

			assert_in_range(samples[n].time_ns - samples[n - 1].time_ns, 1,
					age / 4 + 2 < now / 18 + 2 ? age / 4 + 2 : now / 18 + 2);
		}
		expect_gaps_are_marked(count);
	}
	assert_int_equal(store_head()->series_count, SERIES_STACK_CHUNKS);
	assert_int_equal(loss_count(FORMAT_LOSS_TIMELINE), 0);
}

/* The pool is filled by call stacks that hold size bytes, each with one chunk. */
static void fill_pool(uint32_t first, uint64_t size)
{
	for (uint32_t id = first; store_head()->series_count < SERIES_CHUNKS_MAX; id++)
		note(id, size);
}

static void a_full_pool_takes_from_those_that_were_always_small(void **state)
{
	const struct series_reading large = {.time_ns = 10000000, .live_bytes = 90000};
	uint32_t i;

	(void)state;
	note(1, 50000);
	note(1, 0); /* small now, but it was not always */
	fill_pool(100, 2000);
	assert_int_equal(loss_count(FORMAT_LOSS_TIMELINE), 0);
	for (i = 0; i < 1000; i++)
		series_note(200000 + i, &large, 10000); /* 2,000 bytes are not worth a sample now */
	assert_int_equal(store_head()->series_count, SERIES_CHUNKS_MAX);
	assert_int_equal(fakes_samples(200000, samples, ROOM), 1);
	assert_int_equal(samples[0].live_bytes, 90000);
	assert_int_equal(fakes_samples(200999, samples, ROOM), 1);
	assert_int_equal(read_samples(1), 2);
	assert_int_equal(read_samples(100), 0);
	assert_int_equal(read_samples(1098), 0);
	assert_int_equal(read_samples(1100), 1);
	assert_int_equal(loss_count(FORMAT_LOSS_TIMELINE), 0);
	/* Who lost its samples begins anew. */
	series_note(100, &large, 10000);
	assert_int_equal(fakes_samples(100, samples, ROOM), 1);
}

static void without_more_chunks_a_call_stack_thins_what_it_has(void **state)
{
	enum { CHUNKS = FORMAT_BLOCK_SIZE / sizeof(struct format_series) };
	uint32_t id, i, count;

	(void)state;
	fakes_block_limit[FORMAT_SERIES] = 1;
	for (id = 1; id <= CHUNKS; id++)
		note(id, 9000);
	for (i = 0; i < 1000; i++)
		note(5, 10000 + i);
	count = read_samples(5);
	assert_in_range(count, 3, FORMAT_SAMPLES);
	assert_int_equal(samples[0].live_bytes, 9000);
	assert_int_equal(samples[count - 1].live_bytes, 10999);
	assert_int_equal(loss_count(FORMAT_LOSS_TIMELINE), 0);
	assert_int_equal(loss_count(FORMAT_LOSS_MEMORY), 1);
	note(id, 9000); /* has none */
	assert_int_equal(loss_count(FORMAT_LOSS_TIMELINE), 1);
	assert_int_equal(read_samples(id), 0);
}

static void ids_beyond_the_tree_are_a_loss(void **state)
{
	(void)state;
	note(UINT32_MAX, 9000);
	note(440000 + 64, 9000);
	assert_int_equal(loss_count(FORMAT_LOSS_TIMELINE), 2);
	note(440000, 9000);
	assert_int_equal(read_samples(440000), 1);
}

static void a_child_forgets_all(void **state)
{
	(void)state;
	note(9, 9000);
	fakes_clear_store();
	series_forget();
	note(9, 9000);
	assert_int_equal(read_samples(9), 1);
	assert_int_equal(store_head()->series_count, 1);
}

/* --- killed at any instruction --------------------------------------------------------------- */

static uint64_t expected[ROOM]; /* times that must be there */
static uint32_t expected_count;

static void note_next(void)
{
	note(3, LEAST + now + 1);
}

static void check_samples(void)
{
	uint32_t count = read_samples(3), i, n = 0;

	for (i = 0; i < count; i++) {
		assert_int_equal(samples[i].live_bytes, LEAST + samples[i].time_ns);
		if (n < expected_count && samples[i].time_ns == expected[n])
			n++;
		/* What is missing is never taken for known. */
		if (i > 0 && samples[i].time_ns - samples[i - 1].time_ns > 1)
			assert_true(fakes_gap(3, samples[i].time_ns));
	}
	assert_int_equal(n, expected_count);
}

/* Those that thinning leaves: thinning_choose() is asked for the same. */
static uint64_t moment(uint32_t i)
{
	return 1 + i;
}

static void choose_expected(void)
{
	bool drop[ROOM] = {false};
	const struct thinning thinning = {moment, ROOM, ROOM * 7 / 8, drop};
	uint64_t ignored;

	thinning_choose(&thinning, &ignored);
	for (uint32_t i = expected_count = 0; i < ROOM; i++)
		if (!drop[i])
			expected[expected_count++] = 1 + i;
	assert_in_range(expected_count, ROOM / 2, ROOM * 7 / 8);
}

static void killed_while_thinning_no_kept_sample_is_missing(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i < ROOM; i++)
		note(3, LEAST + now + 1);
	/* All that are there when it is done. */
	choose_expected();
	assert_true(fakes_step(note_next, check_samples) > 1000);
	assert_int_equal(read_samples(3), expected_count + 1);
	assert_int_equal(samples[expected_count].time_ns, ROOM + 1);
}

/* All chunks have samples that would be too small soon, and call stack 3 got none. */
static void fill_with_small(void)
{
	uint32_t i;

	fakes_block_limit[FORMAT_SERIES] = 1;
	for (i = 0; i < FORMAT_BLOCK_SIZE / sizeof(struct format_series); i++)
		note(100 + i, LEAST);
	note(3, LEAST + now + 1);
	assert_int_equal(read_samples(3), 0);
	assert_int_equal(loss_count(FORMAT_LOSS_TIMELINE), 1);
	expected_count = 0;
}

static void add_large(void)
{
	const struct series_reading large = {
		.time_ns = now + 1, .live_bytes = LEAST + now + 1, .alloc_bytes = alloc_at(now + 1)};

	series_note(3, &large, LEAST + 1);
}

static void check_owners(void)
{
	enum { CHUNKS = FORMAT_BLOCK_SIZE / sizeof(struct format_series) };
	uint32_t i, others = 0;

	check_samples();
	for (i = 0; i < CHUNKS; i++)
		others += fakes_series(i)->stack_id > 3;
	assert_true(others >= CHUNKS - 1);
}

static void killed_while_taking_over_at_most_one_chunk_is_nobodys(void **state)
{
	(void)state;
	fill_with_small();
	assert_true(fakes_step(add_large, check_owners) > 100);
	assert_int_equal(read_samples(3), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(only_changes_of_large_call_stacks_are_samples, begin),
		cmocka_unit_test_setup(many_samples_are_thinned_and_both_ends_stay, begin),
		cmocka_unit_test_setup(a_full_pool_takes_from_those_that_were_always_small, begin),
		cmocka_unit_test_setup(without_more_chunks_a_call_stack_thins_what_it_has, begin),
		cmocka_unit_test_setup(ids_beyond_the_tree_are_a_loss, begin),
		cmocka_unit_test_setup(a_child_forgets_all, begin),
		cmocka_unit_test_setup(killed_while_thinning_no_kept_sample_is_missing, begin),
		cmocka_unit_test_setup(killed_while_taking_over_at_most_one_chunk_is_nobodys, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
