/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * snapshot_heap.c - what snapshots know of each call stack, and a heap that gives them by size.
 *
 * A binary max-heap (children of element i: 2i + 1 and 2i + 2).  It can never have more elements
 * than there are records, so element i lives in the slot field of record i: no second array to
 * grow.
 */
#include "libpmem/snapshot_heap.h"

#include <stddef.h>

#include "libpmem/loss.h"
#include "libpmem/sys.h"
#include "libpmem/tree.h"

enum {
	CHUNK_SHIFT = 12,
	CHUNK_RECORDS = 1 << CHUNK_SHIFT,
	CHUNKS_MAX = (TREE_STACK_MAX >> CHUNK_SHIFT) + 1,
	ORDER_STEP = 32, /* elements ordered in one call */
};

_Static_assert(sizeof(struct snapshot_record) == 40, "memory per call stack");

static struct snapshot_record *chunks[CHUNKS_MAX];
static uint32_t heap_count;
static uint32_t heap_unordered; /* elements that may still be above a larger one */

bool snapshot_heap_grow(uint32_t limit)
{
	uint32_t i;

	for (i = 0; i < (limit + CHUNK_RECORDS - 1) >> CHUNK_SHIFT; i++) {
		if (!chunks[i])
			chunks[i] = sys_map(CHUNK_RECORDS * sizeof(struct snapshot_record));
		if (!chunks[i]) {
			loss_add(FORMAT_LOSS_MEMORY, 1);
			return false;
		}
	}
	return true;
}

struct snapshot_record *snapshot_heap_record(uint32_t id)
{
	return &chunks[id >> CHUNK_SHIFT][id & (CHUNK_RECORDS - 1)];
}

static uint32_t *element(uint32_t i)
{
	return &snapshot_heap_record(i)->slot;
}

/* True if call stack a comes before call stack b in the log. */
static bool comes_before(uint32_t a, uint32_t b)
{
	const struct snapshot_record *ra = snapshot_heap_record(a);
	const struct snapshot_record *rb = snapshot_heap_record(b);

	if (snapshot_live(ra) != snapshot_live(rb))
		return snapshot_live(ra) > snapshot_live(rb);
	if (ra->alloc != rb->alloc)
		return ra->alloc > rb->alloc;
	return a < b;
}

static void sift_down(uint32_t i)
{
	uint32_t id = *element(i);

	while (2 * i + 1 < heap_count) {
		uint32_t child = 2 * i + 1;

		if (child + 1 < heap_count && comes_before(*element(child + 1), *element(child)))
			child++;
		if (comes_before(id, *element(child)))
			break;
		*element(i) = *element(child);
		i = child;
	}
	*element(i) = id;
}

void snapshot_heap_clear(void)
{
	heap_count = 0;
	heap_unordered = 0;
}

void snapshot_heap_add(uint32_t id)
{
	*element(heap_count++) = id;
	heap_unordered = heap_count / 2;
}

bool snapshot_heap_order(void)
{
	unsigned i;

	for (i = 0; i < ORDER_STEP && heap_unordered > 0; i++)
		sift_down(--heap_unordered);
	return heap_unordered == 0;
}

uint32_t snapshot_heap_pop(void)
{
	uint32_t top;

	if (heap_count == 0)
		return 0;
	top = *element(0);
	heap_count--;
	if (heap_count > 0) {
		*element(0) = *element(heap_count);
		sift_down(0);
	}
	return top;
}

void snapshot_heap_fork_child(void)
{
	uint32_t i;

	for (i = 0; i < CHUNKS_MAX && chunks[i]; i++)
		chunks[i] = NULL;
	snapshot_heap_clear();
}
