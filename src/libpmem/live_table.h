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
	LIVE_PUT_LOST,	/* no memory, counted as LOSS_EVENTS: the block will look unknown */
};

/* Chooses the layout; once, before any other call. */
bool live_table_init(enum live_layout layout);

/* Adds *block. */
enum live_put live_table_put(const struct live_block *block, struct live_block *stale);

/* Removes the block at addr into *block.  Returns false, *block untouched, if addr is unknown. */
bool live_table_take(uintptr_t addr, struct live_block *block);

/* In a forked child: the table becomes the newest of the inherited tables (at most LIVE_INHERITED_MAX;
 * the oldest is forgotten) and a new empty one begins. */
void live_table_fork_child(void);

/* Clears addr in the inherited tables.  Returns true if it was there. */
bool live_table_take_inherited(uintptr_t addr);

/* Resident bytes, measured with mincore(2) (slow: 30 us for each 64 MiB of heap address space). */
size_t live_table_resident(void);

enum { LIVE_INHERITED_MAX = 8, LIVE_INLINE_MAX = 16 };

#endif
