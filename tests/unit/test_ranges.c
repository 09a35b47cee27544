/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_ranges.c - the interval map against a model that knows the owner of every byte.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "libpmem/ranges.h"
#include "tests/unit/memory_limit.h"

enum { BYTES = 4000, STEPS = 20000, CHECK_EVERY = 64 };

struct byte {
	uint32_t owner; /* 0 = nobody */
	uint64_t birth;
};

static struct byte model[BYTES];
static struct byte told[BYTES]; /* what one cut said that it took */
static uint64_t births;
static uint32_t state = 1;

static uint32_t next_random(uint32_t below)
{
	state = state * 1664525u + 1013904223u;
	return (uint32_t)(((uint64_t)(state >> 4) * below) >> 28);
}

static void take(void *context, const struct range *part)
{
	uint64_t *last = context;

	assert_true(part->start < part->end && part->end <= BYTES);
	assert_true(part->start >= *last);
	*last = part->end;
	for (uint64_t at = part->start; at < part->end; at++) {
		assert_int_equal(told[at].owner, 0);
		told[at] = (struct byte){part->owner, part->birth};
	}
}

static void cut(struct ranges *ranges, uint64_t start, uint64_t end, uint64_t latest)
{
	uint64_t last = 0;
	const struct ranges_cut what = {start, end, latest, take, &last};

	memset(told, 0, sizeof(told));
	assert_true(ranges_cut(ranges, &what));
	for (uint64_t at = 0; at < BYTES; at++) {
		bool taken = at >= start && at < end && model[at].owner && model[at].birth <= latest;

		assert_int_equal(told[at].owner, taken ? model[at].owner : 0);
		assert_int_equal(told[at].birth, taken ? model[at].birth : 0);
		if (taken)
			model[at] = (struct byte){0};
	}
}

static void put(struct ranges *ranges, uint64_t start, uint64_t end)
{
	const struct range range = {
		.start = start, .end = end, .birth = ++births, .owner = 1 + next_random(5)};

	cut(ranges, start, end, UINT64_MAX);
	assert_true(ranges_put(ranges, &range));
	for (uint64_t at = start; at < end; at++)
		model[at] = (struct byte){range.owner, range.birth};
}

/* All ranges, in order, and nothing else. */
static void compare(const struct ranges *ranges)
{
	uint64_t at = 0, addr = 0;
	uint32_t count = 0;
	struct range range;

	while (ranges_next(ranges, addr, &range)) {
		assert_true(range.start >= addr && range.start < range.end);
		for (; at < range.start; at++)
			assert_int_equal(model[at].owner, 0);
		for (; at < range.end; at++) {
			assert_int_equal(model[at].owner, range.owner);
			assert_int_equal(model[at].birth, range.birth);
		}
		addr = range.end;
		count++;
	}
	for (; at < BYTES; at++)
		assert_int_equal(model[at].owner, 0);
	assert_int_equal(count, atomic_load(&ranges->count));
}

static void step(struct ranges *ranges, uint32_t longest)
{
	uint64_t start = next_random(BYTES - 1);
	uint64_t end = start + 1 + next_random(longest);

	end = end < BYTES ? end : BYTES;
	if (next_random(3) < 2)
		put(ranges, start, end);
	else if (next_random(4) == 0)
		cut(ranges, start, end,
		    births - next_random(births < 100 ? (uint32_t)births + 1 : 100));
	else
		cut(ranges, start, end, UINT64_MAX);
}

static void test_is_what_a_map_of_bytes_is(void **unused)
{
	/* Many small ones fill leaves, few large ones empty them. */
	static const uint32_t longest[] = {3, 400, 20, 1, 2000};
	struct ranges ranges = {0};

	(void)unused;
	memset(model, 0, sizeof(model));
	for (uint32_t i = 0; i < STEPS; i++) {
		step(&ranges, longest[i / 2000 % 5]);
		if (i % CHECK_EVERY == 0)
			compare(&ranges);
	}
	cut(&ranges, 0, BYTES, UINT64_MAX);
	compare(&ranges);
	assert_int_equal(ranges.leaf_count, 0);
}

static void count_bytes(void *context, const struct range *part)
{
	*(uint64_t *)context += part->end - part->start;
}

static uint64_t cut_bytes(struct ranges *ranges, uint64_t start, uint64_t end, bool kept)
{
	uint64_t sum = 0;
	const struct ranges_cut what = {start, end, UINT64_MAX, count_bytes, &sum};

	assert_int_equal(ranges_cut(ranges, &what), kept);
	return sum;
}

/* 10 bytes each, a gap of 6 after each. */
static void fill(struct ranges *ranges, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct range range = {.start = i * 16 + 3, .end = i * 16 + 13, .owner = 1};

		assert_true(ranges_put(ranges, &range));
	}
}

static void test_many_come_and_go_in_the_same_memory(void **unused)
{
	struct ranges ranges = {0};
	size_t size;

	(void)unused;
	fill(&ranges, 50000);
	size = atomic_load(&ranges.size);
	/* Leaves that were filled in order are half full. */
	assert_in_range(size, 50000 * sizeof(struct range), 50000 * sizeof(struct range) * 9 / 4);
	for (int round = 0; round < 5; round++) {
		assert_int_equal(cut_bytes(&ranges, 0, UINT64_MAX, true), 500000);
		assert_int_equal(atomic_load(&ranges.count), 0);
		fill(&ranges, 50000);
	}
	assert_int_equal(atomic_load(&ranges.size), size);
}

static void test_few_that_are_left_do_not_keep_many_leaves(void **unused)
{
	struct ranges ranges = {0};

	(void)unused;
	fill(&ranges, 50000);
	for (uint64_t i = 0; i < 50000; i++)
		if (i % 100)
			assert_int_equal(cut_bytes(&ranges, i * 16, i * 16 + 16, true), 10);
	assert_int_equal(atomic_load(&ranges.count), 500);
	assert_in_range(ranges.leaf_count, 4, 20);
}

static void test_beyond_the_limit_what_is_behind_a_cut_goes_too(void **unused)
{
	const struct range more = {.start = UINT64_C(1) << 40, .end = (UINT64_C(1) << 40) + 1};
	struct ranges ranges = {0};

	(void)unused;
	fill(&ranges, RANGES_MAX);
	assert_false(ranges_put(&ranges, &more));
	/* In the middle of the first: its 4 bytes behind the cut find no room. */
	assert_int_equal(cut_bytes(&ranges, 7, 9, false), 6);
	/* At a range's end nothing needs room. */
	assert_int_equal(cut_bytes(&ranges, 16, 24, true), 5);
	assert_int_equal(cut_bytes(&ranges, 24, 32, true), 5);
	assert_true(ranges_put(&ranges, &more));
}

static void test_without_memory_it_says_so(void **unused)
{
	const struct range range = {.start = 1, .end = 2};
	struct ranges ranges = {0};
	struct rlimit before;
	bool put;

	(void)unused;
	before = memory_exhaust();
	put = ranges_put(&ranges, &range);
	memory_restore(before);
	assert_false(put);
	assert_true(ranges_put(&ranges, &range));
	assert_int_equal(atomic_load(&ranges.count), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_is_what_a_map_of_bytes_is),
		cmocka_unit_test(test_many_come_and_go_in_the_same_memory),
		cmocka_unit_test(test_few_that_are_left_do_not_keep_many_leaves),
		cmocka_unit_test(test_beyond_the_limit_what_is_behind_a_cut_goes_too),
		cmocka_unit_test(test_without_memory_it_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
