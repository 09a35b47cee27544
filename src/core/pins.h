/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pins.h - which call stacks' live blocks pin how many free bytes: those of resident pages that could go back to the kernel but for
 * these blocks.
 *
 * The free bytes of a page are shared out among the blocks that lie in it, by their bytes there; so the sum over all call stacks is
 * the sum over all pages with a live block.  Pages without one are nobody's.  Of a sampled mapping each call stack gets the same part
 * of the mapping's free bytes as of the examined pages'.
 *
 * Slack goes the same way: what size classes add to each block, as far as its pages are resident.
 *
 * Freestanding, allocates nothing: a table of fixed size, which the caller maps.  Call stacks that find no room in it count together.
 */
#ifndef PMEM_CORE_PINS_H
#define PMEM_CORE_PINS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/format.h"
#include "core/live_cells.h"

enum {
	PINS_BLOCKS = LIVE_CELLS_MAX + 1, /* that begin in a window, and one from before */
	PINS_LOG2_MIN = 8,
};

struct pin {
	uint32_t key;	     /* stack_id + 1; 0 = the slot is free */
	uint32_t next;	     /* number of the next one of this mapping, plus 1; 0 = the last */
	uint32_t is_listed;  /* there */
	uint32_t page;	     /* the last one of some_pages, by number */
	uint64_t bytes;	     /* of the mappings before */
	uint64_t pages;	     /* likewise: partly free ones in which its blocks lie */
	uint64_t slack;	     /* likewise */
	uint64_t some_bytes; /* of this mapping's examined pages */
	uint64_t some_slack;
	uint32_t some_pages;
	uint32_t reserved;
};

/* A block's part of a window. */
struct pins_block {
	uint32_t stack_id;
	uint16_t from;
	uint16_t to;
};

struct pins {
	struct pin *slots; /* 1 << log2, the caller's, zeroed; NULL: nothing is wanted */
	uint32_t log2;
	/* Zero at first: */
	uint32_t used;	   /* slots */
	uint32_t first;	   /* of this mapping, see struct pin */
	uint32_t page;	   /* how many there were */
	uint32_t resident; /* pages of the window: a bit for each */
	uint32_t block_count;
	uint32_t low;			       /* blocks before it end before the page */
	struct pins_block blocks[PINS_BLOCKS]; /* of the window, by address */
};

/* Slots, as a power of two, for call-stack ids below limit; at most most_log2. */
uint32_t pins_log2(uint32_t limit, uint32_t most_log2);

/* A window begins: its blocks, by address; then each of its pages that has free bytes, and inherited ones of blocks that came
 * with fork().  resident: a bit for each of its pages. */
void pins_begin_window(struct pins *pins, uint32_t resident);
void pins_block(struct pins *pins, uint64_t window, const struct live_cells_block *block);
void pins_page(struct pins *pins, uint32_t page, uint32_t free, uint32_t inherited);

/* Pages of a mapping, and how many of them were examined. */
struct pins_mapping {
	uint64_t bytes; /* free ones of all pages with a live block */
	uint64_t pages;
	uint64_t examined;
};

/* The mapping ends. */
void pins_end_mapping(struct pins *pins, const struct pins_mapping *mapping);

/* The call stack of a used slot: FORMAT_PIN_INHERITED, FORMAT_PIN_OTHERS, or an id. */
static inline uint32_t pins_stack(const struct pin *pin)
{
	return pin->key - 1;
}

#endif
