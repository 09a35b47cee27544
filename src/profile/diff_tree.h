/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * diff_tree.h - one tree of names that the call stacks of two profiles lead through: equal call stacks have one path.
 *
 * A location is looked up once, a node once: the work grows with the nodes of the profiles, not with their call stacks' depth.
 * Frames of process and thread start are left out at the outer end, because each version of the C library
 * has others; but not of call stacks that consist of nothing else.
 *
 * Inlined functions take time to find.  They are steps of a path only where they matter, in files that are not the same in both
 * profiles; of one that is, the symbol tables' functions say as much.
 */
#ifndef PMEM_PROFILE_DIFF_TREE_H
#define PMEM_PROFILE_DIFF_TREE_H
#include <stdint.h>

#include "profile/diff_frames.h"
#include "profile/names.h"
#include "profile/profile.h"

struct diff_tree;

struct diff_tree_query {
	const struct profile *profiles[2];
	struct names *names[2];
	struct diff_frames *frames; /* of the same profiles */
	bool fold_recursion; /* what repeats without anything between, of up to 8 functions, counts once */
};

/* NULL: no memory. */
struct diff_tree *diff_tree_new(const struct diff_tree_query *query);
void diff_tree_free(struct diff_tree *tree);

/* The number, from 1 on, of the path to a node of a side (0 or 1); 0: no memory, or the node is the root. */
uint32_t diff_tree_path(struct diff_tree *tree, unsigned side, uint32_t node);

/* All numbers are below this. */
uint32_t diff_tree_limit(const struct diff_tree *tree);

#endif
