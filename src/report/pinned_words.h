/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pinned_words.h - who pins memory, in words.
 */
#ifndef PMEM_REPORT_PINNED_WORDS_H
#define PMEM_REPORT_PINNED_WORDS_H
#include <stdio.h>

#include "profile/pinned.h"
#include "report/report.h"

/* True if what is pinned explains why the resident set is larger than the heap: a fifth of it. */
bool pinned_words_matter(const struct rss *rss);

/* "Logger::intern (log.c:8) holds 38.0 MiB live and pins 410.2 MiB. " */
void pinned_words_site(const struct report *report, const struct pinned_site *site, FILE *file);

/* The site that pins most, if it matters; pinned may be NULL. */
bool pinned_words_find(const struct report *report, const struct pinned *pinned,
		       struct pinned_site *site);

/* That of the site that pins most, if it matters; pinned may be NULL. */
void pinned_words_most(const struct report *report, const struct pinned *pinned, FILE *file);

#endif
