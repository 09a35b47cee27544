/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_stack_cache_rest.c - sets with fewer hits than half their misses are left alone, and what comes again is worth remembering.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/stack_cache_fixture.h"

enum {
	HITS_MIN = STACK_CACHE_MISSES / 2, /* for so many misses, or a set rests: */
	REST = 64,
	RESTS_MAX = 6,
};

static uint32_t new_id = 1000; /* of a call stack that was never missed before */

/* Misses of a set that has nothing of them, as many as one look takes. */
static void miss_often(uint32_t at)
{
	uint32_t i;

	for (i = 0; i < STACK_CACHE_MISSES; i++)
		miss(at, 0, new_id++);
}

static void hit_often(uint32_t at, uint32_t times)
{
	while (times-- > 0)
		assert_int_not_equal(find(at, 0), 0);
}

/* Lookups that the set of stack_words[at] is spared from now on: none of them finds what it has. */
static uint32_t rest_of(uint32_t at)
{
	uint32_t lookups = 0;

	for (; !find(at, 0); lookups++) {
		assert_true(lookups < UINT16_MAX);
		/* One that comes again; not so often that the cache grows. */
		assert_false(miss(at, 0, lookups % 8 ? new_id++ : 10));
	}
	return lookups;
}

/* A set that misses more than twice for each hit rests, twice as long each time; the others know nothing of it. */
static void a_set_rests(void **state)
{
	uint32_t i, other = 2;

	(void)state;
	while (share_a_set(1, other))
		other++;
	assert_true(stack_cache_init(&cache));
	put(1, 3, 0, 10);
	put(other, 3, 0, 30);
	for (i = 1; i < STACK_CACHE_MISSES; i++)
		miss(1, 0, new_id++);
	for (i = 0; i <= RESTS_MAX + 1; i++) {
		assert_int_equal(rest_of(1), REST << (i < RESTS_MAX ? i : RESTS_MAX));
		assert_int_equal(find(other, 0), 30);
		miss_often(1);
	}
}

static void hits_keep_a_set_at_work(void **state)
{
	uint32_t i, same = same_set(2);

	(void)state;
	assert_true(stack_cache_init(&cache));
	put(1, 3, 0, 10);
	for (i = 1; i < STACK_CACHE_MISSES; i++)
		miss(1, 0, new_id++);
	assert_int_equal(rest_of(1), REST); /* its last lookup hits */
	for (i = 0; i < 5; i++) {
		hit_often(1, i ? HITS_MIN : HITS_MIN - 1);
		miss_often(1);
		assert_int_equal(find(1, 0), 10);
	}
	/* Having worked, it rests as if for the first time. */
	miss_often(1);
	assert_int_equal(rest_of(1), REST);
	/* Of all four ways the hits count. */
	put(same, 3, 0, 11);
	hit_often(1, HITS_MIN / 2);
	hit_often(same, HITS_MIN / 2);
	miss_often(1);
	assert_int_equal(find(1, 0), 10);
}

/* Only what is missed again within some hundred others. */
static void a_miss_is_remembered(void **state)
{
	uint32_t id, other = 2;

	(void)state;
	while (share_a_set(1, other))
		other++;
	assert_false(miss(1, 0, 70000));
	assert_true(miss(1, 0, 70000));
	for (id = 71000; id < 71000 + STACK_CACHE_RECENT; id++)
		assert_false(miss(other, 0, id));
	assert_false(miss(1, 0, 70000));
}

/* A call stack that was not found a short while ago either is worth remembering, if the set does not rest. */
static void what_is_worth_remembering(void **state)
{
	uint32_t i;

	(void)state;
	assert_false(miss(1, 0, 10));
	assert_true(miss(1, 0, 10));
	assert_true(miss(1, 0, 10));
	assert_false(miss(1, 0, 10 + STACK_CACHE_RECENT)); /* took its place */
	assert_false(miss(1, 0, 10));
	for (i = 5; i < STACK_CACHE_MISSES; i++)
		assert_true(miss(1, 0, 10));
	for (i = 0; i < REST; i++)
		assert_false(miss(1, 0, 10));
	assert_true(miss(1, 0, 10));
}

/* Whatever was put in before, the latest is looked at first, and a set has as many ways as call stacks that were put in last. */
static void the_latest_is_the_first(void **state)
{
	uint32_t at[9], i, j;

	(void)state;
	at[0] = 1;
	for (i = 1; i < 9; i++)
		at[i] = same_set(at[i - 1] + 1);
	assert_true(stack_cache_init(&cache));
	for (i = 0; i < 9; i++) {
		put(at[i], 3 + 40 * (i % 2), 0, 10 + i); /* rooms of two sizes */
		assert_int_equal(
			stack_cache_set(&cache, (uintptr_t)&stack_words[at[i]], stack_words[at[i]])
				->stack_id,
			10 + i);
		for (j = 0; j <= i; j++)
			assert_int_equal(find(at[j], 0), j + STACK_CACHE_WAYS > i ? 10 + j : 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_miss_is_remembered, begin),
		cmocka_unit_test_setup(a_set_rests, begin),
		cmocka_unit_test_setup(hits_keep_a_set_at_work, begin),
		cmocka_unit_test_setup(what_is_worth_remembering, begin),
		cmocka_unit_test_setup(the_latest_is_the_first, begin),
	};

	return cmocka_run_group_tests_name("stack_cache_rest", tests, NULL, NULL);
}
