/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * snapshot_heap.h - a heap that gives the call stacks of a snapshot by size.
 *
 * Everything is under LOCK_SNAPSHOT, and no call takes long: a snapshot can stop after any of them.
 */
#ifndef PMEM_LIBPMEM_SNAPSHOT_HEAP_H
#define PMEM_LIBPMEM_SNAPSHOT_HEAP_H
#include <stdbool.h>
#include <stdint.h>

/* An empty heap; adding an id that has a record, unordered; ordering them, by calls until one returns true. */
void snapshot_heap_clear(void);
void snapshot_heap_add(uint32_t id);
bool snapshot_heap_order(void);

/* Takes out the id with the most live bytes, of those the one that allocated most, of those the
 * smallest.  0 = the heap is empty. */
uint32_t snapshot_heap_pop(void);

#endif
