/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_estimate.c - intervals against the exact ones of a Poisson count.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "profile/estimate.h"

enum { MEAN = 1000000 };

/* Exact limits of a Poisson count, from the chi-square distribution; Byar's are within 1 % of them, and of nothing within 0.1. */
static void near_the_exact_ones(void **state)
{
	static const struct {
		uint64_t draws, low, high; /* both in thousandths */
	} exact[] = {{1, 25, 5572}, {4, 1090, 10242}, {10, 4795, 18390}, {100, 81364, 121627}};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(exact) / sizeof(*exact); i++) {
		struct estimate found = estimate_of(exact[i].draws * MEAN, MEAN);
		uint64_t slack = exact[i].high / 100 + 15;

		assert_in_range(found.low / 1000, exact[i].low > slack ? exact[i].low - slack : 0,
				exact[i].low + slack);
		assert_in_range(found.high / 1000, exact[i].high - slack, exact[i].high + slack);
	}
}

static void nothing_is_certain_to_be_little(void **state)
{
	struct estimate found = estimate_of(0, MEAN);

	(void)state;
	assert_int_equal(found.low, 0);
	assert_in_range(found.high, 3.5 * MEAN, 3.8 * MEAN);
}

static void exact_figures_have_no_interval(void **state)
{
	struct estimate found = estimate_of(12345, 0);

	(void)state;
	assert_int_equal(found.low, 12345);
	assert_int_equal(found.high, 12345);
	assert_int_equal(estimate_percent(12345, 0), 0);
}

static void large_figures(void **state)
{
	struct estimate found = estimate_of(UINT64_MAX, 1 << 30);

	(void)state;
	assert_true(found.low < UINT64_MAX && found.low > UINT64_MAX - UINT64_MAX / 1000);
	assert_true(found.high == UINT64_MAX);
}

static void percent(void **state)
{
	(void)state;
	assert_int_equal(estimate_percent(0, MEAN), UINT64_MAX);
	assert_int_equal(estimate_percent(100 * (uint64_t)MEAN, MEAN), 22);
	assert_int_equal(estimate_percent(10000 * (uint64_t)MEAN, MEAN), 2);
}

static void errors_of_changes(void **state)
{
	(void)state;
	assert_int_equal(estimate_error(12345, 0), 0);
	assert_int_equal(estimate_error_of_change(3000, 4000), 5000);
	assert_int_equal(estimate_error_of_change(0, 7), 7);
	assert_int_equal(estimate_error_of_change(0, 0), 0);
}

static void words(void **state)
{
	char text[UNITS_SIZE];

	(void)state;
	assert_string_equal(estimate_bytes(100 << 20, 1 << 20, text), "100.0 MiB +-20.1 MiB");
	assert_string_equal(estimate_bytes(100 << 20, 0, text), "100.0 MiB");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(near_the_exact_ones),
		cmocka_unit_test(nothing_is_certain_to_be_little),
		cmocka_unit_test(exact_figures_have_no_interval),
		cmocka_unit_test(large_figures),
		cmocka_unit_test(percent),
		cmocka_unit_test(errors_of_changes),
		cmocka_unit_test(words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
