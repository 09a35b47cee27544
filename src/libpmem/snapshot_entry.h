/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * snapshot_entry.h - one call stack as text, and its hash.  Format: doc/LOG.md.
 *
 * Called by snapshot.c under LOCK_SNAPSHOT only.
 */
#ifndef PMEM_LIBPMEM_SNAPSHOT_ENTRY_H
#define PMEM_LIBPMEM_SNAPSHOT_ENTRY_H
#include <stdbool.h>
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

static inline void snapshot_sums_add(struct snapshot_sums *to, const struct snapshot_sums *more)
{
	to->stacks += more->stacks;
	to->live += more->live;
	to->alloc += more->alloc;
	to->alloc_new += more->alloc_new;
	to->free += more->free;
	to->free_new += more->free_new;
}

/* An entry in the making.  Its hash is that of the frames so far: each is looked up once, for both. */
struct snapshot_entry {
	uint32_t hook; /* enum format_hook of frame 0, if that has no line yet; else FORMAT_NO_HOOK */
	uint32_t node;	 /* of the next frame; TREE_ROOT = there is none */
	uint32_t number; /* of the next line */
	uint64_t hash;
};

/* The stable hash of a call stack. */
uint64_t snapshot_entry_hash(uint32_t id);

struct snapshot_entry snapshot_entry_begin(uint32_t id);

/* "{hash} live:L, alloc:a/A, free:f/F", with 0 for the hash. */
void snapshot_entry_head(struct text *text, const struct snapshot_sums *sums);

/* The line of the next frame; frame 0 is the entry point that the program called, where it is known.  False: there is no more frame. */
bool snapshot_entry_frame(struct snapshot_entry *entry, struct text *text);

/* Puts the hash into the entry's first line, which begins at line; the frames that have no line yet are looked up for it. */
void snapshot_entry_put_hash(const struct snapshot_entry *entry, char *line);

void snapshot_entry_fork_child(void);

#endif
