/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * advice_words.h - a piece of advice in words with numbers.
 */
#ifndef PMEM_REPORT_ADVICE_WORDS_H
#define PMEM_REPORT_ADVICE_WORDS_H
#include <stdio.h>

#include "profile/advice.h"
#include "report/report.h"

/* "parse (parse.c:3): 1.20 M blocks of 48 B on average, ... : reuse a buffer. " */
void advice_words_print(const struct report *report, const struct advice *advice, FILE *file);

/* "3.10 M calls, 62 % of all" */
void advice_words_gain(const struct advice *advice, FILE *file);

/* The one or two pieces that spare most, if that is much; of temporaries the first page speaks anyway. */
void advice_words_first_page(const struct report *report, FILE *file);

#endif
