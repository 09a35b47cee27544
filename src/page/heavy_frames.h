/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * heavy_frames.h - the frames that a person is likely to look at: the sites with the most, and what calls them.
 */
#ifndef PMEM_PAGE_HEAVY_FRAMES_H
#define PMEM_PAGE_HEAVY_FRAMES_H
#include <stdint.h>

#include "page/call_tree.h"
#include "page/side.h"

/* Limits: sites by each of live, peak, allocated bytes and growth; own frames of a call stack, the innermost first; frames in all. */
enum { HEAVY_FRAMES_SITES = 300, HEAVY_FRAMES_NEAR = 8, HEAVY_FRAMES_MAX = 2000 };

/* Frames of the tree with a source line, the most important first: array of *found, to be freed; NULL: no memory.  Call stacks of the
 * sides must be in the tree. */
uint32_t *heavy_frames(const struct call_tree *tree, const struct side *sides, unsigned side_count,
		       uint32_t *found);

#endif
