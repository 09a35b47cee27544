/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * html.h - a profile, or two compared, as one HTML file that needs nothing else.
 *
 * The page's markup, style and script are files in assets/, put together at build time (script/make-page).  What comes from a
 * profile is in it as escaped text, and as one block of compressed numbers and names (columns.h) that only the script reads.
 */
#ifndef PMEM_PAGE_HTML_H
#define PMEM_PAGE_HTML_H
#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "page/side.h"
#include "report/diff.h"

enum { HTML_SIDES = 2 };

/* All pages begin with this, and so may be replaced by newer ones. */
#define HTML_BEGINNING "<!DOCTYPE html>\n<!-- A heap profile by pmem."

/* Of a page that pmem serves. */
struct html_live {
	void (*write)(const struct html_live *live,
		      FILE *file); /* the element #live, which the script works with */
};

struct html_page {
	struct side sides[HTML_SIDES]; /* reports that are open, with labels and facts; stacks are made here */
	unsigned side_count;
	const struct diff_page *diff; /* of two sides, that of their profiles; else NULL */
	const struct html_live *live; /* NULL: a file that stands alone */
	bool no_source;		      /* no source lines */
};

/* Writes the page.  Errors of the file are the caller's to see. */
bool html_write(struct html_page *page, FILE *file, struct error *err);

/* Writes the parts of it that change while a process goes on, for the script of a page that is open. */
bool html_write_fragment(struct html_page *page, FILE *file, struct error *err);

#endif
