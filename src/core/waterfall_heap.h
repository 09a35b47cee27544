/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * waterfall_heap.h - the pages of anonymous mappings: with live blocks, partly free, free.
 */
#ifndef PMEM_CORE_WATERFALL_HEAP_H
#define PMEM_CORE_WATERFALL_HEAP_H
#include "core/waterfall.h"

/* Finds the live tables.  False: the recorder's memory cannot be read. */
bool waterfall_heap_begin(struct waterfall *waterfall);

/* Adds waterfall->mapping to the result.  Pages without blocks that no allocator keeps, and no stack has, belong to line. */
void waterfall_heap_add(struct waterfall *waterfall, enum format_rss_line line);

/* Of a mapping that is shared memory: only tells how much of the program's own ranges is resident. */
void waterfall_heap_shared(struct waterfall *w);

#endif
