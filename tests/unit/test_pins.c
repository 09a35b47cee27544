/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_pins.c - free bytes of pages are shared out to the byte; a full table and samples of mappings lose none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/pins.h"

enum { PAGE = 4096, LOG2 = PINS_LOG2_MIN, SLOTS = 1 << LOG2, FIRST = 100 };

#define WINDOW UINT64_C(0x7f0000004000)

static struct pin slots[SLOTS];
static struct pins pins;

static void begin(void)
{
	memset(slots, 0, sizeof(slots));
	memset(&pins, 0, sizeof(pins));
	pins.slots = slots;
	pins.log2 = LOG2;
}

static void put(uint32_t stack_id, uint64_t from, uint64_t to)
{
	const struct live_cells_block block = {.start = WINDOW + from,
					       .end = WINDOW + to,
					       .addr = WINDOW + from,
					       .size = to - from,
					       .stack_id = stack_id};

	pins_block(&pins, WINDOW, &block);
}

/* The whole mapping was examined. */
static void end(uint64_t bytes)
{
	pins_end_mapping(&pins, &(struct pins_mapping){bytes, 4, 4});
}

static const struct pin *of(uint32_t stack_id)
{
	static const struct pin none;

	for (uint32_t i = 0; i < SLOTS; i++)
		if (slots[i].key && pins_stack(&slots[i]) == stack_id)
			return &slots[i];
	return &none;
}

static void check(uint32_t stack_id, uint64_t bytes, uint64_t pages)
{
	assert_int_equal(of(stack_id)->bytes, bytes);
	assert_int_equal(of(stack_id)->pages, pages);
}

static uint64_t sum(void)
{
	uint64_t all = 0;

	for (uint32_t i = 0; i < SLOTS; i++)
		all += slots[i].bytes;
	return all;
}

static void by_bytes_in_the_page(void **state)
{
	(void)state;
	begin();
	pins_begin_window(&pins, 0xf);
	put(5, 0, 100);
	put(6, 1000, 1300);
	put(5, PAGE - 50, PAGE + 10); /* a part of it in each */
	put(7, 3 * PAGE, 5 * PAGE);   /* goes on in the next window */
	pins_page(&pins, 0, PAGE - 450, 0);
	pins_page(&pins, 1, PAGE - 10, 0);
	pins_page(&pins, 3, 0, 0); /* full */
	end(2 * PAGE - 460);
	/* 3646 bytes: 100, 300 and 50 parts of 450. */
	check(5, 3646 * 100 / 450 + (3646 - 3646 * 400 / 450) + PAGE - 10, 2);
	check(6, 3646 * 400 / 450 - 3646 * 100 / 450, 1);
	check(7, 0, 0);
	assert_int_equal(sum(), 2 * PAGE - 460);
}

static void inherited_blocks_have_their_share(void **state)
{
	(void)state;
	begin();
	pins_begin_window(&pins, 0xf);
	put(5, 0, 1000);
	pins_page(&pins, 0, PAGE - 2000, 1000);
	pins_page(&pins, 1, PAGE - 16, 16);
	end(2 * PAGE - 2016);
	check(5, 1048, 1);
	check(FORMAT_PIN_INHERITED, 1048 + PAGE - 16, 2);
}

/* Half of a mapping was looked at, of another one all. */
static void samples_are_scaled(void **state)
{
	(void)state;
	begin();
	for (int page = 0; page < 3; page++) {
		pins_begin_window(&pins, 0xf);
		put(5, 0, 10);
		put(6, 10, 40);
		pins_page(&pins, 0, PAGE - 40, 0);
	}
	pins_end_mapping(&pins, &(struct pins_mapping){7 * (PAGE - 40) + 1, 7, 3});
	check(5, 7099, 7);
	check(6, 7 * (PAGE - 40) + 1 - 7099, 7);
	pins_begin_window(&pins, 0xf);
	put(6, 0, 96);
	pins_page(&pins, 0, PAGE - 96, 0);
	end(PAGE - 96);
	check(6, 7 * (PAGE - 40) + 1 - 7099 + PAGE - 96, 8);
	/* The mapping of nobody's pages. */
	end(0);
	assert_int_equal(sum(), 7 * (PAGE - 40) + 1 + PAGE - 96);
}

/* In pages that are there. */
static void slack_behind_blocks(void **state)
{
	const struct live_cells_block blocks[] = {
		{WINDOW - 8, WINDOW + 40, WINDOW, 25, 5, false},
		{WINDOW + PAGE - 50, WINDOW + PAGE + 30, WINDOW + PAGE - 42, 40, 5, false},
		{WINDOW + 2 * PAGE, WINDOW + 9 * PAGE, WINDOW + 2 * PAGE, PAGE + 96, 6, false},
	};

	(void)state;
	begin();
	pins_begin_window(&pins, 0xd); /* not page 1 */
	for (unsigned i = 0; i < 3; i++)
		pins_block(&pins, WINDOW, &blocks[i]);
	pins_end_mapping(&pins, &(struct pins_mapping){0, 6, 3});
	assert_int_equal(of(5)->slack, 2 * (15 + 2));
	assert_int_equal(of(6)->slack, 2 * (PAGE - 96));
	check(5, 0, 0);
}

static void a_full_table_counts_others_together(void **state)
{
	uint32_t room = SLOTS * 3 / 4;

	(void)state;
	begin();
	for (uint32_t i = 0; i < 2 * SLOTS; i++) {
		pins_begin_window(&pins, 0xf);
		put(FIRST + i, 0, 96);
		pins_page(&pins, 0, PAGE - 96, 0);
	}
	pins_end_mapping(&pins, &(struct pins_mapping){UINT64_C(2) * SLOTS * (PAGE - 96), 2 * SLOTS,
						       2 * SLOTS});
	for (uint32_t i = 0; i < room; i++)
		check(FIRST + i, PAGE - 96, 1);
	check(FIRST + room, 0, 0);
	check(FORMAT_PIN_OTHERS, (UINT64_C(2) * SLOTS - room) * (PAGE - 96), 2 * SLOTS - room);
}

static void without_a_table_nothing_is_kept(void **state)
{
	(void)state;
	begin();
	pins.slots = NULL;
	pins_begin_window(&pins, 0xf);
	put(5, 0, 100);
	pins_page(&pins, 0, PAGE - 100, 0);
	end(PAGE - 100);
	assert_int_equal(sum(), 0);
}

static void slots_for_all_up_to_a_limit(void **state)
{
	(void)state;
	assert_int_equal(pins_log2(0, 15), PINS_LOG2_MIN);
	assert_int_equal(pins_log2(200, 15), 9);
	assert_int_equal(pins_log2(UINT32_MAX, 15), 15);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_bytes_in_the_page),
		cmocka_unit_test(inherited_blocks_have_their_share),
		cmocka_unit_test(samples_are_scaled),
		cmocka_unit_test(slack_behind_blocks),
		cmocka_unit_test(a_full_table_counts_others_together),
		cmocka_unit_test(without_a_table_nothing_is_kept),
		cmocka_unit_test(slots_for_all_up_to_a_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
