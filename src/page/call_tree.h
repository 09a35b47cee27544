/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * call_tree.h - the call stacks of one or two profiles as one tree, inlined functions and lines too.
 *
 * Frames that a person cannot tell apart (function, module, file and line) are one; nodes with the same frame below the same node
 * are one.  So two profiles meet where their names do.  All names are UTF-8 without control characters.
 */
#ifndef PMEM_PAGE_CALL_TREE_H
#define PMEM_PAGE_CALL_TREE_H
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "export/strings.h"
#include "page/columns.h"
#include "profile/names.h"
#include "profile/profile.h"

struct call_tree_frame {
	uint32_t name;	 /* numbers of texts; the short name */
	uint32_t full;	 /* the whole name */
	uint32_t file;	 /* of the text "" if it is not known */
	uint32_t line;	 /* 0 = unknown */
	uint32_t module; /* a text: its path, "[anonymous]", or "" for special frames */
	uint32_t is_own; /* the user's own code */
};

struct call_tree {
	struct strings texts; /* 0 is "" */
	struct strings keys;  /* of frames */
	struct call_tree_frame *frames;
	uint32_t frame_room;
	/* Nodes: 0 is the root, which has no frame; parents come first. */
	uint32_t *parents;
	uint32_t *frame_of;
	uint32_t node_count;
	uint32_t node_room;
	uint32_t *slots; /* node + 1 by hash of parent and frame; 0 = free */
	uint32_t slot_count;
	uint32_t *order; /* by node: its place in depth-first order, from 0 on; made by call_tree_finish() */
};

/* What call_tree_add() found out about a profile. */
struct call_tree_stacks {
	uint32_t *nodes; /* by index of the call stack */
	uint32_t *sites; /* the frame of its allocation site */
};

/* False: no memory; call_tree_free() is due also then. */
bool call_tree_begin(struct call_tree *tree, struct error *err);
void call_tree_free(struct call_tree *tree);

/* Adds all call stacks of a profile; stacks is to be freed by call_tree_stacks_free(), also after a failure. */
bool call_tree_add(struct call_tree *tree, const struct profile *profile, struct names *names,
		   struct call_tree_stacks *stacks, struct error *err);
void call_tree_stacks_free(struct call_tree_stacks *stacks);

/* Numbers the nodes in depth-first order, and adds the columns of texts, frames and nodes.  No more profiles come. */
bool call_tree_finish(struct call_tree *tree, struct columns *columns, struct error *err);

#endif
