/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_live_layouts.c - the live table: what is special in each of the two layouts.
 */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/live_fixture.h"
#include "tests/unit/memory_limit.h"

/* --- slack layout --- */

static void slack_of_mmapped_chunks(void **state)
{
	uintptr_t addr = area + 4096 + 16;

	(void)state;
	for (size_t slack = 0; slack < 100; slack++) {
		write_mmapped_header(addr, 200 * 1024 - 16);
		put_new(block_at(addr, 200 * 1024 - 16 - slack, 4));
		assert_int_equal(side_table_count(), slack > 30);
		assert_takes(block_at(addr, 200 * 1024 - 16 - slack, 4));
	}
	assert_int_equal(side_table_count(), 0);
}

static void size_beyond_usable_is_kept(void **state)
{
	(void)state;
	write_header(area + 64, 24);
	put_new(block_at(area + 64, 25, 4));
	assert_int_equal(side_table_count(), 1);
	assert_takes(block_at(area + 64, 25, 4));
}

/* The inline paths do what the functions do, or nothing. */
static void fast_paths_agree(void **state)
{
	struct live_block found = {0};

	(void)state;
	write_header(area + 64, 56);
	assert_false(live_table_put_fast(area + 64, 40, 3)); /* no leaf yet */
	assert_false(live_table_take_fast(area + 64, &found));
	put_new(block_at(area + 64, 40, 3));
	assert_false(live_table_put_fast(area + 64, 41, 4)); /* a stale block */
	assert_takes(block_at(area + 64, 40, 3));
	for (size_t size = 0; size < 60; size++) {
		bool fits = size > 25 && size <= 56;

		assert_int_equal(live_table_put_fast(area + 64, size, 5), fits);
		if (fits)
			assert_takes(block_at(area + 64, size, 5));
		put_new(block_at(area + 64, size, 6));
		assert_int_equal(live_table_take_fast(area + 64, &found), fits);
		if (fits)
			assert_same(found, block_at(area + 64, size, 6));
		else
			assert_takes(block_at(area + 64, size, 6));
		assert_unknown(area + 64);
	}
	assert_false(live_table_take_fast((uintptr_t)1 << 47, &found));
}

static void fast_paths_are_for_slack_only(void **state)
{
	struct live_block found = {0};

	(void)state;
	write_header(area + 64, 56);
	put_new(block_at(area + 64, 50, 3));
	assert_false(live_table_take_fast(area + 64, &found));
	assert_takes(block_at(area + 64, 50, 3));
	assert_false(live_table_put_fast(area + 64, 50, 3));
	assert_unknown(area + 64);
}

static void stale_slack(void **state)
{
	struct live_block block = block_at(area + 64, 20, 4);
	struct live_block stale;

	(void)state;
	write_header(area + 64, 40);
	put_new(block_at(area + 64, 30, 7)); /* slack 10, freed past the hooks; then: */
	write_header(area + 64, 24);
	assert_int_equal(live_table_put(&block, &stale), LIVE_PUT_STALE);
	assert_same(stale, block_at(area + 64, 14, 7)); /* the best that can be told */
	assert_int_equal(loss_count(FORMAT_LOSS_STALE_BLOCKS), 1);
	assert_takes(block);
	assert_int_equal(loss_count(FORMAT_LOSS_EVENTS), 0);
}

static void stale_slack_never_below_zero(void **state)
{
	struct live_block block = block_at(area + 64, 20, 4);
	struct live_block stale;

	(void)state;
	write_header(area + 64, 56);
	put_new(block_at(area + 64, 26, 7)); /* slack 30 */
	write_header(area + 64, 24);
	assert_int_equal(live_table_put(&block, &stale), LIVE_PUT_STALE);
	assert_same(stale, block_at(area + 64, 0, 7));

	write_header(area + 64, 2); /* usable less than the slack of 4 */
	((size_t *)(area + 64))[-1] = 8 | 1;
	assert_takes(block_at(area + 64, 0, 4));
	assert_int_equal(loss_count(FORMAT_LOSS_STALE_BLOCKS), 2);
}

/* Records the size bytes at p and finds them again. */
static void record_real(void *p, size_t size)
{
	struct live_block block = block_at((uintptr_t)p, size, 1);

	assert_non_null(p);
	put_new(block);
	assert_takes(block);
	block.birth_ns = 5;
	put_new(block);
	assert_takes(block);
}

static void record_aligned(size_t size)
{
	for (size_t alignment = 16; alignment <= 8192; alignment *= 2) {
		void *p = memalign(alignment, size);

		record_real(p, size);
		free(p);
		p = aligned_alloc(alignment, size);
		record_real(p, size);
		free(p);
		assert_int_equal(posix_memalign(&p, alignment, size), 0);
		record_real(p, size);
		free(p);
	}
}

static void record_all_ways(size_t size)
{
	void *plain = malloc(size);
	void *zeroed = calloc(1, size);
	void *again;

	record_real(plain, size);
	record_real(zeroed, size);
	again = realloc(plain, size / 2 + 1); /* in place, split, or by mremap */
	record_real(again, size / 2 + 1);
	again = realloc(again, size * 2 + 1);
	record_real(again, size * 2 + 1);
	record_aligned(size);
	free(again);
	free(zeroed);
}

static void real_glibc_blocks(void **state)
{
	size_t size = 0;

	(void)state;
	if (!MALLOC_IS_GLIBC)
		skip();
	for (; size < 300; size++)
		record_all_ways(size);
	for (; size < 4 << 20; size += size / 8 + 1) /* beyond the threshold of mmap */
		record_all_ways(size);
	assert_int_equal(loss_total(), 0);
	assert_int_equal(loss_count(FORMAT_LOSS_STALE_BLOCKS), 0);
	assert_int_equal(side_table_count(), 0);
}

static void real_glibc_block_beyond_32_bits(void **state)
{
	size_t size = ((size_t)1 << 32) + 3;
	void *p;

	(void)state;
	if (!MALLOC_IS_GLIBC)
		skip();
	p = malloc(size);
	if (!p) /* little memory and no overcommit */
		skip();
	record_real(p, size);
	free(p);
}

/* A live block of glibc's nearly always fits its cell: the side table is for odd ones. */
static void real_glibc_blocks_rarely_need_the_side_table(void **state)
{
	uint64_t in_side = 0;

	(void)state;
	if (!MALLOC_IS_GLIBC)
		skip();
	for (size_t size = 0; size < 2000; size++) {
		struct live_block block = block_at((uintptr_t)malloc(size), size, 1);

		put_new(block);
		in_side += side_table_count();
		assert_takes(block);
		free((void *)block.addr);
	}
	assert_in_range(in_side, 0, 20);
}

/* --- two-cell layout --- */

static void neighbours_do_not_touch_each_other(void **state)
{
	(void)state;
	for (size_t size = 0; size <= 16; size++) {
		for (uintptr_t i = 0; i < 100; i++)
			put_new(block_at(area + 16 * i, size, (uint32_t)i + 1));
		put_new(block_at(area + 1600, 17, 500)); /* own next cell */
		put_new(block_at(area + 1632, 16, 501));
		assert_takes(block_at(area + 1600, 17, 500));
		for (uintptr_t i = 0; i < 100; i += 2)
			assert_takes(block_at(area + 16 * i, size, (uint32_t)i + 1));
		for (uintptr_t i = 1; i < 100; i += 2)
			assert_takes(block_at(area + 16 * i, size, (uint32_t)i + 1));
		assert_takes(block_at(area + 1632, 16, 501));
		assert_int_equal(cells_in_use(), 0);
	}
}

static void blocks_across_leaves(void **state)
{
	uintptr_t end = area + LIVE_MAP_SPAN;

	(void)state;
	for (uintptr_t before = 16; before <= 64; before += 16) {
		for (size_t i = 0; i < SIZES; i++) {
			if (sizes[i] <= before && before > 16)
				continue;
			put_new(block_at(end - before, sizes[i], 6));
			if (sizes[i] <= before)
				put_new(block_at(end, 100, 7));
			assert_takes(block_at(end - before, sizes[i], 6));
			if (sizes[i] <= before)
				assert_takes(block_at(end, 100, 7));
			assert_int_equal(cells_in_use_at(end - 64, 4 + LIVE_MAP_TAIL), 0);
			assert_int_equal(cells_in_use_at(end, 16), 0);
		}
	}
}

/* Puts block over what is there, which must be reported as *expected. */
static void put_over(struct live_block block, struct live_block expected)
{
	uint64_t before = loss_count(FORMAT_LOSS_STALE_BLOCKS);
	struct live_block stale;

	assert_int_equal(live_table_put(&block, &stale), LIVE_PUT_STALE);
	assert_same(stale, expected);
	assert_true(loss_count(FORMAT_LOSS_STALE_BLOCKS) > before);
	assert_takes(block);
	assert_unknown(expected.addr);
	assert_int_equal(cells_in_use_at(area, 256), 0);
}

static void stale_two_cell(void **state)
{
	(void)state;
	for (size_t i = 0; i < SIZES; i++) {
		for (size_t j = 0; j < SIZES; j++) {
			struct live_block old = block_at(area + 640, sizes[i], 8);

			put_new(old);
			put_over(block_at(area + 640, sizes[j], 9), old);
			if (sizes[i] > 16) { /* into the middle of the old block's cells */
				put_new(old);
				put_over(block_at(area + 656, sizes[j], 9), old);
			}
			if (sizes[i] > UINT32_MAX) {
				put_new(old);
				put_over(block_at(area + 672, sizes[j], 9), old);
				put_new(old);
				put_over(block_at(area + 688, sizes[j], 9), old);
			}
			if (sizes[j] > 16) { /* the new block's size over the old one */
				put_new(old);
				put_over(block_at(area + 624, sizes[j], 9), old);
			}
		}
	}
	assert_int_equal(loss_count(FORMAT_LOSS_EVENTS), 0);
	assert_int_equal(cells_in_use(), 0);
}

static void several_stale_blocks_at_once(void **state)
{
	struct live_block block = block_at(area + 64, 32, 3);
	struct live_block stale;

	(void)state;
	put_new(block_at(area + 64, 16, 1));
	put_new(block_at(area + 80, 16, 2));
	assert_int_equal(live_table_put(&block, &stale), LIVE_PUT_STALE);
	assert_same(stale, block_at(area + 64, 16, 1));
	assert_int_equal(loss_count(FORMAT_LOSS_STALE_BLOCKS), 2);
	assert_int_equal(loss_count(FORMAT_LOSS_EVENTS), 1); /* the free that cannot be told */
	assert_takes(block);
	assert_int_equal(cells_in_use(), 0);
}

/* Freed past the hooks at random, and put over in any overlap: what comes out must be what was put
 * last at that address, never a size taken for a block. */
static void random_stale_blocks(void **state)
{
	static struct live_block model[1024]; /* by granule: the last block put there */
	uint64_t random = 1;
	uint64_t wrong = 0;
	struct live_block found = {0};

	(void)state;
	for (uint32_t round = 1; round < 2000000; round++) {
		uintptr_t granule = next_random(&random) % 1020;
		struct live_block block = block_at(
			area + 16 * granule, sizes[next_random(&random) % SIZES], round & 0x3ffffff);
		bool got;

		block.birth_ns = next_random(&random) % 8 == 0 ? round : 0;
		if (next_random(&random) % 2 == 0) {
			got = live_table_take(block.addr, &found);
		} else {
			got = live_table_put(&block, &found) == LIVE_PUT_STALE;
			if (got) { /* of the old model, as the new block is not in it yet */
				struct live_block *old = &model[(found.addr - area) / 16];

				wrong += found.stack_id != old->stack_id || found.size != old->size;
				got = false;
			}
			model[granule] = block;
		}
		if (got) {
			struct live_block *old = &model[(found.addr - area) / 16];

			wrong += found.stack_id != old->stack_id || found.size != old->size ||
				 found.birth_ns != old->birth_ns;
		}
	}
	assert_int_equal(wrong, 0);
	for (uintptr_t granule = 0; granule < 1024; granule++)
		live_table_take(area + 16 * granule, &found);
	assert_int_equal(cells_in_use(), 0);
	assert_int_equal(side_table_count(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(slack_of_mmapped_chunks, begin_slack),
		cmocka_unit_test_setup(size_beyond_usable_is_kept, begin_slack),
		cmocka_unit_test_setup(fast_paths_agree, begin_slack),
		cmocka_unit_test_setup(fast_paths_are_for_slack_only, begin_two_cell),
		cmocka_unit_test_setup(stale_slack, begin_slack),
		cmocka_unit_test_setup(stale_slack_never_below_zero, begin_slack),
		cmocka_unit_test_setup(real_glibc_blocks, begin_slack),
		cmocka_unit_test_setup(real_glibc_block_beyond_32_bits, begin_slack),
		cmocka_unit_test_setup(real_glibc_blocks_rarely_need_the_side_table, begin_slack),
		cmocka_unit_test_setup(neighbours_do_not_touch_each_other, begin_two_cell),
		cmocka_unit_test_setup(blocks_across_leaves, begin_two_cell),
		cmocka_unit_test_setup(stale_two_cell, begin_two_cell),
		cmocka_unit_test_setup(several_stale_blocks_at_once, begin_two_cell),
		cmocka_unit_test_setup(random_stale_blocks, begin_two_cell),
	};

	return cmocka_run_group_tests_name("live_layouts", tests, map_area, NULL);
}
