/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mark.h - which blocks can be reached, and from where.
 *
 * Conservative: any aligned word that lies in a live block keeps it, also one that points into its middle.  What is direct and what indirect is
 * as with LeakSanitizer: a block that cannot be reached is indirect if another such block points to it, else direct; so a ring that was lost has
 * indirect blocks only.
 */
#ifndef PMEM_LEAKS_MARK_H
#define PMEM_LEAKS_MARK_H
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "leaks/areas.h"
#include "leaks/blocks.h"
#include "leaks/memory.h"
#include "leaks/stop.h"

enum { MARK_PLACES = 16384 };

/* Places in roots whose word is in [start, start + size); the first MARK_PLACES of them. */
struct mark_watch {
	uint64_t start;
	uint64_t size;
	uint64_t *places;
	uint32_t count;
};

struct mark {
	struct memory *memory;
	struct blocks *blocks;
	uint64_t scanned;	 /* bytes that were looked at */
	struct mark_watch watch; /* its range: before mark_roots() */
	/* Inner: */
	uint32_t *pending; /* blocks whose content is still to be looked at, if they are not too many */
	uint32_t *spare;
	uint32_t count; /* how many were added; some may have been looked at since */
	uint64_t *buffer;
};

bool mark_begin(struct mark *mark, struct memory *memory, struct blocks *blocks, struct error *err);
void mark_end(struct mark *mark);

/* Marks all that registers, stacks and other roots reach. */
void mark_roots(struct mark *mark, const struct areas *areas, const struct stop *stop);

/* Marks what the aligned words in [start, end) reach. */
void mark_range(struct mark *mark, uint64_t start, uint64_t end);

/* Marks one block, and all that it reaches, with the flag. */
void mark_from(struct mark *mark, uint32_t block, unsigned flag);

/* Marks what blocks point to that are neither reached nor ignored. */
void mark_indirect(struct mark *mark);

#endif
