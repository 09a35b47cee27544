/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rss_words.h - why the resident set is as large as it is, in words.
 */
#ifndef PMEM_REPORT_RSS_WORDS_H
#define PMEM_REPORT_RSS_WORDS_H
#include <stdio.h>

#include "profile/growth.h"
#include "profile/retained.h"
#include "profile/rss.h"

/* Sentences for a paragraph: the largest part that is not live blocks, and what can be done about it; or that there is none. */
void rss_words_print(const struct profile *profile, const struct rss *rss, FILE *file);

/* That it is free memory that stays, how much, since when it grows, why, and what returns it; begin: by how the heap moves, for what was said of that before. */
const char *rss_words_begin(const struct growth *growth, bool site_grows);
void rss_words_retained(const struct profile *profile, const struct retained *retained,
			const char *begin, FILE *file);

/* "588 MiB = 412 live + 31 rounding + ...": terms in the total's unit, which add up. */
enum { RSS_SUM_SIZE = 256 };
const char *rss_words_sum(const struct rss *rss, char text[RSS_SUM_SIZE]);

/* What a line is, for a person: "stacks of threads". */
const char *rss_words_line(enum format_rss_line line);

#endif
