/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_profile_mappings.c - what a program maps itself: a profile beside that of the heap.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "profile/profile.h"
#include "profile/read.h"
#include "profile_open.h"

static uint32_t mapping_stack(struct fixture *f, uint32_t offset, uint32_t hook)
{
	uint32_t module = f->first->header.module_count > 1 ? 1 : fixture_module(f, "/p", "");
	uint32_t frame = fixture_pc32(f, module, 0x1000 + offset);

	return fixture_stack(f, &frame, 1, hook);
}

static void add(struct fixture *f, uint32_t id, uint64_t mapped, uint64_t unmapped)
{
	struct format_mapping *mapping = fixture_mapping(f, id);

	mapping->call_count = 3;
	mapping->mapped_bytes = mapped;
	mapping->unmapped_bytes = unmapped;
	mapping->peak_bytes = mapped - unmapped / 2;
	mapping->resident_bytes = 77;
}

static void add_sample(struct fixture *f, uint32_t id, uint64_t time_ns, uint64_t live_bytes)
{
	struct format_series *series = fixture_take(f, FORMAT_SERIES, sizeof(*series),
						    &f->first->header.series_count);

	series->stack_id = id;
	series->samples[0].time_ns = time_ns;
	series->samples[0].live_bytes = live_bytes;
}

static void add_point(struct fixture *f, uint64_t time_ns)
{
	struct format_point *point = fixture_take(f, FORMAT_POINTS, sizeof(*point),
						  &f->first->header.point_count);

	point->time_ns = time_ns;
	point->live_bytes = 10 * time_ns;
	point->mapped_bytes = 20 * time_ns;
}

static void it_is_beside_the_heap(void **state)
{
	struct fixture f;
	struct profile *profile;
	const struct profile *mapped;
	uint32_t heap, first, second;

	(void)state;
	fixture_begin(&f);
	first = mapping_stack(&f, 0, FORMAT_HOOK_MMAP);
	heap = plain_stack(&f, 8);
	second = mapping_stack(&f, 16, FORMAT_HOOK_SBRK);
	count(fixture_counter(&f, 0, heap), 2, 1, 100);
	add(&f, second, 4096, 4096);
	add(&f, first, 40960, 8192);
	f.first->header.mapped_peak_bytes = 36864;
	add_point(&f, 5);
	add_sample(&f, heap, 5, 100);
	add_sample(&f, first, 5, 32768);
	profile = open_undamaged(&f);
	assert_int_equal(profile->stack_count, 1);
	assert_int_equal(profile->totals.alloc_bytes, 200);
	assert_int_equal(profile->series_count, 1);
	assert_int_equal(profile->points[0].live_bytes, 50);
	mapped = profile->mapped;
	assert_true(mapped->is_mapped && profile_maps(profile));
	assert_int_equal(mapped->stack_count, 2);
	assert_int_equal(mapped->stacks[0].hook, FORMAT_HOOK_SBRK);
	assert_int_equal(mapped->stacks[0].number, second);
	assert_int_equal(mapped->stacks[1].hook, FORMAT_HOOK_MMAP);
	assert_int_equal(mapped->stacks[1].counts.alloc_bytes, 40960);
	assert_int_equal(mapped->stacks[1].counts.free_bytes, 8192);
	assert_int_equal(mapped->stacks[1].counts.alloc_count, 3);
	assert_int_equal(mapped->stacks[1].counts.peak_bytes, 36864);
	assert_int_equal(mapped->resident[1], 77);
	assert_int_equal(location_at(profile, mapped->stacks[1].node)->offset, 0x1000);
	assert_int_equal(profile_live_bytes(&mapped->totals), 32768);
	assert_int_equal(mapped->header.peak_bytes, 36864);
	assert_int_equal(mapped->points[0].live_bytes, 100);
	assert_int_equal(mapped->series_count, 1);
	assert_int_equal(mapped->series[0].stack, 1);
	assert_int_equal(mapped->series[0].samples[0].live_bytes, 32768);
	profile_close(profile);
	fixture_end(&f);
}

static void none_is_an_empty_one(void **state)
{
	struct fixture f;
	struct profile *profile;

	(void)state;
	fixture_begin(&f);
	count(fixture_counter(&f, 0, plain_stack(&f, 0)), 1, 0, 10);
	profile = open_undamaged(&f);
	assert_false(profile_maps(profile));
	assert_int_equal(profile->mapped->stack_count, 0);
	assert_int_equal(profile->mapped->totals.alloc_bytes, 0);
	profile_close(profile);
	fixture_end(&f);
}

/* [signal handler] has blocks and mappings. */
static void a_fixed_id_may_be_of_both_kinds(void **state)
{
	struct fixture f;
	struct profile *profile;

	(void)state;
	fixture_begin(&f);
	fixture_item(&f, FORMAT_STACKS, sizeof(struct format_stack), 1);
	if (f.first->header.stack_limit < FORMAT_STACK_FIRST)
		f.first->header.stack_limit = FORMAT_STACK_FIRST;
	count(fixture_counter(&f, 0, 1), 1, 0, 10);
	add(&f, 1, 4096, 0);
	add_sample(&f, 1, 5, 10);
	profile = open_undamaged(&f);
	assert_int_equal(profile->stack_count, 1);
	assert_int_equal(profile->totals.alloc_bytes, 10);
	assert_int_equal(profile->series_count, 1);
	assert_int_equal(profile->mapped->stack_count, 1);
	assert_int_equal(profile->mapped->totals.alloc_bytes, 4096);
	assert_int_equal(profile->mapped->series_count, 0);
	assert_int_equal(profile->mapped->stacks[0].hook, FORMAT_NO_HOOK);
	assert_string_equal(location_at(profile, profile->mapped->stacks[0].node)->special,
			    "[signal handler]");
	profile_close(profile);
	fixture_end(&f);
}

static void what_makes_no_sense_is_left_out(void **state)
{
	struct fixture f;
	struct profile *profile;
	uint32_t id;

	(void)state;
	fixture_begin(&f);
	id = mapping_stack(&f, 0, FORMAT_HOOK_MMAP);
	add(&f, id, 4096, 8192);
	add(&f, 0, 4096, 0); /* it was being made when the process was killed */
	add(&f, 999999, 4096, 0);
	fixture_mapping(&f, id)->mapped_bytes = UINT64_MAX;
	profile = open_fixture(&f);
	assert_int_equal(profile->damage_count, 1);
	assert_string_equal(profile->damage, "3 impossible figures of mappings");
	assert_int_equal(profile->mapped->stack_count, 2);
	assert_int_equal(profile_live_bytes(&profile->mapped->stacks[0].counts), 0);
	assert_true(profile->mapped->totals.alloc_bytes <= INT64_MAX);
	profile_close(profile);
	fixture_end(&f);
}

static void more_records_than_there_are(void **state)
{
	struct fixture f;
	struct profile *profile;

	(void)state;
	fixture_begin(&f);
	add(&f, mapping_stack(&f, 0, FORMAT_HOOK_MMAP), 4096, 0);
	f.first->header.mapping_count = UINT32_MAX;
	profile = open_fixture(&f);
	assert_int_equal(profile->damage_count, 1);
	assert_int_equal(profile->mapped->stack_count, 1);
	profile_close(profile);
	fixture_end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_beside_the_heap),
		cmocka_unit_test(none_is_an_empty_one),
		cmocka_unit_test(a_fixed_id_may_be_of_both_kinds),
		cmocka_unit_test(what_makes_no_sense_is_left_out),
		cmocka_unit_test(more_records_than_there_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
