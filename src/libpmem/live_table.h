/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * live_table.h - maps the address of each live block to its requested size and call stack.
 *
 * A two-level shadow map of the heap: no hashing and no locks, because only the owner of a block may
 * free it.  record.c must take a block before the real free() and put it after the real malloc():
 * otherwise another thread may own the address in between.  Two layouts, chosen once at start:
 *
 *   slack     the next malloc is glibc's: 32-byte granules, a cell is {call-stack id 27, slack 5};
 *             requested size = usable size - slack, the usable size read from the chunk's header.
 *   two-cell  any other allocator: 16-byte granules, a cell is {call-stack id 26, size 6}; a block
 *             larger than LIVE_INLINE_MAX keeps its size in its next cell, which it owns too.
 *             hooks.c rounds requests below 9 bytes up, as other allocators may place smaller
 *             blocks 8 bytes apart.
 *
 * What does not fit, and each sampled block with its time of birth, goes to side_table.h.
 */
#ifndef PMEM_LIBPMEM_LIVE_TABLE_H
#define PMEM_LIBPMEM_LIVE_TABLE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libpmem/live_map.h"

enum live_layout { LIVE_SLACK, LIVE_TWO_CELL };

struct live_block {
	uintptr_t addr;
	size_t size;	   /* as requested, not malloc_usable_size() */
	uint64_t birth_ns; /* CLOCK_MONOTONIC; 0 = not sampled */
	uint32_t stack_id; /* call stack, see tree.h; last: with padding in the middle, gcc 12 zeroes birth_ns in
			    * two halves, and loading it then stalls for 5 ns */
};

enum live_put {
	LIVE_PUT_OK,
	LIVE_PUT_STALE, /* done, and *stale holds a block that was there: freed past the hooks */
	LIVE_PUT_LOST,	/* no memory, counted as FORMAT_LOSS_EVENTS: the block will look unknown */
};

/* Chooses the layout; once, before any other call. */
bool live_table_init(enum live_layout layout);

enum {
	LIVE_SLACK_GRANULE_LOG2 = LIVE_MAP_FAST_LOG2,
	LIVE_SLACK_BITS = 5,
	LIVE_SLACK_SIDE = 31, /* in place of a slack: the size is in the side table */
};

/* The usable size of a block of glibc's malloc: the word before it is the chunk's size, with flags in
 * the lowest three bits.  A chunk in use lends one word of its successor's header, but a mmapped
 * chunk (flag 2) has no successor (malloc/malloc.c: chunksize, memsize). */
static inline size_t live_usable_size(uintptr_t addr)
{
	/* Atomic: another thread may flip PREV_INUSE in this word meanwhile. */
	size_t header = __atomic_load_n((const size_t *)addr - 1, __ATOMIC_RELAXED);

	return (header & ~(size_t)7) - 8 - ((header & 2) << 2);
}

/* True of a block of glibc's that is a mapping of its own. */
static inline bool live_is_mapping(uintptr_t addr)
{
	return live_map.fast_limit &&
	       __atomic_load_n((const size_t *)addr - 1, __ATOMIC_RELAXED) & 2;
}

/* Adds *block. */
enum live_put live_table_put(const struct live_block *block, struct live_block *stale);

/* The call stack of the block at addr; 0: none is known. */
uint32_t live_table_stack(uintptr_t addr);

/* Removes the block at addr into *block.  Returns false, *block untouched, if addr is unknown. */
bool live_table_take(uintptr_t addr, struct live_block *block);

/* Whether something begins at addr: false only if no block is known there. */
static inline bool live_table_holds(uintptr_t addr)
{
	struct live_cell *leaf = live_map_leaf(addr);

	return leaf && atomic_load_explicit(&live_map_cell(leaf, addr, live_map.granule_log2)->value,
					    memory_order_relaxed) != 0;
}

/* The fast paths of both, for the slack layout: false: nothing was done, use the functions above. */
static inline bool live_table_put_fast(uintptr_t addr, size_t size, uint32_t stack_id)
{
	struct live_cell *leaf = live_map_fast_leaf(addr), *cell;
	size_t slack;

	if (__builtin_expect(!leaf, 0))
		return false;
	cell = live_map_cell(leaf, addr, LIVE_SLACK_GRANULE_LOG2);
	slack = live_usable_size(addr) - size;
	if (__builtin_expect(slack >= LIVE_SLACK_SIDE, 0) ||
	    __builtin_expect(atomic_load_explicit(&cell->value, memory_order_relaxed) != 0, 0))
		return false;
	atomic_store_explicit(&cell->value, stack_id << LIVE_SLACK_BITS | (uint32_t)slack,
			      memory_order_release);
	return true;
}

static inline bool live_table_take_fast(uintptr_t addr, struct live_block *block)
{
	struct live_cell *leaf = live_map_fast_leaf(addr), *cell;
	uint32_t value, slack;
	size_t usable;

	if (__builtin_expect(!leaf, 0))
		return false;
	cell = live_map_cell(leaf, addr, LIVE_SLACK_GRANULE_LOG2);
	value = atomic_load_explicit(&cell->value, memory_order_relaxed);
	if (__builtin_expect(value == 0, 0))
		return false;
	slack = value & LIVE_SLACK_SIDE;
	usable = live_usable_size(addr);
	if (__builtin_expect(slack == LIVE_SLACK_SIDE || usable < slack, 0))
		return false;
	atomic_store_explicit(&cell->value, 0, memory_order_relaxed);
	block->addr = addr;
	block->size = usable - slack;
	block->stack_id = value >> LIVE_SLACK_BITS;
	block->birth_ns = 0;
	return true;
}

/* In a forked child: the table becomes the newest of the inherited tables (at most LIVE_INHERITED_MAX;
 * the oldest is forgotten) and a new empty one begins. */
bool live_table_fork_child(void);

/* Clears addr in the inherited tables.  Returns true if it was there. */
bool live_table_take_inherited(uintptr_t addr);

/* Resident bytes, measured with mincore(2) (slow: 30 us for each 64 MiB of heap address space). */
size_t live_table_resident(void);

enum { LIVE_INHERITED_MAX = 8, LIVE_INLINE_MAX = 16 };

#endif
