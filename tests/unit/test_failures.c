/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_failures.c - failed allocations by call stack: sums without a wrap, the first one, and what finds no room.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "libpmem/failures.h"
#include "libpmem/loss.h"
#include "libpmem/store.h"
#include "timeline_fakes.h"

static uint64_t now_ns;

uint64_t sys_monotonic_ns(void)
{
	return now_ns;
}

static int begin(void **state)
{
	(void)state;
	fakes_clear_store();
	now_ns = 100;
	return 0;
}

static const struct format_failure *item(uint32_t index)
{
	return store_item(FORMAT_FAILURES, sizeof(struct format_failure), index);
}

static void each_call_stack_has_its_sums(void **state)
{
	struct failures_sum sum;

	(void)state;
	failures_sum(&sum);
	assert_int_equal(sum.count | sum.first_id, 0);
	failures_count(7, 500);
	now_ns = 200;
	failures_count(8, 9000);
	failures_count(7, 700);
	now_ns = 300;
	failures_count(7, 600);
	assert_int_equal(store_head()->failure_count, 2);
	assert_int_equal(item(0)->stack_id, 7);
	assert_int_equal(item(0)->count, 3);
	assert_int_equal(item(0)->bytes, 1800);
	assert_int_equal(item(0)->largest_bytes, 700);
	assert_int_equal(item(0)->first_ns, 100);
	assert_int_equal(item(0)->first_bytes, 500);
	assert_int_equal(item(0)->last_ns, 300);
	failures_sum(&sum);
	assert_int_equal(sum.count, 4);
	assert_int_equal(sum.bytes, 10800);
	assert_int_equal(sum.first_id, 7);
	assert_int_equal(sum.first_ns, 100);
	assert_int_equal(sum.first_bytes, 500);
}

static void sums_do_not_wrap(void **state)
{
	struct failures_sum sum;

	(void)state;
	failures_count(7, SIZE_MAX);
	failures_count(7, SIZE_MAX);
	failures_count(8, 5);
	assert_int_equal(item(0)->bytes, UINT64_MAX);
	assert_int_equal(item(0)->count, 2);
	failures_sum(&sum);
	assert_int_equal(sum.bytes, UINT64_MAX);
	assert_int_equal(sum.count, 3);
}

static void what_finds_no_room_is_counted(void **state)
{
	struct failures_sum sum;

	(void)state;
	for (uint32_t id = 1; id <= FAILURES_MAX + 3; id++)
		failures_count(id, 10);
	failures_count(1, 10);
	assert_int_equal(store_head()->failure_count, FAILURES_MAX);
	assert_int_equal(loss_count(FORMAT_LOSS_FAILURES), 3);
	failures_sum(&sum);
	assert_int_equal(sum.count, FAILURES_MAX + 4);
	fakes_clear_store();
	fakes_block_limit[FORMAT_FAILURES] = 0;
	failures_count(1, 10);
	assert_int_equal(loss_count(FORMAT_LOSS_FAILURES), 1);
	failures_sum(&sum);
	assert_int_equal(sum.count, 1);
	assert_int_equal(sum.first_id, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(each_call_stack_has_its_sums, begin),
		cmocka_unit_test_setup(sums_do_not_wrap, begin),
		cmocka_unit_test_setup(what_finds_no_room_is_counted, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
