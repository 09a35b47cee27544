/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * words.h - the answer in words: how much is live, whether it grows, and which site is to blame.
 */
#ifndef PMEM_REPORT_WORDS_H
#define PMEM_REPORT_WORDS_H
#include "report/report.h"

/* Prints the answer as paragraphs.  report_find_verdicts() comes before. */
void words_print(const struct report *report);

/* One sentence, without a line's end: what the peak consisted of. */
void words_peak(const struct report *report, FILE *file);

#endif
