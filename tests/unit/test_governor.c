/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_governor.c - a thread's account of time for its walks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "libpmem/governor.h"

struct settings settings;

enum { MS = 1000000, SHARE = 30 /* 3 % */ };

static uint32_t taken_of(struct governor *governor, uint32_t count)
{
	uint32_t taken = 0, i;

	for (i = 0; i < count; i++)
		taken += governor_takes(governor);
	return taken;
}

static void test_a_new_account_has_a_credit(void **state)
{
	struct governor governor = {0};

	(void)state;
	governor_settle(&governor, 10 * MS, 20 * MS, SHARE);
	assert_int_equal(governor.every, 0);
	assert_int_equal(governor.overdrawn_ns, 20 * MS - 10 * MS * SHARE / 1000);
	governor_settle(&governor, 10 * MS, 6 * MS, SHARE);
	assert_int_equal(governor.every, 1);
}

static void test_it_never_holds_more_than_its_credit(void **state)
{
	struct governor governor = {0};

	(void)state;
	governor_settle(&governor, 1000000 * (uint64_t)MS, 0, SHARE);
	assert_int_equal(governor.overdrawn_ns, 0);
	governor_settle(&governor, 0, GOVERNOR_CREDIT_NS + 1, SHARE);
	assert_int_equal(governor.every, 1);
}

static void test_it_recovers_and_owes_no_more_than_some_credits(void **state)
{
	struct governor governor = {0};
	int i;

	(void)state;
	for (i = 0; i < 100; i++)
		governor_settle(&governor, 10 * MS, 10 * MS, SHARE);
	assert_int_equal(1u << governor.every, GOVERNOR_EVERY_MAX);
	assert_int_equal(governor.overdrawn_ns, 4 * GOVERNOR_CREDIT_NS);
	/* 3 % of a second are 30 ms. */
	for (i = 0; i < 3; i++)
		governor_settle(&governor, 1000 * (uint64_t)MS, 0, SHARE);
	assert_int_equal(governor.overdrawn_ns, 10 * MS);
	assert_int_equal(1u << governor.every, GOVERNOR_EVERY_MAX / 2);
	for (i = 0; i < 100; i++)
		governor_settle(&governor, 1000 * (uint64_t)MS, 0, SHARE);
	assert_int_equal(governor.every, 0);
}

/* In a steady state the walks take their share: what is taken is in proportion to 2^-every. */
static void test_in_the_long_run_the_share_is_kept(void **state)
{
	struct governor governor = {0};
	uint64_t walks = 0, total = 0;
	int i;

	(void)state;
	for (i = 0; i < 100000; i++) {
		uint64_t cpu = 1 * MS, walk = MS / 2 >> governor.every;

		governor_settle(&governor, cpu, walk, SHARE);
		walks += walk;
		total += cpu;
	}
	assert_in_range(walks * 1000 / total, SHARE * 9 / 10, SHARE);
}

static void test_all_are_taken_or_one_in_so_many(void **state)
{
	struct governor governor = {0};

	(void)state;
	settings.max_overhead = 1000;
	assert_int_equal(taken_of(&governor, 10000), 10000);
	governor = (struct governor){
		.every = 3, .overdrawn_ns = 4 * (int64_t)GOVERNOR_CREDIT_NS, .seen = 1};
	assert_in_range(taken_of(&governor, GOVERNOR_LOOK - 1), GOVERNOR_LOOK / 8 - 12,
			GOVERNOR_LOOK / 8 + 12);
}

static void test_another_thread_begins_anew(void **state)
{
	struct governor governor = {.every = 5, .overdrawn_ns = 7, .seen = 9, .spent = 1};

	(void)state;
	governor_reset(&governor);
	assert_int_equal(governor.every, 0);
	assert_int_equal(governor.overdrawn_ns, 0);
	assert_int_equal(governor.seen, 0);
	assert_int_equal(governor.spent, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_new_account_has_a_credit),
		cmocka_unit_test(test_it_never_holds_more_than_its_credit),
		cmocka_unit_test(test_it_recovers_and_owes_no_more_than_some_credits),
		cmocka_unit_test(test_in_the_long_run_the_share_is_kept),
		cmocka_unit_test(test_all_are_taken_or_one_in_so_many),
		cmocka_unit_test(test_another_thread_begins_anew),
	};

	return cmocka_run_group_tests_name("governor", tests, NULL, NULL);
}
