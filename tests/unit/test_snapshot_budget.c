/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_snapshot_budget.c - how much time snapshots may take.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "libpmem/settings.h"
#include "libpmem/snapshot_budget.h"

struct settings settings = {.snapshot_share = 10};

static const uint64_t ms = 1000000, second = 1000000000;

static int begin(void **state)
{
	(void)state;
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

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_a_young_process_has_a_credit, begin),
		cmocka_unit_test_setup(test_an_older_one_has_its_share, begin),
		cmocka_unit_test_setup(test_call_stacks_that_are_new_take_longer, begin),
		cmocka_unit_test_setup(test_a_first_one_is_not_for_nothing_either, begin),
	};

	return cmocka_run_group_tests_name("snapshot_budget", tests, NULL, NULL);
}
