/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * blocks.c - see blocks.h.
 *
 * A leaf of the index has for each granule of 512 bytes the first block that lies in it, plus 1.
 */
#include "leaks/blocks.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
	ADDRESS_BITS = 47,
	LEAVES = 1 << (ADDRESS_BITS - BLOCKS_LEAF_LOG2),
	GRANULES = 1 << (BLOCKS_LEAF_LOG2 - BLOCKS_GRANULE_LOG2), /* in a leaf */
};

static_assert(sizeof(struct block) == 16, "packed");

bool blocks_add(struct blocks *blocks, const struct block *block)
{
	if (blocks->count == blocks->room) {
		size_t room = blocks->room ? 2 * (size_t)blocks->room : 4096;
		struct block *items;

		if (room > UINT32_MAX - 1)
			return false;
		items = realloc(blocks->items, room * sizeof(*items));
		if (!items)
			return false;
		blocks->items = items;
		blocks->room = (uint32_t)room;
	}
	blocks->items[blocks->count++] = *block;
	return true;
}

/* Of two at one address that of the process itself comes first. */
static int compare(const void *a, const void *b)
{
	const struct block *first = a, *second = b;

	if (first->addr != second->addr)
		return first->addr < second->addr ? -1 : 1;
	return (int)(first->flags & BLOCKS_FOREIGN) - (int)(second->flags & BLOCKS_FOREIGN);
}

static bool is_sorted(const struct blocks *blocks)
{
	for (uint32_t i = 1; i < blocks->count; i++)
		if (compare(&blocks->items[i - 1], &blocks->items[i]) > 0)
			return false;
	return true;
}

static void leave_out_overlaps(struct blocks *blocks)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < blocks->count; i++) {
		struct block *block = &blocks->items[i];
		struct block *last = kept ? &blocks->items[kept - 1] : NULL;

		if (last && last->addr + block_extent(last) > block->addr) {
			if (last->flags & BLOCKS_FOREIGN && !(block->flags & BLOCKS_FOREIGN))
				*last = *block;
			continue;
		}
		blocks->items[kept++] = *block;
	}
	blocks->count = kept;
}

static uint32_t *leaf_of(struct blocks *blocks, uint64_t addr)
{
	uint32_t **leaf = &blocks->index[addr >> BLOCKS_LEAF_LOG2];

	if (!*leaf)
		*leaf = calloc(GRANULES, sizeof(**leaf));
	return *leaf;
}

static bool index_block(struct blocks *blocks, uint32_t number)
{
	const struct block *block = &blocks->items[number];
	uint64_t last = (block->addr + block_extent(block) - 1) >> BLOCKS_GRANULE_LOG2;

	for (uint64_t at = block->addr >> BLOCKS_GRANULE_LOG2; at <= last; at++) {
		uint32_t *leaf = leaf_of(blocks, at << BLOCKS_GRANULE_LOG2);

		if (!leaf)
			return false;
		if (!leaf[at % GRANULES])
			leaf[at % GRANULES] = number + 1;
	}
	return true;
}

bool blocks_finish(struct blocks *blocks)
{
	const struct block *last;

	if (!is_sorted(blocks))
		qsort(blocks->items, blocks->count, sizeof(*blocks->items), compare);
	leave_out_overlaps(blocks);
	if (!blocks->count)
		return true;
	blocks->index = mmap(NULL, LEAVES * sizeof(*blocks->index), PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (blocks->index == MAP_FAILED) {
		blocks->index = NULL;
		return false;
	}
	for (uint32_t i = 0; i < blocks->count; i++)
		if (!index_block(blocks, i))
			return false;
	last = &blocks->items[blocks->count - 1];
	blocks->first = blocks->items[0].addr;
	blocks->span = last->addr + block_extent(last) - blocks->first;
	return true;
}

void blocks_free(struct blocks *blocks)
{
	for (uint32_t i = 0; blocks->index && blocks->count && i < LEAVES; i++)
		free(blocks->index[i]);
	if (blocks->index)
		munmap(blocks->index, LEAVES * sizeof(*blocks->index));
	free(blocks->items);
	*blocks = (struct blocks){0};
}
