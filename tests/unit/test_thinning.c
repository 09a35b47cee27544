/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_thinning.c - which moments stay: how many, how far apart, and which always.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "libpmem/thinning.h"

enum { ROOM = 120, MOST = 105 };

static uint64_t times[ROOM];
static bool drop[ROOM];
static uint32_t count;

static uint64_t time_at(uint32_t i)
{
	return times[i];
}

/* Returns how far apart the moments that stay may be. */
static uint64_t thin(uint32_t most)
{
	const struct thinning thinning = {time_at, count, most, drop};
	uint32_t kept = 0, said;
	uint64_t spacing;

	memset(drop, 0, sizeof(drop));
	said = thinning_choose(&thinning, &spacing);
	assert_false(drop[0] || drop[count - 1]);
	for (uint32_t i = 0; i < count; i++)
		if (!drop[i])
			times[kept++] = times[i];
	assert_int_equal(kept, said);
	assert_in_range(kept, 2, most);
	count = kept;
	return spacing;
}

static void add(uint64_t time)
{
	if (count == ROOM)
		thin(MOST);
	times[count++] = time;
}

/* The distance of the nearest moment that stayed. */
static uint64_t off(uint64_t time)
{
	uint64_t best = UINT64_MAX;

	for (uint32_t i = 0; i < count; i++) {
		uint64_t distance = times[i] > time ? times[i] - time : time - times[i];

		best = distance < best ? distance : best;
	}
	return best;
}

static void of_any_age_there_is_a_moment_within_a_tenth(void **state)
{
	(void)state;
	count = 0;
	for (uint64_t now = 1; now <= 20000; now++) {
		add(now);
		if (now % 331)
			continue;
		for (uint64_t age = 1; age < now; age += age / 3 + 1)
			assert_in_range(off(now - age), 0, age / 10);
	}
	assert_int_equal(times[0], 1);
	/* The latest ones are all there. */
	for (uint64_t age = 0; age < 10; age++)
		assert_int_equal(off(20000 - age), 0);
}

static void old_moments_are_no_further_apart_than_is_said(void **state)
{
	uint64_t spacing = 0, latest;

	(void)state;
	count = 0;
	for (uint64_t now = 1; now <= 20000; now++) {
		latest = count == ROOM ? thin(MOST) : 0;
		spacing = latest > spacing ? latest : spacing;
		times[count++] = now;
	}
	for (uint32_t i = 1; i < count; i++)
		assert_in_range(times[i] - times[i - 1], 1, spacing);
	assert_in_range(spacing, 20000 / 60, 20000 / 20);
}

static void lonely_moments_stay(void **state)
{
	(void)state;
	count = 0;
	for (uint32_t i = 0; i < 20; i++)
		times[count++] = 1000000 * (uint64_t)i;
	for (uint32_t i = 1; i <= 100; i++)
		times[count++] = 19000000 + i;
	thin(MOST);
	for (uint32_t i = 0; i < 20; i++)
		assert_int_equal(off(1000000 * (uint64_t)i), 0);
}

/* Times that stand still, and ever larger distances: there is always room afterwards. */
static void there_is_room_afterwards_whatever_the_times(void **state)
{
	(void)state;
	for (count = 0; count < ROOM; count++)
		times[count] = 7;
	thin(2);
	for (count = 0; count < 60; count++)
		times[count] = UINT64_C(1) << count;
	thin(52);
	assert_int_equal(times[count - 1], UINT64_C(1) << 59);
	for (count = 0; count < 5; count++)
		times[count] = count;
	thin(4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_any_age_there_is_a_moment_within_a_tenth),
		cmocka_unit_test(old_moments_are_no_further_apart_than_is_said),
		cmocka_unit_test(lonely_moments_stay),
		cmocka_unit_test(there_is_room_afterwards_whatever_the_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
