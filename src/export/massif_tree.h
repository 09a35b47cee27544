/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * massif_tree.h - the tree of a detailed snapshot of Massif's: from the functions that allocated out to those that called them.
 */
#ifndef PMEM_EXPORT_MASSIF_TREE_H
#define PMEM_EXPORT_MASSIF_TREE_H
#include <stdbool.h>
#include <stdio.h>

#include "export/frames.h"

/* Zeroed first; for several trees of one profile. */
struct massif_tree {
	const struct frames *frames; /* names without '#', which begins a comment in this format */
	const uint32_t *order;	     /* order_stacks() */
	FILE *file;
	uint64_t threshold; /* what is less is only counted */
};

/* Writes the tree of a value with total at its root: total is at least the sum over all call stacks.  False: no memory. */
bool massif_tree_put(const struct massif_tree *tree, enum export_value value, uint64_t total);

/* The sum over all call stacks. */
uint64_t massif_tree_sum(const struct profile *profile, enum export_value value);

#endif
