/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * live_table.c - what the cells of live_map.h say.
 *
 * Cells, 0 = no block begins here (call-stack ids start at 1):
 *   slack     id << 5 | slack        slack LIVE_SLACK_SIDE: size in the side table
 *   two-cell  see live_two_cell.h
 *
 * Who writes a cell: the owner of the block that begins there or, for size cells, reaches there.
 * Ownership passes from thread to thread through the real allocator, which orders memory; so the
 * cells could be plain words.  They are atomic because of programs that free past the hooks: only the
 * removal of such a stale block can meet another thread, and it uses compare-and-swap.
 *
 * The side entry of a block is there before its cell says so, and goes after the cell is cleared: a
 * cell never promises an entry that is missing, whatever interrupts in between.
 */
#include "libpmem/live_table.h"

#include <assert.h>
#include <stdatomic.h>

#include "core/live_cells.h"
#include "libpmem/live_map.h"
#include "libpmem/live_two_cell.h"
#include "libpmem/loss.h"
#include "libpmem/side_table.h"

enum {
	SIZE_CELLS_MAX = LIVE_MAP_TAIL, /* that one block has after its head */
};

static_assert(LIVE_SLACK_GRANULE_LOG2 == (int)LIVE_CELLS_SLACK_LOG2 &&
		      LIVE_SLACK_BITS == (int)LIVE_CELLS_SLACK_BITS &&
		      LIVE_SLACK_SIDE == (int)LIVE_CELLS_SLACK_SIDE &&
		      TWO_CELL_SIDE == (int)LIVE_CELLS_CODE_SIDE &&
		      TWO_CELL_NEXT == (int)LIVE_CELLS_CODE_NEXT,
	      "core/live_cells.c reads the cells");

/* Immutable after live_table_init(). */
static enum live_layout layout;

static inline uint32_t cell_load(const struct live_cell *cell)
{
	return atomic_load_explicit(&cell->value, memory_order_relaxed);
}

static inline void cell_store(struct live_cell *cell, uint32_t value)
{
	atomic_store_explicit(&cell->value, value, memory_order_relaxed);
}

/* After the side entry and the size cells. */
static inline void cell_publish(struct live_cell *cell, uint32_t value)
{
	atomic_store_explicit(&cell->value, value, memory_order_release);
}

/* Sets the cell from value to 0.  Returns false if another thread was faster. */
static bool cell_clear(struct live_cell *cell, uint32_t value)
{
	return atomic_compare_exchange_strong_explicit(&cell->value, &value, 0,
						       memory_order_acq_rel, memory_order_relaxed);
}

static __attribute__((noinline, cold)) enum live_put put_lost(void)
{
	loss_add(FORMAT_LOSS_EVENTS, 1);
	return LIVE_PUT_LOST;
}

/* The key in the side table: of the granule, as a cell does not know more of its block's address. */
static uintptr_t side_key(uintptr_t addr)
{
	return addr >> live_map.granule_log2 << live_map.granule_log2;
}

static bool side_put(const struct live_block *block)
{
	const struct side_entry entry = {.size = block->size, .birth_ns = block->birth_ns};

	return side_table_put(side_key(block->addr), &entry);
}

/* Completes *block, whose cell is cleared, from the side table. */
static void side_take(struct live_block *block)
{
	struct side_entry entry = {0, 0};

	side_table_take(side_key(block->addr), &entry);
	block->size = entry.size;
	block->birth_ns = entry.birth_ns;
}

/* Counts evicted stale blocks, of which the caller can be told but one. */
static enum live_put put_result(uint32_t evicted)
{
	if (evicted == 0)
		return LIVE_PUT_OK;
	loss_add(FORMAT_LOSS_STALE_BLOCKS, evicted);
	if (evicted > 1)
		loss_add(FORMAT_LOSS_EVENTS, evicted - 1);
	return LIVE_PUT_STALE;
}

/* --- slack layout --- */

/* Takes out whatever block the cell of addr holds. */
static __attribute__((noinline, cold)) bool slack_remove(struct live_cell *cell, uintptr_t addr,
							 struct live_block *block)
{
	uint32_t value = cell_load(cell);
	size_t slack = value & LIVE_SLACK_SIDE;
	struct live_block found = {.addr = addr, .stack_id = value >> LIVE_SLACK_BITS};

	if (value == 0 || !cell_clear(cell, value))
		return false;
	if (slack == LIVE_SLACK_SIDE)
		side_take(&found);
	else if (live_usable_size(addr) >= slack)
		found.size = live_usable_size(addr) - slack;
	*block = found;
	return true;
}

static __attribute__((noinline, cold)) enum live_put slack_put_slow(struct live_cell *cell,
								    const struct live_block *block,
								    struct live_block *stale)
{
	size_t slack = live_usable_size(block->addr) - block->size;
	uint32_t evicted = slack_remove(cell, block->addr, stale);

	if (slack >= LIVE_SLACK_SIDE || block->birth_ns != 0) {
		if (side_put(block)) {
			slack = LIVE_SLACK_SIDE;
		} else if (slack < LIVE_SLACK_SIDE) {
			loss_add(FORMAT_LOSS_SAMPLES, 1);
		} else {
			put_result(evicted);
			loss_add(FORMAT_LOSS_EVENTS, evicted);
			return put_lost();
		}
	}
	cell_publish(cell, block->stack_id << LIVE_SLACK_BITS | (uint32_t)slack);
	return put_result(evicted);
}

static enum live_put slack_put(struct live_cell *leaf, const struct live_block *block,
			       struct live_block *stale)
{
	if (block->birth_ns == 0 && live_table_put_fast(block->addr, block->size, block->stack_id))
		return LIVE_PUT_OK;
	return slack_put_slow(live_map_cell(leaf, block->addr, LIVE_SLACK_GRANULE_LOG2), block,
			      stale);
}

static __attribute__((noinline, cold)) bool slack_take_slow(struct live_cell *cell, uintptr_t addr,
							    struct live_block *block)
{
	/* Usable size < slack: some other block lay here when the cell was written. */
	if ((cell_load(cell) & LIVE_SLACK_SIDE) != LIVE_SLACK_SIDE)
		loss_add(FORMAT_LOSS_STALE_BLOCKS, 1);
	return slack_remove(cell, addr, block);
}

static bool slack_take(struct live_cell *leaf, uintptr_t addr, struct live_block *block)
{
	struct live_cell *cell = live_map_cell(leaf, addr, LIVE_SLACK_GRANULE_LOG2);

	if (live_table_take_fast(addr, block))
		return true;
	return cell_load(cell) != 0 && slack_take_slow(cell, addr, block);
}

/* --- two-cell layout --- */

/* Size cells that a block of size takes after its head. */
static uint32_t size_cells(size_t size)
{
	if (size <= LIVE_INLINE_MAX)
		return 0;
	return size < TWO_CELL_LONG ? 1 : SIZE_CELLS_MAX;
}

/* Reads and clears the size cells after head.  They belong to the head's block as long as they are
 * size cells: a block that began there since has removed this one or overwritten them. */
static size_t take_size_cells(struct live_cell *head)
{
	size_t part[SIZE_CELLS_MAX] = {0, 0, 0};

	for (uint32_t i = 0; i < SIZE_CELLS_MAX; i++) {
		uint32_t value = cell_load(head + 1 + i);

		if (!two_cell_is_size(value) || !cell_clear(head + 1 + i, value))
			break;
		part[i] = value >> 1;
		if (i == 0 && part[0] != TWO_CELL_LONG)
			break;
	}
	return part[0] == TWO_CELL_LONG ? part[1] | part[2] << 31 : part[0];
}

/* Takes out the block whose head is in cell, that of addr. */
static __attribute__((noinline, cold)) bool two_cell_remove(struct live_cell *cell, uintptr_t addr,
							    struct live_block *block)
{
	uint32_t value = cell_load(cell);
	struct live_block found = {
		.addr = addr, .stack_id = value >> 6, .size = two_cell_code(value)};

	if (!two_cell_is_head(value) || !cell_clear(cell, value))
		return false;
	if (two_cell_code(value) == TWO_CELL_NEXT)
		found.size = take_size_cells(cell);
	else if (two_cell_code(value) == TWO_CELL_SIDE)
		side_take(&found);
	*block = found;
	return true;
}

/* Makes the cell of addr, which the caller owns, free: takes out the stale block that begins or has
 * its size there.  Returns false if there was none. */
static bool two_cell_evict(struct live_cell *cell, uintptr_t addr, struct live_block *stale)
{
	uintptr_t before = (addr & (LIVE_MAP_SPAN - 1)) >> LIVE_MAP_FINE_LOG2; /* cells in the leaf */
	uint32_t value = cell_load(cell);

	if (two_cell_is_head(value))
		return two_cell_remove(cell, addr, stale);
	for (uintptr_t back = 1;
	     two_cell_is_size(value) && back <= SIZE_CELLS_MAX && back <= before; back++) {
		uint32_t owner = cell_load(cell - back);

		if (two_cell_is_head(owner) && two_cell_code(owner) == TWO_CELL_NEXT)
			return two_cell_remove(cell - back, addr - (back << LIVE_MAP_FINE_LOG2),
					       stale);
		if (!two_cell_is_size(owner))
			break;
	}
	cell_store(cell, 0);
	return false;
}

static uint32_t two_cell_evict_all(struct live_cell *cell, const struct live_block *block,
				   struct live_block *stale)
{
	struct live_block ignored;
	uint32_t evicted = 0;

	for (uint32_t i = 0; i <= size_cells(block->size); i++)
		evicted += two_cell_evict(cell + i, block->addr + (i << LIVE_MAP_FINE_LOG2),
					  evicted ? &ignored : stale);
	return evicted;
}

static __attribute__((noinline, cold)) enum live_put two_cell_put_slow(
	struct live_cell *cell, const struct live_block *block, struct live_block *stale)
{
	uint32_t evicted = two_cell_evict_all(cell, block, stale);
	size_t size = block->size;
	uint32_t code = TWO_CELL_NEXT;

	if (block->birth_ns != 0 && side_put(block)) {
		cell_publish(cell, two_cell_head(block->stack_id, TWO_CELL_SIDE));
		return put_result(evicted);
	}
	if (block->birth_ns != 0)
		loss_add(FORMAT_LOSS_SAMPLES, 1);
	if (size <= LIVE_INLINE_MAX) {
		code = (uint32_t)size;
	} else if (size < TWO_CELL_LONG) {
		cell_store(cell + 1, two_cell_size(size));
	} else {
		cell_store(cell + 1, two_cell_size(TWO_CELL_LONG));
		cell_store(cell + 2, two_cell_size(size & TWO_CELL_LONG));
		cell_store(cell + 3, two_cell_size(size >> 31));
	}
	cell_publish(cell, two_cell_head(block->stack_id, code));
	return put_result(evicted);
}

static enum live_put two_cell_put(struct live_cell *leaf, const struct live_block *block,
				  struct live_block *stale)
{
	if (block->birth_ns == 0 &&
	    live_table_put_two_cell(block->addr, block->size, block->stack_id))
		return LIVE_PUT_OK;
	return two_cell_put_slow(live_map_cell(leaf, block->addr, LIVE_MAP_FINE_LOG2), block, stale);
}

static bool two_cell_take(struct live_cell *leaf, uintptr_t addr, struct live_block *block)
{
	return live_table_take_two_cell(addr, block) ||
	       two_cell_remove(live_map_cell(leaf, addr, LIVE_MAP_FINE_LOG2), addr, block);
}

/* --- both --- */

bool live_table_init(enum live_layout chosen)
{
	layout = chosen;
	return live_map_init(chosen == LIVE_SLACK ? LIVE_SLACK_GRANULE_LOG2 : LIVE_MAP_FINE_LOG2);
}

/* The first block in its leaf, or in none. */
static __attribute__((noinline, cold)) enum live_put put_first(const struct live_block *block,
							       struct live_block *stale)
{
	if (!live_map_make_leaf(block->addr))
		return put_lost();
	return live_table_put(block, stale);
}

enum live_put live_table_put(const struct live_block *block, struct live_block *stale)
{
	struct live_cell *leaf = live_map_leaf(block->addr);

	if (__builtin_expect(!leaf, 0))
		return put_first(block, stale);
	return layout == LIVE_SLACK ? slack_put(leaf, block, stale)
				    : two_cell_put(leaf, block, stale);
}

bool live_table_take(uintptr_t addr, struct live_block *block)
{
	struct live_cell *leaf = live_map_leaf(addr);

	if (__builtin_expect(!leaf, 0))
		return false;
	return layout == LIVE_SLACK ? slack_take(leaf, addr, block)
				    : two_cell_take(leaf, addr, block);
}

uint32_t live_table_stack(uintptr_t addr)
{
	struct live_cell *leaf = live_map_leaf(addr);
	uint32_t value = leaf ? cell_load(live_map_cell(leaf, addr, live_map.granule_log2)) : 0;

	if (layout == LIVE_SLACK)
		return value >> LIVE_SLACK_BITS;
	return two_cell_is_head(value) ? value >> LIVE_CELLS_TWO_BITS : 0;
}

bool live_table_fork_child(void)
{
	return live_map_fork_child();
}

bool live_table_take_inherited(uintptr_t addr)
{
	for (uint32_t map = live_map_inherited_count(); map-- > 0;) {
		struct live_cell *cell = live_map_inherited(map, addr);
		uint32_t value = cell ? cell_load(cell) : 0;

		/* Size cells stay: nothing is put into this map any more, and a size is no block. */
		if ((layout == LIVE_SLACK ? value != 0 : two_cell_is_head(value)) &&
		    cell_clear(cell, value))
			return true;
	}
	return false;
}

size_t live_table_resident(void)
{
	return live_map_resident();
}
