/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * live_map.h - the shadow map under live_table.c: one 32-bit cell for each granule of address space.
 *
 * top[addr / LIVE_MAP_SPAN] -> leaf of cells.  Both levels are mapped without reserve and touched
 * lazily; leaves are published by compare-and-swap and stay.  What a cell means, and who may write
 * it, is live_table.c's business.
 */
#ifndef PMEM_LIBPMEM_LIVE_MAP_H
#define PMEM_LIBPMEM_LIVE_MAP_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	LIVE_MAP_SPAN_LOG2 = 26,
	LIVE_MAP_FAST_LOG2 = 5,
	LIVE_MAP_FINE_LOG2 = 4,
	LIVE_MAP_TAIL = 3, /* cells after a leaf's last granule, for the size of the block that begins there */
};

#define LIVE_MAP_SPAN ((uintptr_t)1 << LIVE_MAP_SPAN_LOG2) /* bytes of addresses under one leaf */

struct live_cell {
	_Atomic uint32_t value;
};

/* Immutable but for live_map_init() and live_map_fork_child(), when there is only one thread. */
struct live_map {
	_Atomic(struct live_cell *) *top;
	uintptr_t addr_limit; /* addresses are below; 0 while there is no map */
	uintptr_t fast_limit; /* the same if granules have LIVE_MAP_FAST_LOG2, else 0 */
	uintptr_t fine_limit; /* the same if granules have LIVE_MAP_FINE_LOG2, else 0 */
	uint32_t granule_log2;
};

/* Hidden: read without a detour through the global offset table. */
extern __attribute__((visibility("hidden"))) struct live_map live_map;

/* Begins a map with granules of 1 << granule_log2 bytes, LIVE_MAP_FINE_LOG2 or LIVE_MAP_FAST_LOG2.  Returns false (and counts FORMAT_LOSS_MEMORY) when
 * memory is exhausted. */
bool live_map_init(uint32_t granule_log2);

/* The leaf of addr, made if need be.  NULL if addr is out of bounds, or (and counts FORMAT_LOSS_MEMORY) when
 * memory is exhausted. */
struct live_cell *live_map_make_leaf(uintptr_t addr);

/* The present map becomes the newest inherited one, and an empty one begins.  False: no memory for it. */
bool live_map_fork_child(void);

/* The array of inherited maps, of two words each: the first is the address of the upper level. */
const void *live_map_inherited_place(void);

/* How many maps are inherited; and the cell of addr in one of them, 0 = oldest, NULL if it has none. */
uint32_t live_map_inherited_count(void);
struct live_cell *live_map_inherited(uint32_t map, uintptr_t addr);

/* Resident bytes of all maps: of leaves by mincore(2), of the first level those with leaves. */
size_t live_map_resident(void);

/* The leaf of addr if there is one and granules have LIVE_MAP_FAST_LOG2; else NULL. */
static inline struct live_cell *live_map_fast_leaf(uintptr_t addr)
{
	if (__builtin_expect(addr >= live_map.fast_limit, 0))
		return NULL;
	/* Acquire: pairs with the release in live_map_make_leaf(). */
	return atomic_load_explicit(&live_map.top[addr >> LIVE_MAP_SPAN_LOG2], memory_order_acquire);
}

/* The leaf of addr if there is one and granules have LIVE_MAP_FINE_LOG2; else NULL. */
static inline struct live_cell *live_map_fine_leaf(uintptr_t addr)
{
	if (__builtin_expect(addr >= live_map.fine_limit, 0))
		return NULL;
	/* Acquire: pairs with the release in live_map_make_leaf(). */
	return atomic_load_explicit(&live_map.top[addr >> LIVE_MAP_SPAN_LOG2], memory_order_acquire);
}

/* The leaf of addr; NULL if there is none. */
static inline struct live_cell *live_map_leaf(uintptr_t addr)
{
	if (__builtin_expect(addr >= live_map.addr_limit, 0))
		return NULL;
	/* Acquire: pairs with the release in live_map_make_leaf(). */
	return atomic_load_explicit(&live_map.top[addr >> LIVE_MAP_SPAN_LOG2], memory_order_acquire);
}

/* The cell of addr in its leaf.  granule_log2 is a parameter so that hot code can pass a constant. */
static inline struct live_cell *live_map_cell(struct live_cell *leaf, uintptr_t addr,
					      uint32_t granule_log2)
{
	return &leaf[(addr & (LIVE_MAP_SPAN - 1)) >> granule_log2];
}

#endif
