/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mappings.h - anonymous memory that the program maps itself, by call stack: struct format_mapping.
 *
 * It is no part of the heap: nothing here touches a counter, the live total, the peak or the churn.  What the allocator maps is not
 * counted: a call from its library, or with one of our hooks on the call stack.  Mappings of files are not either.
 *
 * Order.  A range enters after the real call, and what that call took away leaves after it as well, but only what was there
 * before: each range has a number, and a call notes the latest one before it asks the kernel (mappings_moment()).  Another
 * thread that gets the same addresses meanwhile enters later, with a larger number, and keeps them.  (It got them after the kernel took
 * them away, so its number was given after the other one was noted.)  So a call that fails has nothing to put back.
 */
#ifndef PMEM_LIBPMEM_MAPPINGS_H
#define PMEM_LIBPMEM_MAPPINGS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/waterfall.h"
#include "libpmem/hook.h"

/* A call; of one that succeeded [start, end) is what the program got by it. */
struct mappings_event {
	uint64_t start;
	uint64_t end;
	uint64_t moment;     /* mappings_moment() before the call */
	const uintptr_t *fp; /* as in struct record_event */
	enum format_hook hook;
};

/* What mremap() began with. */
struct mappings_old {
	uint64_t start;
	uint64_t end;
	bool stays; /* MREMAP_DONTUNMAP, or a size of 0 */
	bool known; /* mappings_knows(), before the call: as soon as the kernel has moved it another thread may map there */
};

/* Finds the allocator's library; once, at the start. */
void mappings_init(void);

uint64_t mappings_moment(void);

/* Anonymous memory, where perhaps something else was. */
void mappings_made(const struct mappings_event *event);

/* The program asked for size bytes and got none: ENOMEM. */
void mappings_failed(const struct mappings_event *event, uint64_t size);

/* Whether any part of it is counted. */
bool mappings_knows(uint64_t start, uint64_t end);

/* Moved, grown or shrunk: like a block by realloc() it belongs to this call from now on.  Counts if the old one was known. */
void mappings_moved(const struct mappings_event *event, const struct mappings_old *old);

/* Nothing is there any more, or a file.  Of ranges that were there at the moment. */
void mappings_gone(uint64_t start, uint64_t end, uint64_t moment);

/* Now mapped, all of it. */
uint64_t mappings_bytes(void);

/* Sums for the log; and one call stack's, in the order that they were first seen.  False: there are no more. */
struct mappings_counts {
	uint32_t stack_id;
	uint64_t call_count;
	uint64_t mapped_bytes;
	uint64_t unmapped_bytes; /* <= mapped_bytes */
};
void mappings_sum(struct mappings_counts *sum);
bool mappings_read(uint32_t number, struct mappings_counts *counts);

/* For the waterfall: the first range of the program's that ends after addr; how much of an owner's is resident. */
bool mappings_next(uint64_t addr, struct waterfall_range *range);
void mappings_clear_resident(void);
void mappings_add_resident(uint32_t owner, uint64_t bytes);

/* The map of ranges (core/range_leaf.h). */
const void *mappings_place(void);

/* Memory that this needs. */
size_t mappings_size(void);

/* What the parent mapped is known, but not counted: neither when it goes. */
void mappings_fork_child(void);

#endif
