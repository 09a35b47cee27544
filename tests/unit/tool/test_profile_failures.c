/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_profile_failures.c - what a program asked for and did not get, also where nothing else happened.
 */
#include <string.h>

#include "profile/stack_id.h"
#include "profile_open.h"

static uint32_t new_stack(struct fixture *f, uint32_t offset)
{
	uint32_t module = f->first->header.module_count > 1 ? 1 : fixture_module(f, "/p", "");
	uint32_t frame = fixture_pc32(f, module, 0x1000 + offset);

	return fixture_stack(f, &frame, 1, FORMAT_HOOK_CALLOC);
}

static struct format_failure *add(struct fixture *f, uint32_t id, uint64_t first_ns, uint64_t bytes)
{
	struct format_failure *failure = fixture_take(f, FORMAT_FAILURES, sizeof(*failure),
						      &f->first->header.failure_count);

	failure->stack_id = id;
	failure->count = 2;
	failure->bytes = 2 * bytes + 1;
	failure->largest_bytes = bytes + 1;
	failure->first_ns = first_ns;
	failure->first_bytes = bytes;
	failure->last_ns = first_ns + 5;
	return failure;
}

static void they_are_by_call_stack_and_time(void **state)
{
	struct fixture f;
	struct profile *profile;
	uint32_t a, b;

	(void)state;
	fixture_begin(&f);
	a = new_stack(&f, 0x10);
	b = new_stack(&f, 0x20);
	count(fixture_counter(&f, 0, b), 1, 0, 10);
	add(&f, b, 300, 1000);
	add(&f, a, 200, 50);
	add(&f, 0, 1, 1);   /* being made */
	add(&f, b, 100, 7); /* two threads at once */
	profile = open_undamaged(&f);
	assert_int_equal(profile->stack_count, 1);
	assert_int_equal(profile->failure_count, 2);
	assert_int_equal(profile->failures[0].stack.number, b);
	assert_int_equal(stack_id(profile, &profile->failures[0].stack),
			 stack_id(profile, profile->stacks));
	assert_int_equal(profile->failures[0].count, 4);
	assert_int_equal(profile->failures[0].bytes, 2016);
	assert_int_equal(profile->failures[0].largest_bytes, 1001);
	assert_int_equal(profile->failures[0].first_ns, 100);
	assert_int_equal(profile->failures[0].first_bytes, 7);
	assert_int_equal(profile->failures[0].last_ns, 305);
	assert_int_equal(profile->failures[1].stack.number, a);
	assert_int_equal(profile->failures[1].stack.hook, FORMAT_HOOK_CALLOC);
	assert_int_equal(location_at(profile, profile->failures[1].stack.node)->offset, 0x1010);
	assert_int_equal(profile->totals.alloc_bytes, 10);
	profile_close(profile);
	fixture_end(&f);
}

static void damage_is_told(void **state)
{
	struct fixture f;
	struct profile *profile;

	(void)state;
	fixture_begin(&f);
	add(&f, new_stack(&f, 0x10), 5, UINT64_MAX / 2)->bytes = UINT64_MAX;
	add(&f, 1000, 5, 5);
	profile = open_fixture(&f);
	assert_non_null(strstr(profile->damage, "1 failed allocations of nobody"));
	assert_int_equal(profile->failure_count, 1);
	assert_int_equal(profile->failures[0].bytes, INT64_MAX);
	profile_close(profile);
	fixture_end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(they_are_by_call_stack_and_time),
		cmocka_unit_test(damage_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
