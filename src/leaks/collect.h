/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * collect.h - the live blocks of a process from its live table (core/live_cells.h).
 */
#ifndef PMEM_LEAKS_COLLECT_H
#define PMEM_LEAKS_COLLECT_H
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "core/live_cells.h"
#include "leaks/blocks.h"
#include "leaks/memory.h"

enum { COLLECT_TABLES = 9 }; /* the process's, and inherited ones */

struct collect {
	/* Is told of each block, if not NULL. */
	void (*found)(void *context, const struct live_cells_block *block);
	void *context;
	struct blocks *blocks;
	/* Set by collect_begin(): */
	uint64_t tables[COLLECT_TABLES];
	uint32_t table_count;
	struct live_cells cells;
	uint32_t values[2][LIVE_CELLS_MAX + LIVE_CELLS_TAIL]; /* of a window, and of the next */
};

/* After the first three were set; the rest is zero.  location says where the table is; it must stay. */
bool collect_begin(struct collect *collect, struct memory *memory,
		   const struct format_memory *location, struct error *err);

/* Adds the blocks in a mapping.  False: no memory. */
bool collect_add(struct collect *collect, uint64_t start, uint64_t end, struct error *err);

#endif
