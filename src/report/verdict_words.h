/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * verdict_words.h - a verdict in words with numbers, without the site's name: for the report and for what `pmem run` says at its end.
 */
#ifndef PMEM_REPORT_VERDICT_WORDS_H
#define PMEM_REPORT_VERDICT_WORDS_H
#include <stdio.h>

#include "profile/verdict.h"

/* "steady (p < 0.001); none of its 60 blocks was freed", or of a cache "ever slower, as a cache fills". */
void verdict_words_how(const struct profile *profile, const struct verdict *verdict, FILE *file);

/* "1.2 MiB/min since 10:42:13, " and the same. */
void verdict_words_rate(const struct profile *profile, const struct verdict *verdict, FILE *file);

/* What a site does, as a sentence without the site: "Grows 1.2 MiB/min since 10:42:13, steady (p < 0.001); none of its 60 blocks was freed." */
void verdict_words_sentence(const struct profile *profile, const struct verdict *verdict,
			    FILE *file);

/* Why nothing is said of growth: "ran 1.2 s, too short for a verdict on growth: that takes 2 s, or PMEM_TIMELINE_MS=50". */
void verdict_words_unknown(const struct profile *profile, FILE *file);

/* "At this rate the cgroup's limit of 4.0 GiB is reached in 3.1 h"; begin: "At". */
void verdict_words_limit(const struct profile *profile, const struct limit *limit,
			 const char *begin, FILE *file);

#endif
