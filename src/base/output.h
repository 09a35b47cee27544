/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * output.h - standard output as the person sees it: width, colours, pager.
 */
#ifndef PMEM_BASE_OUTPUT_H
#define PMEM_BASE_OUTPUT_H
#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"

enum output_style {
	OUTPUT_PLAIN,
	OUTPUT_BOLD,
	OUTPUT_DIM,
	OUTPUT_RED,
	OUTPUT_GREEN,
	OUTPUT_YELLOW
};

/* Colours: on a terminal unless NO_COLOR is set and not empty (no-color.org), or TERM is "dumb". */
struct output {
	FILE *file;
	bool colors;
	unsigned width; /* columns: of the terminal, else COLUMNS, else 80; at least 40 */
};

/* Standard output, through $PMEM_PAGER, $PAGER or less -FRX if it is a terminal (PMEM_PAGER="" = none).  Ends with
 * output_end(), which waits for the pager.  A pager that was quit is no error. */
void output_begin(struct output *out);
void output_end(struct output *out);

/* Columns of standard output: of the terminal, else COLUMNS, else 80; at least so many, at most 10,000. */
unsigned output_width(unsigned least);

/* False: not all that was written to file, which has a descriptor, has reached it; errno says why, also where the write that failed
 * was an earlier one. */
bool output_flush(FILE *file);

/* The same of standard output, in whose place a pager may be, at a command's end.  A reader that has seen enough, as `head`, is no failure. */
bool output_finish(FILE *file, struct error *err);

/* The escape sequence that begins a style, "" without colours; OUTPUT_PLAIN ends one. */
const char *output_style(const struct output *out, enum output_style style);

/* Prints text, cut to width columns (UTF-8 characters count as one) in the middle: "Session::re...ember". */
void output_shortened(const struct output *out, const char *text, unsigned width);

/* The number of columns text takes: UTF-8 characters, no escape sequences. */
unsigned output_columns(const char *text);

/* True for what a terminal would obey: C0, DEL, C1 (as UTF-8: 0xc2 0x80 to 0x9f), and what turns the direction of text. */
bool output_is_control(const char *text);

/* Writes text with control characters, and bytes that are no UTF-8, replaced by '?': names come from untrusted files. */
void output_safe(const struct output *out, const char *text);

/* Progress on stderr if that is a terminal, at most ten times a second; done: the line is erased. */
void output_progress(const char *what, unsigned long done, unsigned long total);
void output_progress_end(void);

#endif
