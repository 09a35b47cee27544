/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_heaptrack_plan.c - blocks that add up to a call stack's counts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "export/heaptrack_plan.h"

struct sums {
	struct plan_blocks all, peak, live;
};

static void add(struct plan_blocks *to, const struct plan_blocks *from)
{
	to->count += from->count;
	to->bytes += from->bytes;
}

static struct sums sums_of(const struct plan *plan)
{
	struct sums sums = {0};
	unsigned part;

	for (part = 0; part < PLAN_PARTS; part++) {
		if (plan->parts[part].count == 0)
			assert_int_equal(plan->parts[part].bytes, 0);
		add(&sums.all, &plan->parts[part]);
	}
	add(&sums.peak, &plan->parts[PLAN_KEPT]);
	add(&sums.peak, &plan->parts[PLAN_PEAK_ONLY]);
	add(&sums.live, &plan->parts[PLAN_KEPT]);
	add(&sums.live, &plan->parts[PLAN_LIVE_ONLY]);
	return sums;
}

/* A heap of blocks with known sizes, of which each is there at the peak, in the end, both or neither. */
static struct profile_counts counts_of(unsigned which, const uint64_t *sizes, unsigned count)
{
	struct profile_counts counts = {0};
	unsigned i;

	for (i = 0; i < count; i++, which /= 4) {
		counts.alloc_count++;
		counts.alloc_bytes += sizes[i];
		if (which & 1) {
			counts.peak_count++;
			counts.peak_bytes += (int64_t)sizes[i];
		}
		if (!(which & 2)) {
			counts.free_count++;
			counts.free_bytes += sizes[i];
		}
	}
	return counts;
}

static void check(const struct profile_counts *counts)
{
	struct plan plan;
	struct sums sums;

	plan_make(counts, 1, &plan);
	sums = sums_of(&plan);
	assert_int_equal(sums.peak.bytes, counts->peak_bytes);
	assert_int_equal(sums.peak.count, counts->peak_count);
	assert_int_equal(sums.live.bytes, profile_live_bytes(counts));
	assert_int_equal(sums.live.count, profile_live_count(counts));
	assert_int_equal(sums.all.count, counts->alloc_count);
}

/* All heaps of four blocks: the plan never needs more blocks than there were. */
static void test_all_small_heaps(void **state)
{
	static const uint64_t sizes[][4] = {{1, 2, 4, 8}, {5, 5, 5, 5}, {0, 0, 7, 0}, {100, 1, 1, 1}};
	unsigned which, i;

	(void)state;
	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		for (which = 0; which < 256; which++) {
			struct profile_counts counts = counts_of(which, sizes[i], 4);

			check(&counts);
		}
}

static void test_temporary_ones(void **state)
{
	struct profile_counts counts = {.alloc_bytes = 1000,
					.alloc_count = 100,
					.free_bytes = 900,
					.free_count = 90,
					.temporary_count = 30,
					.peak_bytes = 100,
					.peak_count = 10};
	struct plan plan;

	(void)state;
	plan_make(&counts, 1, &plan);
	assert_int_equal(plan.parts[PLAN_KEPT].count, 10);
	assert_int_equal(plan.parts[PLAN_TEMPORARY].count, 30);
	assert_int_equal(plan.parts[PLAN_FREED].count, 60);
	assert_int_equal(plan.parts[PLAN_FREED].bytes, 600);
}

/* At most so many, but not none. */
static void test_limits(void **state)
{
	struct profile_counts counts = {.alloc_bytes = 1000,
					.alloc_count = 1000,
					.free_bytes = 1000,
					.free_count = 1000,
					.temporary_count = 3};
	struct plan plan;

	(void)state;
	plan_make(&counts, 0.1, &plan);
	assert_int_equal(plan.parts[PLAN_TEMPORARY].count, 1);
	assert_int_equal(plan.parts[PLAN_FREED].count, 99);
	assert_int_equal(plan.parts[PLAN_FREED].bytes, 99);
	counts.temporary_count = 0;
	plan_make(&counts, 0.1, &plan);
	assert_int_equal(plan.parts[PLAN_TEMPORARY].count, 0);
	counts.free_bytes = counts.free_count = 0;
	plan_make(&counts, 0.1, &plan);
	assert_int_equal(plan.parts[PLAN_LIVE_ONLY].count, 100);
	assert_int_equal(plan.parts[PLAN_LIVE_ONLY].bytes, 1000);
}

/* Counts that cannot be: nothing overflows, bytes find a block. */
static void test_impossible_counts(void **state)
{
	struct profile_counts counts = {.peak_bytes = 100, .peak_count = -5};
	struct plan plan;

	(void)state;
	plan_make(&counts, 1, &plan);
	assert_int_equal(plan.parts[PLAN_PEAK_ONLY].count, 1);
	assert_int_equal(plan.parts[PLAN_PEAK_ONLY].bytes, 100);
	counts = (struct profile_counts){.peak_bytes = INT64_MIN,
					 .peak_count = INT64_MAX,
					 .alloc_bytes = UINT64_MAX,
					 .alloc_count = 1};
	plan_make(&counts, 1, &plan);
	assert_int_equal(sums_of(&plan).live.bytes, 0);
	assert_int_equal(plan.parts[PLAN_LIVE_ONLY].count + plan.parts[PLAN_KEPT].count, 1);
}

static void test_sizes(void **state)
{
	struct plan_blocks blocks = {3, 10};

	(void)state;
	assert_int_equal(plan_size(&blocks), 3);
	assert_int_equal(plan_large_count(&blocks), 1);
	blocks.bytes = 2;
	assert_int_equal(plan_size(&blocks), 0);
	assert_int_equal(plan_large_count(&blocks), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_small_heaps), cmocka_unit_test(test_temporary_ones),
		cmocka_unit_test(test_limits),		cmocka_unit_test(test_impossible_counts),
		cmocka_unit_test(test_sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
