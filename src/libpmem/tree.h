/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tree.h - the calling-context tree (CCT): every distinct call stack once, under a small dense id.
 *
 * Nodes are interned, append-only, and read without locks.  A node is 8 bytes {pc32, next32}
 * (pc32: modules.h).  A new path is written in one go, so the first child of node i is node i + 1;
 * next is the next sibling or, at the last sibling, the parent (tagged).  A call-stack id is a
 * record in the same list.  Nodes with many children get a side hash.
 */
#ifndef PMEM_LIBPMEM_TREE_H
#define PMEM_LIBPMEM_TREE_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/format.h"

enum {
	TREE_ROOT = 0,
	/* Call-stack ids that always exist; 0 is never an id. */
	TREE_STACK_SIGNAL = 1, /* [signal handler]: an event inside a handler that interrupted the recorder */
	TREE_STACK_BEYOND_BUDGET = 2, /* [beyond budget]: the node budget and its reserve are spent */
	TREE_STACK_FIRST = 3,
	TREE_STACK_MAX = (1 << 26) - 1, /* largest id: live-table cells have 26 bits for it */
	TREE_TRUNCATED_DEPTH = 8,	/* frames kept beyond the node budget */
};

/* Begins a tree of at most max_nodes nodes, and a tenth more for truncated call stacks.  False: no memory. */
bool tree_init(uint32_t max_nodes);

/* The child of parent with pc32, or 0. */
uint32_t tree_find(uint32_t parent, uint32_t pc32);

/* A path that is new from some frame on. */
struct tree_path {
	uint32_t parent;
	uint32_t count;	      /* >= 1 */
	const uint32_t *pc32; /* [count], outermost first */
	uint32_t hook;	      /* enum format_hook: the entry point called by the innermost frame */
};

/* Interns path, with a call-stack record for its innermost frame, and stores the node of each frame in
 * nodes[count].  Returns false, nodes untouched, when the budget is spent or where lock_take() returns false: in a signal handler that
 * interrupted its own thread's insertion, for one. */
bool tree_insert(const struct tree_path *path, uint32_t *nodes);

/* The id of the call stack that ends at node and called hook; made at its first use.  0 when the
 * budget is spent or as above. */
uint32_t tree_stack_id(uint32_t node, uint32_t hook);

/* The id for a call stack that found no room: the path (parent is ignored, count <= TREE_TRUNCATED_DEPTH)
 * below the node [truncated]; or TREE_STACK_BEYOND_BUDGET, or TREE_STACK_SIGNAL as above. */
uint32_t tree_truncated_id(const struct tree_path *path);

/* The id of the call stack that consists of one return address below the node [not taken]
 * (governor.h), or TREE_STACK_BEYOND_BUDGET. */
uint32_t tree_not_taken_id(uint32_t pc32, uint32_t hook);

/* The node [truncated]: outermost frame of call stacks whose outer part is not known. */
uint32_t tree_truncated_node(void);

/* Parent of a node; TREE_ROOT's is TREE_ROOT. */
uint32_t tree_parent(uint32_t node);
uint32_t tree_pc32(uint32_t node);

/* Call-stack ids are below this; acquire: all of them can be read. */
uint32_t tree_stack_limit(void);
uint32_t tree_node_count(void);

/* The entry point that call stack id called: enum format_hook, or FORMAT_NO_HOOK for a fixed id. */
uint32_t tree_stack_hook(uint32_t id);

enum { TREE_STACKS_PER_BLOCK = FORMAT_BLOCK_SIZE / sizeof(struct format_stack) };

/* The records, by number of the block. */
extern _Atomic(struct format_stack *) tree_stack_blocks[FORMAT_BLOCKS_MAX]
	__attribute__((visibility("hidden")));

/* The record of an id below tree_stack_limit(). */
static inline struct format_stack *tree_stack(uint32_t id)
{
	/* Relaxed: whoever knows the id knows the block. */
	return atomic_load_explicit(&tree_stack_blocks[id / TREE_STACKS_PER_BLOCK],
				    memory_order_relaxed) +
	       id % TREE_STACKS_PER_BLOCK;
}

/* In a forked child: an empty tree.  False: no memory. */
bool tree_fork_child(void);

#endif
