/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * store.c - blocks of private anonymous memory, found through one directory per kind.
 *
 * The directories lie in .bss and are never walked beyond the highest index in use: pages of them
 * that were not touched cost nothing.  Two threads, or a thread and its signal handler, may make the
 * same block at once; compare-and-swap decides and the loser gives its memory back.
 */
#include "libpmem/store.h"

#include <stdatomic.h>

#include "libpmem/loss.h"
#include "libpmem/sys.h"

static _Atomic(void *) directory[STORE_KINDS][STORE_BLOCKS_MAX];
static _Atomic uint32_t limits[STORE_KINDS]; /* indexes in use are below */
static _Atomic size_t block_count;

static void raise_limit(enum store_kind kind, uint32_t index)
{
	uint32_t limit = atomic_load_explicit(&limits[kind], memory_order_relaxed);

	while (limit <= index &&
	       !atomic_compare_exchange_weak_explicit(&limits[kind], &limit, index + 1,
						      memory_order_relaxed, memory_order_relaxed))
		;
}

static __attribute__((noinline, cold)) void *make_block(enum store_kind kind, uint32_t index)
{
	void *there = NULL;
	void *block = sys_map(STORE_BLOCK_SIZE);

	if (!block) {
		loss_add(LOSS_MEMORY, 1);
		return NULL;
	}
	/* Before the block can be found: store_fork_child() must not overlook it. */
	raise_limit(kind, index);
	/* Release: pairs with the acquire in store_find(). */
	if (!atomic_compare_exchange_strong_explicit(&directory[kind][index], &there, block,
						     memory_order_acq_rel, memory_order_acquire)) {
		sys_unmap(block, STORE_BLOCK_SIZE);
		return there;
	}
	atomic_fetch_add_explicit(&block_count, 1, memory_order_relaxed);
	return block;
}

void *store_find(enum store_kind kind, uint32_t index)
{
	if (index >= STORE_BLOCKS_MAX)
		return NULL;
	/* Acquire: pairs with the release in make_block(). */
	return atomic_load_explicit(&directory[kind][index], memory_order_acquire);
}

void *store_block(enum store_kind kind, uint32_t index)
{
	void *block = store_find(kind, index);

	if (__builtin_expect(block != NULL, 1))
		return block;
	if (index >= STORE_BLOCKS_MAX) {
		loss_add(LOSS_MEMORY, 1);
		return NULL;
	}
	return make_block(kind, index);
}

size_t store_size(void)
{
	return atomic_load_explicit(&block_count, memory_order_relaxed) * STORE_BLOCK_SIZE;
}

void store_fork_child(void)
{
	for (int kind = 0; kind < STORE_KINDS; kind++) {
		uint32_t limit = atomic_load_explicit(&limits[kind], memory_order_relaxed);

		for (uint32_t index = 0; index < limit; index++)
			atomic_store_explicit(&directory[kind][index], NULL, memory_order_relaxed);
		atomic_store_explicit(&limits[kind], 0, memory_order_relaxed);
	}
	atomic_store_explicit(&block_count, 0, memory_order_relaxed);
}
