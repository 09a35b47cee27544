/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * side.h - what a page's script gets of one profile: figures of the process, of threads, of each call stack, and over time.
 *
 * A page has one side, or two that it compares.  Columns of side 0 are called "0.live_bytes" and so on.  What the program maps itself is
 * a side of its own, with a profile where it is the heap; its columns are called "0m.live_bytes".
 */
#ifndef PMEM_PAGE_SIDE_H
#define PMEM_PAGE_SIDE_H
#include <stdbool.h>

#include "base/json.h"
#include "page/call_tree.h"
#include "page/columns.h"
#include "profile/rss.h"
#include "report/report.h"

/* What is compared is a moment of one of two sides at least; this is of one of them. */
struct side_moment {
	uint64_t time_ns; /* since start; DIFF_END: the end */
	bool only_series; /* call stacks that the timeline does not have do not count */
	uint64_t live_bytes;
	uint64_t alloc_bytes;
};

struct side {
	struct report *report; /* opened */
	const char *label;     /* what it is called beside another one; NULL = there is none */
	const struct side_moment *moment; /* NULL: the end, as beside it */
	const char *facts;		  /* the lines of `pmem info` */
	const struct rss *rss;		  /* what the resident set consists of; NULL: not known */
	struct call_tree_stacks stacks;
	struct side *mapped; /* what its program maps itself, in the same tree; NULL = nothing */
};

/* Adds the columns of side number, and of what it maps, after call_tree_finish().  False: no memory. */
bool side_columns(const struct side *side, unsigned number, const struct call_tree *tree,
		  struct columns *columns);

/* The rest, as an object. */
void side_json(const struct side *side, struct json *json);

#endif
