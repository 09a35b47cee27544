/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * collect.c - see collect.h.
 */
#include "leaks/collect.h"

#include <string.h>

enum { TWO_CELL_ID_SHIFT = 6 };

static bool copy(void *context, uint64_t addr, void *buffer, size_t size)
{
	return memory_read(context, addr, buffer, size);
}

bool collect_begin(struct collect *collect, struct memory *memory,
		   const struct format_memory *location, struct error *err)
{
	uint64_t inherited[2 * COLLECT_TABLES], probe;
	uint32_t count = location->inherited_count;

	collect->cells.program = copy;
	collect->cells.recorder = copy;
	collect->cells.context = memory;
	collect->cells.memory = location;
	collect->tables[collect->table_count++] = location->table;
	if (count >= COLLECT_TABLES)
		count = COLLECT_TABLES - 1;
	/* Of each the upper level, and something else. */
	if (!memory_read(memory, location->table, &probe, sizeof(probe)) ||
	    (count &&
	     !memory_read(memory, location->inherited, inherited, count * 2 * sizeof(*inherited))))
		return error_set(err,
				 "the recorder's memory is not there any more: the process has "
				 "executed another program");
	for (uint32_t i = 0; i < count; i++)
		collect->tables[collect->table_count++] = inherited[2 * i];
	return true;
}

/* --- a window -------------------------------------------------------------------------------- */

/* A mapping as one of the tables shows it. */
struct walk {
	struct collect *collect;
	uint32_t table; /* index */
	uint64_t start;
	uint64_t end;
	uint64_t before; /* where the last block ends */
};

static uint32_t next_head(const struct collect *collect, const uint32_t *values, uint32_t from)
{
	uint32_t count = live_cells_count(&collect->cells);

	while (from < count && !live_cells_is_head(&collect->cells, values[from]))
		from++;
	return from;
}

/* The granule in which the first block of a window begins; 0: none does. */
static uint64_t first_granule(const struct collect *collect, const uint32_t *values, uint64_t window)
{
	uint32_t first = next_head(collect, values, 0);

	return first < live_cells_count(&collect->cells)
		       ? window + ((uint64_t)first << collect->cells.memory->granule_log2)
		       : 0;
}

static bool add(struct walk *walk, uint32_t cell, const struct live_cells_block *found)
{
	struct collect *collect = walk->collect;
	bool slack = collect->cells.memory->granule_log2 == LIVE_CELLS_SLACK_LOG2;
	struct block block = {
		.addr = found->addr,
		.size_high = found->size >> 37,
		.size_low = found->size & ((UINT64_C(1) << 37) - 1),
		.stack = cell >> (slack ? (int)LIVE_CELLS_SLACK_BITS : (int)TWO_CELL_ID_SHIFT),
	};

	if (walk->table != 0) {
		block.flags = BLOCKS_FOREIGN;
		block.stack = 0;
	}
	walk->before = found->end;
	if (collect->found)
		collect->found(collect->context, found);
	return blocks_add(collect->blocks, &block);
}

/* values are the window's cells; next is the granule of the first block behind it. */
static bool add_window(struct walk *walk, uint64_t window, const uint32_t *values, uint64_t next)
{
	struct collect *collect = walk->collect;
	struct live_cells *cells = &collect->cells;
	uint32_t log2 = cells->memory->granule_log2, count = live_cells_count(cells), following;
	struct live_cells_bounds bounds = {.limit = walk->end};
	struct live_cells_block block;

	if (log2 == LIVE_CELLS_SLACK_LOG2)
		live_cells_read_ahead(cells, window);
	for (uint32_t i = next_head(collect, values, 0); i < count; i = following) {
		const struct live_cells_head head = {&values[i], window + ((uint64_t)i << log2)};

		following = next_head(collect, values, i + 1);
		if (head.addr < walk->start)
			continue;
		if (head.addr >= walk->end)
			break;
		bounds.before = walk->before;
		bounds.next = following < count ? window + ((uint64_t)following << log2) : next;
		if (live_cells_block(cells, &head, &bounds, &block) && !add(walk, values[i], &block))
			return false;
	}
	return true;
}

/* Reads a window's cells.  False: no block begins there. */
static bool read_window(struct walk *walk, uint64_t window, uint32_t *values)
{
	struct collect *collect = walk->collect;

	return window < walk->end &&
	       live_cells_read(&collect->cells, collect->tables[walk->table], window, values) &&
	       next_head(collect, values, 0) < live_cells_count(&collect->cells);
}

static bool walk_table(struct walk *walk)
{
	const uint64_t span = UINT64_C(1) << LIVE_CELLS_SPAN_LOG2;
	struct collect *collect = walk->collect;
	uint64_t window = walk->start & ~(uint64_t)(LIVE_CELLS_WINDOW - 1), next;
	uint32_t *now = collect->values[0], *then = collect->values[1], *spare;
	bool has = read_window(walk, window, now), has_next;

	for (; window < walk->end; window += LIVE_CELLS_WINDOW, has = has_next) {
		if (!has && !live_cells_place(&collect->cells, collect->tables[walk->table], window))
			window = (window | (span - 1)) + 1 - LIVE_CELLS_WINDOW;
		has_next = read_window(walk, window + LIVE_CELLS_WINDOW, then);
		next = has_next ? first_granule(collect, then, window + LIVE_CELLS_WINDOW) : 0;
		if (has && !add_window(walk, window, now, next))
			return false;
		spare = now;
		now = then;
		then = spare;
	}
	return true;
}

bool collect_add(struct collect *collect, uint64_t start, uint64_t end, struct error *err)
{
	for (uint32_t i = 0; i < collect->table_count; i++) {
		struct walk walk = {.collect = collect, .table = i, .start = start, .end = end};

		if (!walk_table(&walk))
			return error_set(err, "no memory for %u blocks", collect->blocks->count);
	}
	return true;
}
