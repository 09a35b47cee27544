/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * snapshot_entry.h - one call stack as text, and its hash.  Format: doc/LOG.md.
 *
 * Called by snapshot.c under LOCK_SNAPSHOT only.
 */
#ifndef PMEM_LIBPMEM_SNAPSHOT_ENTRY_H
#define PMEM_LIBPMEM_SNAPSHOT_ENTRY_H
#include <stdint.h>

#include "libpmem/hook.h"
#include "libpmem/text.h"

/* A frame's line takes at most this many bytes. */
enum { SNAPSHOT_ENTRY_LINE_MAX = 8 * 1024 };

/* Bytes of one call stack or of many. */
struct snapshot_sums {
	uint32_t stacks; /* how many call stacks */
	uint64_t live;
	uint64_t alloc;	    /* since start */
	uint64_t alloc_new; /* since the previous snapshot */
	uint64_t free;
	uint64_t free_new;
};

/* The stable hash of a call stack. */
uint64_t snapshot_entry_hash(uint32_t id);

/* "{hash} live:L, alloc:a/A, free:f/F". */
void snapshot_entry_head(struct text *text, uint64_t hash, const struct snapshot_sums *sums);

/* The line of the entry point that the program called: always frame 0. */
void snapshot_entry_hook(struct text *text, enum format_hook hook);

/* The line of node, as the call stack's frame of that number. */
void snapshot_entry_frame(struct text *text, uint32_t node, uint32_t number);

void snapshot_entry_fork_child(void);

#endif
