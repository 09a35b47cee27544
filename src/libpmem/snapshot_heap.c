/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * snapshot_heap.c - a heap that gives the call stacks of a snapshot by size.
 *
 * A binary max-heap (children of element i: 2i + 1 and 2i + 2).  It can never have more elements
 * than there are records, so element i lives in the slot of record i: no second array to grow.
 */
#include "libpmem/snapshot_heap.h"

#include "libpmem/snapshot_records.h"

enum { ORDER_STEP = 32 }; /* elements ordered in one call */

static uint32_t heap_count;
static uint32_t heap_unordered; /* elements that may still be above a larger one */

/* True if call stack a comes before call stack b in the log. */
static bool comes_before(uint32_t a, uint32_t b)
{
	const struct snapshot_numbers na = snapshot_records_numbers(a);
	const struct snapshot_numbers nb = snapshot_records_numbers(b);

	if (snapshot_live(&na) != snapshot_live(&nb))
		return snapshot_live(&na) > snapshot_live(&nb);
	if (na.alloc != nb.alloc)
		return na.alloc > nb.alloc;
	return a < b;
}

static uint32_t element(uint32_t i)
{
	return snapshot_records_slot(i);
}

static void sift_down(uint32_t i)
{
	uint32_t id = element(i);

	while (2 * i + 1 < heap_count) {
		uint32_t child = 2 * i + 1;

		if (child + 1 < heap_count && comes_before(element(child + 1), element(child)))
			child++;
		if (comes_before(id, element(child)))
			break;
		snapshot_records_set_slot(i, element(child));
		i = child;
	}
	snapshot_records_set_slot(i, id);
}

void snapshot_heap_clear(void)
{
	heap_count = 0;
	heap_unordered = 0;
}

void snapshot_heap_add(uint32_t id)
{
	snapshot_records_set_slot(heap_count++, id);
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
	top = element(0);
	heap_count--;
	if (heap_count > 0) {
		snapshot_records_set_slot(0, element(heap_count));
		sift_down(0);
	}
	return top;
}
