/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * live_two_cell.h - the cells of the two-cell layout (live_table.h), and the fast paths of an everyday block.
 *
 * Cells, of LIVE_MAP_FINE_LOG2; 0 = no block begins here (call-stack ids start at 1):
 *   id << 6 | code << 1    a head.  code 0..16: the size; TWO_CELL_NEXT: size in the next cell;
 *                          TWO_CELL_SIDE: size in the side table
 *   size << 1 | 1          a size cell.  TWO_CELL_LONG: low 31 bits, then the rest of the size, in the two
 *                          size cells after it
 * The lowest bit keeps a size from being taken for a block when blocks freed past the hooks leave
 * cells behind.
 */
#ifndef PMEM_LIBPMEM_LIVE_TWO_CELL_H
#define PMEM_LIBPMEM_LIVE_TWO_CELL_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libpmem/live_map.h"
#include "libpmem/live_table.h"

enum { TWO_CELL_SIDE = 30, TWO_CELL_NEXT = 31 };

#define TWO_CELL_LONG ((size_t)0x7fffffff) /* this size and above: more than one size cell */

static inline bool two_cell_is_size(uint32_t value)
{
	return value & 1;
}

static inline bool two_cell_is_head(uint32_t value)
{
	return value != 0 && !(value & 1);
}

static inline uint32_t two_cell_code(uint32_t head)
{
	return head >> 1 & 31;
}

static inline uint32_t two_cell_head(uint32_t stack_id, uint32_t code)
{
	return stack_id << 6 | code << 1;
}

static inline uint32_t two_cell_size(size_t size)
{
	return (uint32_t)size << 1 | 1;
}

/* All bits set if condition, else 0, in a way that the compiler does not turn into a branch: sizes
 * on either side of LIVE_INLINE_MAX follow each other at random, and a mispredicted branch costs more
 * than everything else here. */
static inline uintptr_t two_cell_mask(bool condition)
{
	uintptr_t mask = -(uintptr_t)condition;

	__asm__("" : "+r"(mask));
	return mask;
}

static inline struct live_cell *two_cell_choose(uintptr_t mask, struct live_cell *if_set,
						struct live_cell *if_clear)
{
	return (struct live_cell *)(((uintptr_t)if_set & mask) | ((uintptr_t)if_clear & ~mask));
}

/* As live_table_put() without a time of birth.  False: nothing was done, the layout is another or the block not an everyday one. */
static inline bool live_table_put_two_cell(uintptr_t addr, size_t size, uint32_t stack_id)
{
	struct live_cell *leaf = live_map_fine_leaf(addr), *cell, nowhere;
	uintptr_t wide = two_cell_mask(size > LIVE_INLINE_MAX);
	uint32_t there;

	if (__builtin_expect(!leaf, 0))
		return false;
	cell = live_map_cell(leaf, addr, LIVE_MAP_FINE_LOG2);
	/* The next cell may be another thread's: looked at always, used only if this block has it. */
	there = atomic_load_explicit(&cell->value, memory_order_relaxed) |
		(atomic_load_explicit(&cell[1].value, memory_order_relaxed) & (uint32_t)wide);
	if (__builtin_expect(there != 0 || size >= TWO_CELL_LONG, 0))
		return false;
	atomic_store_explicit(&two_cell_choose(wide, cell + 1, &nowhere)->value,
			      two_cell_size(size), memory_order_relaxed);
	/* After the size cell. */
	atomic_store_explicit(
		&cell->value,
		two_cell_head(stack_id, (uint32_t)((size & ~wide) | (TWO_CELL_NEXT & wide))),
		memory_order_release);
	return true;
}

/* As live_table_take().  False: nothing was done, as above. */
static inline bool live_table_take_two_cell(uintptr_t addr, struct live_block *block)
{
	struct live_cell *leaf = live_map_fine_leaf(addr), *cell, nowhere;
	uint32_t value, next, code;
	uintptr_t wide;
	bool odd_size;

	if (__builtin_expect(!leaf, 0))
		return false;
	cell = live_map_cell(leaf, addr, LIVE_MAP_FINE_LOG2);
	value = atomic_load_explicit(&cell->value, memory_order_relaxed);
	next = atomic_load_explicit(&cell[1].value, memory_order_relaxed);
	code = two_cell_code(value);
	wide = two_cell_mask(code == TWO_CELL_NEXT);
	odd_size = ((next & 1) ^ 1) | (next == UINT32_MAX); /* no size cell, or TWO_CELL_LONG */
	if (__builtin_expect(
		    !two_cell_is_head(value) || (code == TWO_CELL_SIDE) | (odd_size & wide), 0))
		return false;
	atomic_store_explicit(&cell->value, 0, memory_order_relaxed);
	atomic_store_explicit(&two_cell_choose(wide, cell + 1, &nowhere)->value, 0,
			      memory_order_relaxed);
	block->addr = addr;
	block->size = ((next >> 1) & wide) | (code & ~wide);
	block->stack_id = value >> 6;
	block->birth_ns = 0;
	return true;
}

#endif
