/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * live_fixture.h - what the tests of the live table share.
 *
 * Blocks are addresses only: the two-cell layout never looks at their memory, and for the slack layout
 * the tests write chunk headers of glibc's form into memory of their own.
 */
#ifndef PMEM_TESTS_UNIT_LIVE_FIXTURE_H
#define PMEM_TESTS_UNIT_LIVE_FIXTURE_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include "libpmem/live_map.h"
#include "libpmem/live_table.h"
#include "libpmem/loss.h"
#include "libpmem/side_table.h"
#include "tests/unit/store_reset.h"

enum { AREA_SIZE = 1 << 28 };

_Atomic bool sys_sandbox;

static uintptr_t area; /* AREA_SIZE bytes, aligned to LIVE_MAP_SPAN, lazily touched */
static enum live_layout layout;

static inline int begin(enum live_layout chosen)
{
	layout = chosen;
	side_table_fork_child();
	store_reset();
	return live_table_init(chosen) ? 0 : -1;
}

static inline int begin_slack(void **state)
{
	(void)state;
	return begin(LIVE_SLACK);
}

static inline int begin_two_cell(void **state)
{
	(void)state;
	return begin(LIVE_TWO_CELL);
}

static inline int map_area(void **state)
{
	char *p = mmap(NULL, AREA_SIZE + LIVE_MAP_SPAN, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	(void)state;
	if (p == MAP_FAILED)
		return -1;
	area = ((uintptr_t)p + LIVE_MAP_SPAN - 1) & ~(LIVE_MAP_SPAN - 1);
	return 0;
}

static inline uint32_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*state >> 33);
}

/* Writes the header of a chunk in use with usable bytes at addr. */
static inline void write_header(uintptr_t addr, size_t usable)
{
	((size_t *)addr)[-1] = (usable + 8) | 1;
}

static inline void write_mmapped_header(uintptr_t addr, size_t usable)
{
	((size_t *)addr)[-1] = (usable + 16) | 2;
}

/* glibc's usable size for a request (malloc.c, request2size). */
static inline size_t glibc_usable(size_t size)
{
	size_t chunk = (size + 8 + 15) & ~(size_t)15;

	return (chunk < 32 ? 32 : chunk) - 8;
}

static inline struct live_block block_at(uintptr_t addr, size_t size, uint32_t id)
{
	return (struct live_block){.addr = addr, .size = size, .stack_id = id};
}

/* Puts a block where none may be. */
static inline void put_new(struct live_block block)
{
	struct live_block stale;

	assert_int_equal(live_table_put(&block, &stale), LIVE_PUT_OK);
}

static inline void assert_same(struct live_block found, struct live_block expected)
{
	assert_int_equal(found.addr, expected.addr);
	assert_int_equal(found.size, expected.size);
	assert_int_equal(found.stack_id, expected.stack_id);
	assert_int_equal(found.birth_ns, expected.birth_ns);
}

static inline void assert_unknown(uintptr_t addr)
{
	struct live_block found = block_at(1, 2, 3);

	assert_false(live_table_take(addr, &found));
	assert_same(found, block_at(1, 2, 3));
}

/* Takes the block and finds that it is gone. */
static inline void assert_takes(struct live_block expected)
{
	struct live_block found = {.birth_ns = 99};

	assert_true(live_table_take(expected.addr, &found));
	assert_same(found, expected);
	assert_unknown(expected.addr);
}

/* Cells in use among the count that begin with that of addr, in the leaf of addr or its tail. */
static inline uint64_t cells_in_use_at(uintptr_t addr, size_t count)
{
	struct live_cell *leaf = live_map_leaf(addr);
	uint64_t used = 0;

	for (size_t i = 0; leaf && i < count; i++)
		used += atomic_load_explicit(
				&live_map_cell(leaf, addr, live_map.granule_log2)[i].value,
				memory_order_relaxed) != 0;
	return used;
}

/* In the whole area.  Slow. */
static inline uint64_t cells_in_use(void)
{
	size_t cells = LIVE_MAP_SPAN >> live_map.granule_log2;
	uint64_t used = 0;

	for (uintptr_t addr = area; addr < area + AREA_SIZE; addr += LIVE_MAP_SPAN)
		used += cells_in_use_at(addr, cells + LIVE_MAP_TAIL);
	return used;
}

/* On either side of every limit of a cell. */
/* clang-format off */
static const size_t sizes[] = {
	0, 1, 7, 8, 9, 15, 16, 17, 24, 25, 31, 32, 33, 40, 41, 100, 4096,
	(1u << 31) - 2, (1u << 31) - 1, 1u << 31, UINT32_MAX - 1, UINT32_MAX,
	(size_t)1 << 32, ((size_t)1 << 32) + 1, (size_t)1 << 40, ((size_t)1 << 46) + 12345,
};
/* clang-format on */
enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

#endif
