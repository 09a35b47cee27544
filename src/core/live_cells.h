/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * live_cells.h - reads the recorder's live table from where it lies: in this process or in another one.
 *
 * The table goes on to change while it is read, and its memory may be anything: every number is checked, and a block that makes no
 * sense is left out.  What the cells mean: libpmem/live_table.h, live_map.h, side_table.h, which assert that these numbers are theirs.
 */
#ifndef PMEM_CORE_LIVE_CELLS_H
#define PMEM_CORE_LIVE_CELLS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/format.h"

enum {
	LIVE_CELLS_SPAN_LOG2 = 26, /* addresses under one leaf */
	LIVE_CELLS_ADDRESS_BITS = 47,
	LIVE_CELLS_SLACK_LOG2 = 5, /* granule of the slack layout; a smaller one: the two-cell layout */
	LIVE_CELLS_SLACK_BITS = 5,
	LIVE_CELLS_TWO_BITS = 6, /* below the call-stack id in the two-cell layout */
	LIVE_CELLS_SLACK_SIDE = 31,
	LIVE_CELLS_TAIL = 3, /* cells that a block may have after its first one */
	LIVE_CELLS_CODE_SIDE = 30,
	LIVE_CELLS_CODE_NEXT = 31,
	LIVE_CELLS_SIDE_TABLES = 24,
	LIVE_CELLS_SIDE_FIRST_LOG2 = 8, /* slots of the first side table; each further one has twice as many */
	LIVE_CELLS_SIDE_PROBES = 32,
	LIVE_CELLS_SIDE_SLOT = 24,     /* bytes: key, size, time of birth */
	LIVE_CELLS_WINDOW = 16 * 1024, /* bytes of the heap that are looked at together */
	LIVE_CELLS_MAX = LIVE_CELLS_WINDOW / 16,
};

/* Copies memory of the process that has the table.  False: it cannot be read. */
typedef bool live_cells_copy(void *context, uint64_t addr, void *buffer, size_t size);

struct live_cells {
	live_cells_copy *program;  /* of the program's memory, which may be gone */
	live_cells_copy *recorder; /* of the recorder's, which is there as long as the process is */
	void *context;
	const struct format_memory *memory;
	/* Zero at first: */
	uint64_t known_span; /* of leaf, plus 1 */
	uint64_t known_table;
	uint64_t leaf;
	uint64_t window; /* bytes has the program's memory from here on */
	size_t window_size;
	unsigned char bytes[8 + LIVE_CELLS_WINDOW];
};

/* A block's memory as the allocator sees it is [start, end), which does not overlap with that of other blocks. */
struct live_cells_block {
	uint64_t start;
	uint64_t end;
	uint64_t addr;
	uint64_t size; /* as requested */
	uint32_t stack_id;
	bool is_mapped; /* glibc: a mapping of its own */
};

/* The cells of the window at addr, and LIVE_CELLS_TAIL more, in the table whose upper level is given.  False: there are none: no
 * block begins there. */
bool live_cells_read(struct live_cells *cells, uint64_t table, uint64_t addr,
		     uint32_t values[LIVE_CELLS_MAX + LIVE_CELLS_TAIL]);

/* Number of cells of a window. */
static inline uint32_t live_cells_count(const struct live_cells *cells)
{
	return LIVE_CELLS_WINDOW >> cells->memory->granule_log2;
}

/* True if a block begins in this granule. */
static inline bool live_cells_is_head(const struct live_cells *cells, uint32_t value)
{
	return value != 0 && (cells->memory->granule_log2 == LIVE_CELLS_SLACK_LOG2 || !(value & 1));
}

/* The address of the leaf's cell for addr; 0: the leaf is not there. */
uint64_t live_cells_place(struct live_cells *cells, uint64_t table, uint64_t addr);

/* Reads a window of the program's memory ahead: the blocks that begin in it need no copies of their own. */
void live_cells_read_ahead(struct live_cells *cells, uint64_t addr);

/* What lies around a block. */
struct live_cells_bounds {
	uint64_t before; /* where the memory of the block before ends; 0 = not known */
	uint64_t next;	 /* the granule in which the next block begins; 0 = not known */
	uint64_t limit;	 /* where the mapping ends */
};

/* The first cell of a block, LIVE_CELLS_TAIL more behind it, and the granule that it is of. */
struct live_cells_head {
	const uint32_t *values;
	uint64_t addr;
};

/* What the block is.  False: it makes no sense. */
bool live_cells_block(struct live_cells *cells, const struct live_cells_head *head,
		      const struct live_cells_bounds *bounds, struct live_cells_block *block);

#endif
