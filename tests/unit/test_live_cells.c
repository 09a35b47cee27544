/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_live_cells.c - what was put into a live table is read from its cells: addresses and sizes, in both layouts.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/live_cells.h"
#include "libpmem/live_table.h"
#include "libpmem/side_table.h"
#include "tests/unit/memory_limit.h"

enum { BLOCKS = 3000, SAMPLED = 7, MAPPING_REST = 1 << 20 };

static struct format_memory memory;
static struct live_cells cells;
static uint32_t values[LIVE_CELLS_MAX + LIVE_CELLS_TAIL];

static bool copy(void *context, uint64_t addr, void *buffer, size_t size)
{
	(void)context;
	memcpy(buffer, (const void *)(uintptr_t)addr, size);
	return true;
}

/* What looks like a size may lead anywhere. */
static bool copy_checked(void *context, uint64_t addr, void *buffer, size_t size)
{
	struct iovec local = {buffer, size}, remote = {(void *)(uintptr_t)addr, size};

	(void)context;
	return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)size;
}

static void begin(enum live_layout layout)
{
	assert_true(live_table_init(layout));
	memory = (struct format_memory){
		.table = (uintptr_t)live_map.top,
		.side_tables = (uintptr_t)side_table_place(),
		.granule_log2 = live_map.granule_log2,
		.allocator = FORMAT_ALLOCATOR_GLIBC,
	};
	memset(&cells, 0, sizeof(cells));
	cells.program = copy_checked;
	cells.recorder = copy;
	cells.memory = &memory;
}

static void put(uintptr_t addr, size_t size, uint32_t number)
{
	const struct live_block block = {.addr = addr,
					 .size = size,
					 .stack_id = number + 1,
					 .birth_ns = number % SAMPLED ? 0 : 1};
	struct live_block stale;

	assert_int_equal(live_table_put(&block, &stale), LIVE_PUT_OK);
}

/* The block whose first cell is that of addr. */
static void check(uintptr_t addr, size_t size, uint32_t number)
{
	uint64_t window = addr & ~(uint64_t)(LIVE_CELLS_WINDOW - 1);
	uint32_t index = (uint32_t)((addr - window) >> memory.granule_log2);
	const struct live_cells_bounds bounds = {.limit = addr + size + MAPPING_REST};
	const struct live_cells_head head = {&values[index],
					     window + ((uint64_t)index << memory.granule_log2)};
	struct live_cells_block block;

	assert_true(live_cells_read(&cells, memory.table, window, values));
	assert_true(live_cells_is_head(&cells, values[index]));
	assert_true(live_cells_block(&cells, &head, &bounds, &block));
	assert_int_equal(block.addr, addr);
	assert_int_equal(block.size, size);
	assert_int_equal(block.stack_id, number + 1);
	assert_true(block.start <= addr && block.end >= addr + size);
}

/* Some 30 powers of two and what is between. */
static size_t size_of(uint32_t number)
{
	return ((size_t)1 << number % 20) + number / 20;
}

static void blocks_of_glibc(void **state)
{
	static char *blocks[BLOCKS];

	(void)state;
	/* Its allocator has other headers. */
	if (!MALLOC_IS_GLIBC)
		skip();
	begin(LIVE_SLACK);
	for (uint32_t i = 0; i < BLOCKS; i++) {
		blocks[i] = i % 5 ? malloc(size_of(i)) : aligned_alloc(256, size_of(i));
		memset(blocks[i], 0xff, size_of(i));
		put((uintptr_t)blocks[i], size_of(i), i);
	}
	for (uint32_t i = 0; i < BLOCKS; i++)
		check((uintptr_t)blocks[i], size_of(i), i);
	for (uint32_t i = 0; i < BLOCKS; i++)
		free(blocks[i]);
}

static void blocks_of_others(void **state)
{
	uintptr_t addr = (uintptr_t)1 << 40;

	(void)state;
	begin(LIVE_TWO_CELL);
	for (uint32_t i = 0; i < BLOCKS; i++, addr += (size_of(i - 1) + 31) & ~(size_t)15)
		put(addr, size_of(i), i);
	addr = (uintptr_t)1 << 40;
	for (uint32_t i = 0; i < BLOCKS; i++, addr += (size_of(i - 1) + 31) & ~(size_t)15)
		check(addr, size_of(i), i);
	put((uintptr_t)1 << 45, ((size_t)5 << 40) + 3, 1);
	check((uintptr_t)1 << 45, ((size_t)5 << 40) + 3, 1);
}

static void no_leaf_no_cells(void **state)
{
	(void)state;
	begin(LIVE_TWO_CELL);
	assert_false(live_cells_read(&cells, memory.table, (uint64_t)3 << 40, values));
	assert_false(live_cells_read(&cells, memory.table, UINT64_MAX << 20, values));
	assert_false(live_cells_read(&cells, 0, (uint64_t)1 << 40, values));
}

/* The words around the cell are the program's, and need not be a chunk's. */
static void nonsense_is_no_block(void **state)
{
	static _Alignas(4096) uint64_t words[1024];
	const uint32_t value[] = {1 << 5 | 3, 0, 0, 0};
	const struct live_cells_head head = {value, (uintptr_t)&words[512]};
	static const uint64_t bad[] = {0, 8, 16, 40, 1 << 20, UINT64_MAX, UINT64_MAX << 4};
	struct live_cells_bounds bounds = {.limit = (uintptr_t)words + sizeof(words)};
	struct live_cells_block block;

	(void)state;
	begin(LIVE_SLACK);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		words[511] = words[513] = bad[i];
		assert_false(live_cells_block(&cells, &head, &bounds, &block));
	}
	words[513] = 64 | 1;
	assert_true(live_cells_block(&cells, &head, &bounds, &block));
	assert_int_equal(block.addr, (uintptr_t)&words[514]);
	assert_int_equal(block.size, 64 - 8 - 3);
	bounds.before = block.start + 16;
	assert_false(live_cells_block(&cells, &head, &bounds, &block));
}

/* A header that is data does not lead to the next block. */
static void chains_tell_headers_from_data(void **state)
{
	static _Alignas(4096) uint64_t words[1024];
	const uint32_t value[] = {1 << 5, 0, 0, 0};
	const struct live_cells_head head = {value, (uintptr_t)&words[512]};
	struct live_cells_bounds bounds = {.next = (uintptr_t)&words[528],
					   .limit = (uintptr_t)words + sizeof(words)};
	struct live_cells_block block;

	(void)state;
	begin(LIVE_SLACK);
	for (int i = 0; i < 1024; i++)
		words[i] = 48 | 1;
	/* At 514: a chunk of 64 bytes, a free one of 48, and the next block at 528. */
	words[513] = 64 | 1;
	words[521] = 48 | 1;
	words[527] = 32;
	assert_true(live_cells_block(&cells, &head, &bounds, &block));
	assert_int_equal(block.addr, (uintptr_t)&words[514]);
	assert_int_equal(block.size, 56);
}

/* A free chunk that was divided anew leaves its old header in front of the new one, and both chunks end at one place. */
static void the_chain_from_the_block_before_decides(void **state)
{
	static _Alignas(4096) uint64_t words[1024];
	const uint32_t value[] = {1 << 5, 0, 0, 0};
	const struct live_cells_head head = {value, (uintptr_t)&words[512]};
	struct live_cells_bounds bounds = {.before = (uintptr_t)&words[495],
					   .next = (uintptr_t)&words[528],
					   .limit = (uintptr_t)words + sizeof(words)};
	struct live_cells_block block;

	(void)state;
	begin(LIVE_SLACK);
	words[511] = 80 | 1;
	words[513] = 64 | 1;
	words[521] = 48 | 1;
	words[527] = 32;
	/* Two free chunks lead from the block before to this one. */
	words[495] = 48 | 1;
	words[501] = 96 | 1;
	assert_true(live_cells_block(&cells, &head, &bounds, &block));
	assert_int_equal(block.addr, (uintptr_t)&words[514]);
	assert_int_equal(block.size, 56);
	words[501] = 80 | 1;
	assert_true(live_cells_block(&cells, &head, &bounds, &block));
	assert_int_equal(block.addr, (uintptr_t)&words[512]);
	assert_int_equal(block.size, 72);
	/* A chain that breaks, or leads to neither, says nothing. */
	words[501] = 0;
	assert_true(live_cells_block(&cells, &head, &bounds, &block));
	words[501] = 128 | 1;
	assert_true(live_cells_block(&cells, &head, &bounds, &block));
}

/* Also where no block follows in the window.  What looks like a header, here the end of the block before, leads far into data. */
static void without_a_next_block(void **state)
{
	static _Alignas(4096) uint64_t words[1024];
	const uint32_t value[] = {1 << 5, 0, 0, 0};
	const struct live_cells_head head = {value, (uintptr_t)&words[512]};
	struct live_cells_bounds bounds = {.limit = (uintptr_t)words + sizeof(words)};
	struct live_cells_block block;

	(void)state;
	begin(LIVE_SLACK);
	for (int i = 0; i < 1024; i++)
		words[i] = UINT64_C(0x0101010101010101);
	words[511] = 2048 | 1;
	for (int i = 513; i < 513 + 8 * 8; i += 8)
		words[i] = 64 | 1;
	assert_true(live_cells_block(&cells, &head, &bounds, &block));
	assert_int_equal(block.addr, (uintptr_t)&words[514]);
	assert_int_equal(block.size, 56);
	/* Data that may be a header once are none four times. */
	words[767] = 64 | 1;
	assert_true(live_cells_block(&cells, &head, &bounds, &block));
	assert_int_equal(block.addr, (uintptr_t)&words[514]);
	/* Behind it is the rest of the heap, one free chunk up to the end. */
	words[521] = (1024 - 520) * 8 | 1;
	assert_true(live_cells_block(&cells, &head, &bounds, &block));
	assert_int_equal(block.addr, (uintptr_t)&words[514]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_of_glibc),
		cmocka_unit_test(blocks_of_others),
		cmocka_unit_test(no_leaf_no_cells),
		cmocka_unit_test(nonsense_is_no_block),
		cmocka_unit_test(chains_tell_headers_from_data),
		cmocka_unit_test(the_chain_from_the_block_before_decides),
		cmocka_unit_test(without_a_next_block),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
