/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * reallocs.h - what realloc() copied, for each call stack that called it.
 *
 * Items in the store (FORMAT_REALLOCS), found by a private table of fixed size; call stacks that find no room there are not counted.
 * Any thread, also inside a signal handler: no lock.
 */
#ifndef PMEM_LIBPMEM_REALLOCS_H
#define PMEM_LIBPMEM_REALLOCS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A block that became another one, which belongs to stack_id. */
struct reallocs_event {
	uint32_t stack_id;
	uint32_t old_stack_id;
	size_t old_size;
	size_t size;
	bool moved;  /* it has another address */
	bool copied; /* and the allocator copied its content: it did not move pages */
};

void reallocs_count(const struct reallocs_event *event);

/* In a forked child: nothing is counted yet. */
void reallocs_fork_child(void);

#endif
