/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * blocks.h - the live blocks of a process, by address.
 *
 * 16 bytes for each block, and an index of 1/128 of the heap: a word is looked up in some 10 ns.
 */
#ifndef PMEM_LEAKS_BLOCKS_H
#define PMEM_LEAKS_BLOCKS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	BLOCKS_REACHED = 1,  /* from a root */
	BLOCKS_INDIRECT = 2, /* from another block that is not reached */
	BLOCKS_IGNORED = 4,  /* suppressed, or reached from one that is */
	BLOCKS_PENDING = 8,  /* what it holds is still to be looked at */
	BLOCKS_FOREIGN = 16, /* of the parent process, before fork(): never reported */
};

struct block {
	uint64_t addr : 47;
	uint64_t flags : 7;
	uint64_t size_high : 10;
	uint64_t size_low : 37;
	uint64_t stack : 27; /* call-stack id */
};

static inline uint64_t block_size(const struct block *block)
{
	return (uint64_t)block->size_high << 37 | block->size_low;
}

/* What a pointer may point to: a block of 0 bytes is as good as one of 1. */
static inline uint64_t block_extent(const struct block *block)
{
	uint64_t size = block_size(block);

	return size ? size : 1;
}

struct blocks {
	struct block *items; /* by address, once blocks_finish() was called; they do not overlap */
	uint32_t count;
	uint32_t room;
	uint64_t first; /* all lie in [first, first + span) */
	uint64_t span;
	uint32_t **index; /* [2^47 / BLOCKS_LEAF] */
};

enum { BLOCKS_LEAF_LOG2 = 26, BLOCKS_GRANULE_LOG2 = 9 };

#define BLOCKS_NONE UINT32_MAX

/* False: no memory, or more than 2^32 - 2 blocks. */
bool blocks_add(struct blocks *blocks, const struct block *block);

/* After the last one: sorts them, leaves out those that overlap with one that is not BLOCKS_FOREIGN, and makes the index. */
bool blocks_finish(struct blocks *blocks);
void blocks_free(struct blocks *blocks);

/* The block that addr lies in, or BLOCKS_NONE. */
static inline uint32_t blocks_find(const struct blocks *blocks, uint64_t addr)
{
	const uint32_t *leaf;
	uint32_t i;

	if (addr - blocks->first >= blocks->span)
		return BLOCKS_NONE;
	leaf = blocks->index[addr >> BLOCKS_LEAF_LOG2];
	if (!leaf)
		return BLOCKS_NONE;
	i = leaf[(addr & ((UINT64_C(1) << BLOCKS_LEAF_LOG2) - 1)) >> BLOCKS_GRANULE_LOG2];
	if (!i)
		return BLOCKS_NONE;
	for (i--; i < blocks->count && blocks->items[i].addr <= addr; i++)
		if (addr - blocks->items[i].addr < block_extent(&blocks->items[i]))
			return i;
	return BLOCKS_NONE;
}

#endif
