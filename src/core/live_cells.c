/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * live_cells.c - see live_cells.h.
 *
 * A chunk of glibc's malloc begins 16 bytes before the block: the size of the chunk before, if that is free, else bytes of that
 * chunk's block; then its own size with three flags (malloc/malloc.c, "struct malloc_chunk").  So what belongs to a block are the
 * bytes from 8 before it up to 8 before the next.
 */
#include "core/live_cells.h"

#include <string.h>

enum {
	CHUNK_MIN = 32,
	CHUNK_PREVIOUS_USED = 1,
	CHUNK_MAPPED = 2,
	CHUNK_FLAGS = 7,
	HEADER = 8,
	CHAIN_MAX = 64,
	CHAIN_ENOUGH = 4,   /* where nothing says where it must lead */
	CLASS_LINEAR = 128, /* up to here allocators' classes are 16 bytes apart */
	QUANTUM = 16,
};

#define SIDE_HASH 0x9e3779b97f4a7c15u
#define LONG_SIZE 0x7fffffffu

/* --- cells ----------------------------------------------------------------------------------- */

/* The leaf of addr; 0 = none. */
static uint64_t find_leaf(struct live_cells *cells, uint64_t table, uint64_t addr)
{
	uint64_t span = addr >> LIVE_CELLS_SPAN_LOG2;

	if (addr >> LIVE_CELLS_ADDRESS_BITS || !table)
		return 0;
	if (cells->known_span == span + 1 && cells->known_table == table)
		return cells->leaf;
	if (!cells->recorder(cells->context, table + span * sizeof(cells->leaf), &cells->leaf,
			     sizeof(cells->leaf)))
		cells->leaf = 0;
	cells->known_span = span + 1;
	cells->known_table = table;
	return cells->leaf;
}

uint64_t live_cells_place(struct live_cells *cells, uint64_t table, uint64_t addr)
{
	uint64_t leaf = find_leaf(cells, table, addr);
	uint64_t inside = addr & ((UINT64_C(1) << LIVE_CELLS_SPAN_LOG2) - 1);

	return leaf ? leaf + (inside >> cells->memory->granule_log2) * sizeof(uint32_t) : 0;
}

bool live_cells_read(struct live_cells *cells, uint64_t table, uint64_t addr,
		     uint32_t values[LIVE_CELLS_MAX + LIVE_CELLS_TAIL])
{
	uint64_t place = live_cells_place(cells, table, addr);
	size_t size = (live_cells_count(cells) + LIVE_CELLS_TAIL) * sizeof(uint32_t);

	return place && cells->recorder(cells->context, place, values, size);
}

/* --- the program's memory -------------------------------------------------------------------- */

void live_cells_read_ahead(struct live_cells *cells, uint64_t addr)
{
	cells->window = addr - HEADER;
	cells->window_size = sizeof(cells->bytes);
	if (cells->program(cells->context, cells->window, cells->bytes, cells->window_size))
		return;
	/* The page before is another mapping's, or gone. */
	cells->window = addr;
	cells->window_size = LIVE_CELLS_WINDOW;
	if (!cells->program(cells->context, addr, cells->bytes, cells->window_size))
		cells->window_size = 0;
}

/* False: it cannot be read. */
static bool read_word(struct live_cells *cells, uint64_t addr, uint64_t *word)
{
	uint64_t at = addr - cells->window;

	if (at > cells->window_size || cells->window_size - at < sizeof(*word))
		return cells->program(cells->context, addr, word, sizeof(*word));
	memcpy(word, cells->bytes + at, sizeof(*word));
	return true;
}

/* --- sizes ----------------------------------------------------------------------------------- */

/* Searches one of the side tables. */
static bool find_in_side(struct live_cells *cells, uint32_t table, uint64_t key, uint64_t *size)
{
	uint64_t mask = (UINT64_C(1) << (LIVE_CELLS_SIDE_FIRST_LOG2 + table)) - 1;
	uint64_t slot[LIVE_CELLS_SIDE_SLOT / sizeof(uint64_t)], slots;

	if (!cells->recorder(cells->context, cells->memory->side_tables + table * sizeof(slots),
			     &slots, sizeof(slots)) ||
	    !slots)
		return false;
	for (uint64_t i = 0; i < LIVE_CELLS_SIDE_PROBES; i++) {
		uint64_t index = ((key * SIDE_HASH >> 32) + i) & mask;

		if (!cells->recorder(cells->context, slots + index * LIVE_CELLS_SIDE_SLOT, slot,
				     sizeof(slot)) ||
		    slot[0] == 0)
			return false;
		if (slot[0] != key)
			continue;
		*size = slot[1];
		return true;
	}
	return false;
}

static bool find_side_size(struct live_cells *cells, uint64_t key, uint64_t *size)
{
	for (uint32_t table = LIVE_CELLS_SIDE_TABLES; cells->memory->side_tables && table-- > 0;)
		if (find_in_side(cells, table, key, size))
			return true;
	return false;
}

/* --- glibc's chunks -------------------------------------------------------------------------- */

/* A block at addr, if the words around it can be those of a chunk in use. */
static bool read_chunk(struct live_cells *cells, uint64_t addr,
		       const struct live_cells_bounds *bounds, struct live_cells_block *block)
{
	uint64_t header, size;

	if (!read_word(cells, addr - HEADER, &header))
		return false;
	size = header & ~(uint64_t)CHUNK_FLAGS;
	if (size < CHUNK_MIN || size % QUANTUM || addr - HEADER < bounds->before ||
	    size > bounds->limit - addr + 2 * HEADER)
		return false;
	block->is_mapped = header & CHUNK_MAPPED;
	block->addr = addr;
	block->start = addr - HEADER;
	block->end = block->start + size - (block->is_mapped ? HEADER : 0);
	return true;
}

/* From a chunk in use to the next block the heap is nothing but chunks.  Returns how many there are, at least 1; 0: the chain breaks, or
 * leads past it.  Where the next block is not known 1, if there are some, or the mapping ends with one. */
static uint32_t count_chunks(struct live_cells *cells, const struct live_cells_block *block,
			     const struct live_cells_bounds *bounds)
{
	const uint64_t mask = ~((UINT64_C(1) << LIVE_CELLS_SLACK_LOG2) - 1);
	uint64_t at = block->end, header, size;

	for (uint32_t count = 1; count <= CHAIN_MAX; count++) {
		if (bounds->next && ((at + HEADER) & mask) > bounds->next)
			return 0;
		if (!read_word(cells, at, &header) ||
		    (count == 1 && !(header & CHUNK_PREVIOUS_USED)))
			return 0;
		size = header & ~(uint64_t)CHUNK_FLAGS;
		if (size < CHUNK_MIN || size % QUANTUM || size > bounds->limit - at + HEADER)
			return 0;
		if (bounds->next && ((at + HEADER) & mask) == bounds->next)
			return count;
		if (!bounds->next && (count == CHAIN_ENOUGH || size == bounds->limit - at + HEADER))
			return 1;
		at += size;
	}
	return 0;
}

/* Where the chain from the end of the block before comes to, at start or behind it; 0: it breaks, or no such block is known. */
static uint64_t chain_from_before(struct live_cells *cells, uint64_t start,
				  const struct live_cells_bounds *bounds)
{
	uint64_t at = bounds->before, header, size;

	for (uint32_t count = 0; at && at < start; count++) {
		if (count == CHAIN_MAX || !read_word(cells, at, &header))
			return 0;
		size = header & ~(uint64_t)CHUNK_FLAGS;
		if (size < CHUNK_MIN || size % QUANTUM || size > bounds->limit - at)
			return 0;
		at += size;
	}
	return at;
}

/* Which of two that overlap is a block: the program's own words, and headers of chunks that were divided anew, may look like one. */
static bool is_first_better(struct live_cells *cells, const struct live_cells_block *first,
			    const struct live_cells_block *second,
			    const struct live_cells_bounds *bounds)
{
	uint32_t from_first = count_chunks(cells, first, bounds);
	uint32_t from_second = count_chunks(cells, second, bounds);
	uint64_t begin;

	if (!from_first || !from_second)
		return from_first != 0;
	begin = chain_from_before(cells, first->start, bounds);
	if (begin == first->start || begin == second->start)
		return begin == first->start;
	return from_first <= from_second;
}

/* A granule may have a block at its beginning or in its middle. */
static bool find_chunk(struct live_cells *cells, uint64_t addr,
		       const struct live_cells_bounds *bounds, struct live_cells_block *block)
{
	struct live_cells_block other;
	bool first = read_chunk(cells, addr, bounds, block);
	bool second = read_chunk(cells, addr + QUANTUM, bounds, &other);

	if (second &&
	    (!first || (!block->is_mapped && !is_first_better(cells, block, &other, bounds))))
		*block = other;
	return first || second;
}

static bool slack_block(struct live_cells *cells, const struct live_cells_head *head,
			const struct live_cells_bounds *bounds, struct live_cells_block *block)
{
	uint32_t slack = head->values[0] & LIVE_CELLS_SLACK_SIDE;
	uint64_t usable;

	if (!find_chunk(cells, head->addr, bounds, block))
		return false;
	block->stack_id = head->values[0] >> LIVE_CELLS_SLACK_BITS;
	usable = block->end - block->addr;
	block->size = usable;
	if (slack == LIVE_CELLS_SLACK_SIDE)
		find_side_size(cells, head->addr, &block->size);
	else
		block->size -= slack < usable ? slack : usable;
	if (block->size > usable)
		block->size = usable;
	return true;
}

/* --- other allocators ------------------------------------------------------------------------ */

/* What jemalloc and mimalloc make of a size: four classes for each power of two.  Of others only the alignment is known. */
static uint64_t class_of(const struct live_cells *cells, uint64_t size)
{
	uint64_t step = QUANTUM;

	if (cells->memory->allocator == FORMAT_ALLOCATOR_GLIBC)
		return size + HEADER < CHUNK_MIN
			       ? CHUNK_MIN
			       : (size + HEADER + QUANTUM - 1) & ~(uint64_t)(QUANTUM - 1);
	if (size > CLASS_LINEAR && (cells->memory->allocator == FORMAT_ALLOCATOR_JEMALLOC ||
				    cells->memory->allocator == FORMAT_ALLOCATOR_MIMALLOC))
		step = UINT64_C(1) << (61 - __builtin_clzll(size - 1));
	return (size + step - 1) & ~(step - 1);
}

static bool two_cell_block(struct live_cells *cells, const struct live_cells_head *head,
			   const struct live_cells_bounds *bounds, struct live_cells_block *block)
{
	const uint32_t *values = head->values;
	uint64_t addr = head->addr;
	uint32_t code = values[0] >> 1 & 31;

	block->size = code;
	if (code == LIVE_CELLS_CODE_NEXT) {
		block->size = values[1] >> 1;
		if (block->size == LONG_SIZE)
			block->size = values[2] >> 1 | (uint64_t)(values[3] >> 1) << 31;
	} else if (code == LIVE_CELLS_CODE_SIDE && !find_side_size(cells, addr, &block->size)) {
		return false;
	}
	if (block->size > bounds->limit - addr)
		return false;
	block->stack_id = values[0] >> LIVE_CELLS_TWO_BITS;
	block->is_mapped = false;
	block->addr = addr;
	block->start = addr;
	block->end = addr + class_of(cells, block->size ? block->size : 1);
	if (block->end > bounds->limit)
		block->end = bounds->limit;
	return true;
}

bool live_cells_block(struct live_cells *cells, const struct live_cells_head *head,
		      const struct live_cells_bounds *bounds, struct live_cells_block *block)
{
	return cells->memory->granule_log2 == LIVE_CELLS_SLACK_LOG2
		       ? slack_block(cells, head, bounds, block)
		       : two_cell_block(cells, head, bounds, block);
}
