/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_snapshot_budget.c - how much time snapshots may take, and how much text they may write.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "libpmem/settings.h"
#include "libpmem/snapshot_budget.h"

struct settings settings = {.snapshot_share = 10};

static const uint64_t ms = 1000000, second = 1000000000, credit = SNAPSHOT_CREDIT_BYTES;

static int begin(void **state)
{
	(void)state;
	settings.log_rate = 0;
	snapshot_budget_fork_child();
	return 0;
}

static void test_a_young_process_has_a_credit(void **state)
{
	(void)state;
	snapshot_budget_begin(100);
	snapshot_budget_spend(5 * ms);
	assert_true(snapshot_budget_allows(0, 100));
	snapshot_budget_spend(ms);
	assert_false(snapshot_budget_allows(0, 100));
	assert_int_equal(snapshot_budget_spent(), 6 * ms);
}

static void test_an_older_one_has_its_share(void **state)
{
	(void)state;
	snapshot_budget_begin(100);
	snapshot_budget_spend(50 * ms);
	assert_false(snapshot_budget_allows(10 * second - second / 10, 100));
	assert_true(snapshot_budget_allows(10 * second, 100));
}

static void test_call_stacks_that_are_new_take_longer(void **state)
{
	(void)state;
	snapshot_budget_begin(100);
	snapshot_budget_spend(2 * ms);
	assert_true(snapshot_budget_allows(0, 100 + 6000));
	assert_false(snapshot_budget_allows(0, 100 + 6001));
	assert_true(snapshot_budget_allows(10 * second, 100 + 96000));
	assert_false(snapshot_budget_allows(10 * second, 100 + 96001));
	/* Fewer than last time: no snapshot of theirs was seen. */
	assert_true(snapshot_budget_allows(0, 10));
}

static void test_a_first_one_is_not_for_nothing_either(void **state)
{
	(void)state;
	assert_true(snapshot_budget_allows(0, 10000));
	assert_false(snapshot_budget_allows(0, 10001));
}

/* A snapshot of bytes of text, in no time. */
static void snapshot_of(uint64_t bytes)
{
	snapshot_budget_begin(100);
	snapshot_budget_write(bytes);
}

static void test_text_has_a_credit(void **state)
{
	(void)state;
	settings.log_rate = 1000;
	assert_int_equal(credit, 1 << 20);
	snapshot_budget_begin(100);
	snapshot_budget_write(credit / 2);
	snapshot_budget_write(credit / 2); /* in two slices */
	assert_true(snapshot_budget_allows(0, 100));
	snapshot_budget_write(2);
	assert_false(snapshot_budget_allows(0, 100));
	assert_false(snapshot_budget_allows(ms, 100));
	assert_true(snapshot_budget_allows(2 * ms, 100));
}

static void test_text_has_its_rate(void **state)
{
	(void)state;
	settings.log_rate = 1000;
	snapshot_of(2 * credit);
	assert_false(snapshot_budget_allows(1048 * second + 575 * ms, 100));
	assert_true(snapshot_budget_allows(1048 * second + 576 * ms, 100));
	snapshot_of(10000);
	assert_false(snapshot_budget_allows(1058 * second + 575 * ms, 100));
	assert_true(snapshot_budget_allows(1058 * second + 576 * ms, 100));
	/* For a day, and for a century at the highest rate. */
	snapshot_budget_fork_child();
	settings.log_rate = 256 * 1024;
	snapshot_of(credit + 86400 * settings.log_rate);
	assert_false(snapshot_budget_allows(86400 * second - ms, 100));
	assert_true(snapshot_budget_allows(86400 * second, 100));
	settings.log_rate = UINT32_MAX;
	snapshot_of(UINT64_C(1) << 50);
	assert_true(snapshot_budget_allows(second * 86400 * 365 * 100, 100));
}

static void test_text_has_no_bound_at_rate_0(void **state)
{
	(void)state;
	snapshot_of(UINT64_C(1) << 60);
	assert_true(snapshot_budget_allows(0, 100));
}

static void test_both_time_and_text_are_bounds(void **state)
{
	(void)state;
	settings.log_rate = 1000;
	snapshot_of(10);
	snapshot_budget_spend(6 * ms);
	assert_false(snapshot_budget_allows(0, 100));
	assert_true(snapshot_budget_allows(2 * second, 100));
	snapshot_budget_write(credit + 2000 - 10);
	assert_true(snapshot_budget_allows(2 * second, 100));
	snapshot_budget_write(1);
	assert_false(snapshot_budget_allows(2 * second, 100));
}

static void test_a_forked_child_begins_anew(void **state)
{
	(void)state;
	settings.log_rate = 1000;
	snapshot_of(2 * credit);
	assert_false(snapshot_budget_allows(0, 100));
	snapshot_budget_fork_child();
	assert_true(snapshot_budget_allows(0, 100));
	snapshot_of(credit);
	assert_true(snapshot_budget_allows(0, 100));
	snapshot_budget_write(1);
	assert_false(snapshot_budget_allows(0, 100));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_a_young_process_has_a_credit, begin),
		cmocka_unit_test_setup(test_an_older_one_has_its_share, begin),
		cmocka_unit_test_setup(test_call_stacks_that_are_new_take_longer, begin),
		cmocka_unit_test_setup(test_a_first_one_is_not_for_nothing_either, begin),
		cmocka_unit_test_setup(test_text_has_a_credit, begin),
		cmocka_unit_test_setup(test_text_has_its_rate, begin),
		cmocka_unit_test_setup(test_text_has_no_bound_at_rate_0, begin),
		cmocka_unit_test_setup(test_both_time_and_text_are_bounds, begin),
		cmocka_unit_test_setup(test_a_forked_child_begins_anew, begin),
	};

	return cmocka_run_group_tests_name("snapshot_budget", tests, NULL, NULL);
}
