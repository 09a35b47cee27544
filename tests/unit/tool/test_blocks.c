/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_blocks.c - live blocks by address.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "leaks/blocks.h"

#define LEAF (UINT64_C(1) << BLOCKS_LEAF_LOG2)
#define BASE (UINT64_C(0x7f1234000000) & ~(LEAF - 1))

static void add(struct blocks *blocks, uint64_t addr, uint64_t size, unsigned flags)
{
	const struct block block = {.addr = addr,
				    .size_high = size >> 37,
				    .size_low = size & ((UINT64_C(1) << 37) - 1),
				    .flags = flags,
				    .stack = (uint32_t)addr & 0xfff};

	assert_true(blocks_add(blocks, &block));
}

static void assert_found(const struct blocks *blocks, uint64_t addr, uint64_t block)
{
	uint32_t number = blocks_find(blocks, addr);

	assert_int_not_equal(number, BLOCKS_NONE);
	assert_int_equal(blocks->items[number].addr, block);
}

static void test_finds(void **state)
{
	struct blocks blocks = {.count = 0};

	(void)state;
	add(&blocks, BASE + 16, 100, 0);
	add(&blocks, BASE + 128, 0, 0);
	add(&blocks, BASE + 160, 1, 0);
	add(&blocks, BASE + 4096, 3 * LEAF, 0);
	add(&blocks, BASE + 5 * LEAF - 8, 16, 0);
	assert_true(blocks_finish(&blocks));
	assert_found(&blocks, BASE + 16, BASE + 16);
	assert_found(&blocks, BASE + 115, BASE + 16);
	assert_int_equal(blocks_find(&blocks, BASE + 15), BLOCKS_NONE);
	assert_int_equal(blocks_find(&blocks, BASE + 116), BLOCKS_NONE);
	assert_found(&blocks, BASE + 128, BASE + 128);
	assert_int_equal(blocks_find(&blocks, BASE + 129), BLOCKS_NONE);
	assert_found(&blocks, BASE + 160, BASE + 160);
	assert_found(&blocks, BASE + 4096 + 3 * LEAF - 1, BASE + 4096);
	assert_found(&blocks, BASE + LEAF, BASE + 4096);
	assert_int_equal(blocks_find(&blocks, BASE + 4096 + 3 * LEAF), BLOCKS_NONE);
	assert_found(&blocks, BASE + 5 * LEAF + 7, BASE + 5 * LEAF - 8);
	assert_int_equal(blocks_find(&blocks, BASE + 5 * LEAF + 8), BLOCKS_NONE);
	assert_int_equal(blocks_find(&blocks, 0), BLOCKS_NONE);
	assert_int_equal(blocks_find(&blocks, UINT64_MAX), BLOCKS_NONE);
	blocks_free(&blocks);
}

/* A forked child's own blocks come before those that were there before it. */
static void test_own_blocks_count(void **state)
{
	struct blocks blocks = {.count = 0};

	(void)state;
	add(&blocks, BASE + 64, 32, BLOCKS_FOREIGN);
	add(&blocks, BASE + 256, 32, BLOCKS_FOREIGN);
	add(&blocks, BASE + 64, 16, 0);
	add(&blocks, BASE + 272, 16, 0);
	assert_true(blocks_finish(&blocks));
	assert_int_equal(blocks.count, 2);
	assert_int_equal(block_size(&blocks.items[0]), 16);
	assert_int_equal(blocks.items[1].addr, BASE + 272);
	assert_int_equal(blocks.items[1].flags, 0);
	blocks_free(&blocks);
}

static void test_none(void **state)
{
	struct blocks blocks = {.count = 0};

	(void)state;
	assert_true(blocks_finish(&blocks));
	assert_int_equal(blocks_find(&blocks, BASE), BLOCKS_NONE);
	blocks_free(&blocks);
}

static void test_large_size(void **state)
{
	struct blocks blocks = {.count = 0};

	(void)state;
	add(&blocks, BASE, UINT64_C(1) << 40, 0);
	assert_int_equal(block_size(&blocks.items[0]), UINT64_C(1) << 40);
	blocks_free(&blocks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_finds),
		cmocka_unit_test(test_own_blocks_count),
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_large_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
