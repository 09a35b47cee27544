/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * view.h - the state of `pmem top` as lines of text: what the terminal shows, and what --batch prints.
 */
#ifndef PMEM_TOP_VIEW_H
#define PMEM_TOP_VIEW_H
#include <stdbool.h>
#include <stdio.h>

#include "top/columns.h"
#include "top/top.h"

enum view_style {
	VIEW_PLAIN,
	VIEW_TITLE,
	VIEW_WARNING,
	VIEW_HEAD,
	VIEW_DIM,
	VIEW_SELECTED,
};

struct view_line {
	enum view_style style;
	const char *text; /* not wider than the view; no control characters */
};

/* All 0 at first. */
struct view {
	unsigned width;
	unsigned height; /* lines; of the whole, or of the table for --batch */
	bool is_plain;	 /* for --batch: nothing can be expanded */
	struct view_line *lines;
	unsigned count;

	FILE *file; /* while it is made */
	char *text;
	size_t size;
	unsigned room;
	bool failed; /* no memory */
};

/* The whole screen, width and height of which are set; arranges the table for it.  False: no memory. */
bool view_screen(struct view *view, struct top *top);

/* Title, totals and at most height rows, and what the others sum up to. */
bool view_batch(struct view *view, struct top *top);
void view_end(struct view *view);

/* --- for the makers of parts ----------------------------------------------------------------- */

/* False: no memory. */
bool view_begin(struct view *view);

/* Ends the line that was written to view->file. */
void view_line(struct view *view, enum view_style style);

/* Cuts and finds the lines.  False: no memory. */
bool view_finish(struct view *view);

/* The head of the table; the lines that are visible; --batch: what all others have. */
void view_table_head(struct view *view, const struct top *top);
void view_table(struct view *view, struct top *top, enum view_style selected);
void view_table_rest(struct view *view, const struct top *top);

/* What the keys do. */
void view_help(struct view *view);

#endif
