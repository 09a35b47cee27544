/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * side_table.h - size and time of birth of the few blocks that a live-table cell cannot describe.
 *
 * Open addressing in a chain of tables, each twice as large as the one before, probe length bounded.
 * Lock-free and usable in signal handlers: a slot is claimed by compare-and-swap, and only the
 * owner of a block adds or removes its address, so one address is never added twice at a time.
 */
#ifndef PMEM_LIBPMEM_SIDE_TABLE_H
#define PMEM_LIBPMEM_SIDE_TABLE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct side_entry {
	uint64_t size;	   /* requested bytes */
	uint64_t birth_ns; /* CLOCK_MONOTONIC; 0 = not sampled */
};

/* Adds addr.  Returns false (and counts FORMAT_LOSS_MEMORY) when memory is exhausted. */
bool side_table_put(uintptr_t addr, const struct side_entry *entry);

/* Removes addr into *entry.  Returns false, *entry untouched, if it is not there. */
bool side_table_take(uintptr_t addr, struct side_entry *entry);

/* Entries now in the table (counted by a walk over all slots), and the table's bytes. */
uint64_t side_table_count(void);
size_t side_table_size(void);

/* The array of the addresses of its parts. */
const void *side_table_place(void);

/* Begins empty; the memory of the parent's entries is given back. */
void side_table_fork_child(void);

#endif
