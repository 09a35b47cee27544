/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * store.h - where everything that the profile will hold is kept.
 *
 * Memory comes in blocks of STORE_BLOCK_SIZE, named (kind, index) and zeroed; a block never moves and
 * is never given back.  A module that keeps an array here splits its index into block and offset.
 * Private anonymous memory for now; the next step backs the blocks by the profile's file, and only
 * store.c changes.  Any thread may call, also inside a signal handler: no lock.
 */
#ifndef PMEM_LIBPMEM_STORE_H
#define PMEM_LIBPMEM_STORE_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum store_kind {
	STORE_NODES,	  /* tree.c: struct tree_node */
	STORE_STACKS,	  /* tree.c: struct tree_stack, by call-stack id */
	STORE_COUNTERS,	  /* counters.c: chunks of struct counter */
	STORE_WIDE,	  /* counters.c: struct counter_wide */
	STORE_HISTOGRAMS, /* histogram.c: struct histogram */
	STORE_MODULES,	  /* modules.c: modules and regions */
	STORE_TEXT,	  /* modules.c: paths */
	STORE_KINDS,
};

enum {
	STORE_BLOCK_SIZE = 64 * 1024,
	STORE_BLOCKS_MAX = 16384, /* per kind: 1 GiB */
};

/* The block, made at its first use.  Returns NULL (and counts LOSS_MEMORY) when memory is exhausted
 * or index is not below STORE_BLOCKS_MAX. */
void *store_block(enum store_kind kind, uint32_t index);

/* The block if it exists, else NULL.  Acquire: what was published before the block's index was
 * handed over can be read. */
void *store_find(enum store_kind kind, uint32_t index);

/* Takes the next item of an array of items of size bytes in kind: *next counts those taken, and grows
 * only if there is memory.  Stores its index; returns NULL as store_block() does. */
static inline void *store_take(enum store_kind kind, size_t size, _Atomic uint32_t *next,
			       uint32_t *index)
{
	uint32_t per_block = (uint32_t)(STORE_BLOCK_SIZE / size);
	uint32_t number = atomic_load_explicit(next, memory_order_relaxed);
	char *block;

	do {
		block = store_block(kind, number / per_block);
		if (!block)
			return NULL;
	} while (!atomic_compare_exchange_weak_explicit(
		next, &number, number + 1, memory_order_relaxed, memory_order_relaxed));
	*index = number;
	return block + number % per_block * size;
}

/* Item index of such an array, which was taken before; NULL if the block does not exist. */
static inline void *store_item(enum store_kind kind, size_t size, uint32_t index)
{
	uint32_t per_block = (uint32_t)(STORE_BLOCK_SIZE / size);
	char *block = store_find(kind, index / per_block);

	return block ? block + index % per_block * size : NULL;
}

/* Bytes in blocks so far. */
size_t store_size(void);

/* Forgets the parent's blocks (they stay mapped: copies may still be in use up the stack). */
void store_fork_child(void);

#endif
