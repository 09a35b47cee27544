/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * live_map.c - maps, lists and inherits the levels of live_map.h.
 *
 * Behind a leaf's cells lie LIVE_MAP_TAIL more and the link to the next leaf, on a page of their own.
 */
#include "libpmem/live_map.h"

#include <assert.h>
#include <string.h>

#include "core/live_cells.h"
#include "libpmem/live_table.h"
#include "libpmem/loss.h"
#include "libpmem/sys.h"

#define TOP_SIZE (sizeof(*live_map.top) << (ARCH_ADDRESS_BITS - LIVE_MAP_SPAN_LOG2))

enum { PAGE_SIZE = 4096 };

/* After the last cell of a leaf. */
struct leaf_tail {
	struct live_cell cells[LIVE_MAP_TAIL];
	struct live_cell *next; /* all leaves of the map; immutable once published */
};

struct inherited {
	_Atomic(struct live_cell *) *top;
	struct live_cell *leaves;
};

struct live_map live_map;

static _Atomic(struct live_cell *) leaves; /* newest leaf of live_map */
static _Atomic uint32_t top_pages;	   /* of live_map's first level, with leaves */

/* Immutable but for live_map_fork_child(), when there is only one thread. */
static struct inherited inherited[LIVE_INHERITED_MAX]; /* oldest first */

static_assert(sizeof(inherited[0]) == 16 && offsetof(struct inherited, top) == 0 &&
		      LIVE_MAP_SPAN_LOG2 == (int)LIVE_CELLS_SPAN_LOG2 &&
		      LIVE_MAP_TAIL == (int)LIVE_CELLS_TAIL,
	      "core/live_cells.c and core/waterfall_heap.c read it");
static uint32_t inherited_top_pages[LIVE_INHERITED_MAX];
static uint32_t inherited_count;

/* Under RLIMIT_DATA the size of sparse maps must not count, which the program needs for itself.  Linux counts private writable
 * maps there, but for stacks, and takes for such what may grow down.  They do not grow: nobody accesses what lies below, and with
 * the usual RLIMIT_STACK they are too large already. */
static int sparse_flags(void)
{
	uint64_t limit = UINT64_MAX;

	if (!sys_sandboxed())
		sys_soft_limit(SYS_LIMIT_DATA, &limit);
	return limit == UINT64_MAX ? 0 : MAP_GROWSDOWN;
}

/* Both levels are sparse: huge pages would make them resident as a whole. */
static void *map_sparse(size_t size)
{
	void *p = sys_map_flags(size, sparse_flags());

	if (p)
		sys_call(SYS_madvise, (long)p, (long)size, MADV_NOHUGEPAGE, 0);
	else
		loss_add(FORMAT_LOSS_MEMORY, 1);
	return p;
}

static size_t cells_size(void)
{
	return (LIVE_MAP_SPAN >> live_map.granule_log2) * sizeof(struct live_cell);
}

static size_t leaf_size(void)
{
	return cells_size() + PAGE_SIZE;
}

static struct leaf_tail *leaf_tail(struct live_cell *leaf)
{
	return (struct leaf_tail *)((char *)leaf + cells_size());
}

static bool begin_map(void)
{
	live_map.top = map_sparse(TOP_SIZE);
	live_map.addr_limit = live_map.top ? (uintptr_t)1 << ARCH_ADDRESS_BITS : 0;
	live_map.fast_limit = live_map.granule_log2 == LIVE_MAP_FAST_LOG2 ? live_map.addr_limit : 0;
	live_map.fine_limit = live_map.granule_log2 == LIVE_MAP_FINE_LOG2 ? live_map.addr_limit : 0;
	atomic_store_explicit(&leaves, NULL, memory_order_relaxed);
	atomic_store_explicit(&top_pages, 0, memory_order_relaxed);
	return live_map.top != NULL;
}

bool live_map_init(uint32_t granule_log2)
{
	live_map.granule_log2 = granule_log2;
	inherited_count = 0;
	return begin_map();
}

static void add_to_leaves(struct live_cell *leaf)
{
	struct live_cell *next = atomic_load_explicit(&leaves, memory_order_relaxed);

	do {
		leaf_tail(leaf)->next = next;
		/* Release: pairs with the acquire in live_map_resident(). */
	} while (!atomic_compare_exchange_weak_explicit(&leaves, &next, leaf, memory_order_release,
							memory_order_relaxed));
}

/* The first leaf of a page of the first level makes the page resident.  Two at once may count it twice. */
static void count_top_page(uintptr_t index)
{
	enum { PER_PAGE = PAGE_SIZE / sizeof(*live_map.top) };
	uintptr_t i, start = index / PER_PAGE * PER_PAGE;

	for (i = start; i < start + PER_PAGE; i++)
		if (i != index && atomic_load_explicit(&live_map.top[i], memory_order_relaxed))
			return;
	atomic_fetch_add_explicit(&top_pages, 1, memory_order_relaxed);
}

struct live_cell *live_map_make_leaf(uintptr_t addr)
{
	struct live_cell *there = live_map_leaf(addr);
	struct live_cell *leaf;

	if (there || addr >= live_map.addr_limit)
		return there;
	leaf = map_sparse(leaf_size());
	if (!leaf)
		return NULL;
	/* Release: pairs with the acquire in live_map_leaf(). */
	if (!atomic_compare_exchange_strong_explicit(&live_map.top[addr >> LIVE_MAP_SPAN_LOG2],
						     &there, leaf, memory_order_acq_rel,
						     memory_order_acquire)) {
		sys_unmap(leaf, leaf_size());
		return there;
	}
	add_to_leaves(leaf);
	count_top_page(addr >> LIVE_MAP_SPAN_LOG2);
	return leaf;
}

static void forget_oldest(void)
{
	struct live_cell *leaf = inherited[0].leaves;

	while (leaf) {
		struct live_cell *next = leaf_tail(leaf)->next;

		sys_unmap(leaf, leaf_size());
		leaf = next;
	}
	sys_unmap((const void *)inherited[0].top, TOP_SIZE);
	memmove(&inherited[0], &inherited[1], sizeof(inherited) - sizeof(inherited[0]));
	memmove(&inherited_top_pages[0], &inherited_top_pages[1],
		sizeof(inherited_top_pages) - sizeof(inherited_top_pages[0]));
	inherited_count--;
}

bool live_map_fork_child(void)
{
	if (live_map.top) {
		if (inherited_count == LIVE_INHERITED_MAX)
			forget_oldest();
		inherited[inherited_count].top = live_map.top;
		inherited[inherited_count].leaves = atomic_load_explicit(&leaves,
									 memory_order_relaxed);
		inherited_top_pages[inherited_count] = atomic_load_explicit(&top_pages,
									    memory_order_relaxed);
		inherited_count++;
	}
	return begin_map();
}

const void *live_map_inherited_place(void)
{
	return inherited;
}

uint32_t live_map_inherited_count(void)
{
	return inherited_count;
}

struct live_cell *live_map_inherited(uint32_t map, uintptr_t addr)
{
	struct live_cell *leaf;

	if (addr >> ARCH_ADDRESS_BITS != 0)
		return NULL;
	leaf = atomic_load_explicit(&inherited[map].top[addr >> LIVE_MAP_SPAN_LOG2],
				    memory_order_acquire);
	return leaf ? live_map_cell(leaf, addr, live_map.granule_log2) : NULL;
}

static size_t resident_in(const void *start, size_t size)
{
	unsigned char pages[256];
	const char *at = start;
	const char *end = at + size;
	size_t count = 0;

	while (at < end) {
		size_t step = (size_t)(end - at);

		if (step > sizeof(pages) * PAGE_SIZE)
			step = sizeof(pages) * PAGE_SIZE;
		if (sys_call(SYS_mincore, (long)at, (long)step, (long)pages, 0) != 0)
			break;
		for (size_t i = 0; i < step / PAGE_SIZE; i++)
			count += pages[i] & 1;
		at += step;
	}
	return count * PAGE_SIZE;
}

static size_t resident_map(uint32_t pages, struct live_cell *leaf)
{
	size_t size = (size_t)pages * PAGE_SIZE;

	for (; leaf; leaf = leaf_tail(leaf)->next)
		size += resident_in(leaf, leaf_size());
	return size;
}

size_t live_map_resident(void)
{
	/* Acquire: pairs with the release in add_to_leaves(). */
	struct live_cell *leaf = atomic_load_explicit(&leaves, memory_order_acquire);
	size_t size = resident_map(atomic_load_explicit(&top_pages, memory_order_relaxed), leaf);

	for (uint32_t i = 0; i < inherited_count; i++)
		size += resident_map(inherited_top_pages[i], inherited[i].leaves);
	return size;
}
