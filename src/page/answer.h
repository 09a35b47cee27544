/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * answer.h - what stands at the top of a page, in the words of the terminal's report, as HTML.
 */
#ifndef PMEM_PAGE_ANSWER_H
#define PMEM_PAGE_ANSWER_H
#include <stdio.h>

#include "report/diff.h"
#include "report/report.h"

/* Text for an element's content or a quoted attribute.  Control characters, and bytes that are no UTF-8, become '?'. */
void answer_escaped(FILE *file, const char *text);

/* "server (pid 4711), 29 Nov 10:31:02, 12 min 4 s", without markup. */
void answer_title(const struct report *report, FILE *file);

/* Paragraphs: what makes figures wrong first, then the answer.  Verdicts must be found, and sites of the report refined. */
void answer_write(const struct report *report, FILE *file);

/* The same of two profiles: what changed, and what was compared. */
void answer_compared(const struct diff_page *diff, FILE *file);

/* What was seen, a paragraph; then the facts, a list made of lines as `pmem info` prints them: two blanks, a label of ten columns, a
 * blank, text. */
void answer_facts(const struct report *report, const char *lines, FILE *file);

#endif
