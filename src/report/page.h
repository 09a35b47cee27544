/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * page.h - lines on a terminal: sentences that wrap, names that are cut in the middle, parts of known height.
 */
#ifndef PMEM_REPORT_PAGE_H
#define PMEM_REPORT_PAGE_H
#include <stdio.h>

#include "base/output.h"
#include "report/report.h"

enum { PAGE_INDENT = 2 }; /* of paragraphs */

/* Text that is written to file first and used at the end. */
struct page_text {
	FILE *file;
	char *text; /* NULL: no memory; what was written went to the output as it was */
	size_t size;
};

void page_text_begin(struct page_text *text, const struct output *out);

/* Prints the text as a paragraph: indented, wrapped at the output's width. */
void page_text_end(struct page_text *text, const struct output *out, unsigned indent);

/* Prints the text as it is; returns the number of its lines. */
unsigned page_text_print(struct page_text *text, const struct output *out);

/* Number of lines so far; of a text that has no memory 0. */
unsigned page_text_lines(struct page_text *text);

/* Prints text without control characters, cut to width columns, but not in a ":88" at its end; page_padded()
 * also fills up to width. */
void page_cut(const struct output *out, const char *text, unsigned width);
void page_padded(const struct output *out, const char *text, unsigned width);

/* A paragraph of text that needs no cleaning. */
void page_sentence(const struct output *out, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
