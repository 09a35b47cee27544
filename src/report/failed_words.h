/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * failed_words.h - what the program asked for and did not get, in words.
 */
#ifndef PMEM_REPORT_FAILED_WORDS_H
#define PMEM_REPORT_FAILED_WORDS_H
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/json.h"
#include "report/report.h"

/* How many calls failed, also those that found no room; 0 = none. */
uint64_t failed_words_count(const struct profile *profile);

/* "3 allocations failed, 1.5 GiB in all; the first, 512.0 MiB, in parse_header (parse.c:12) at 14:02:11"; name: of the first one's site, NULL = not
 * known.  No line's end. */
void failed_words_put(const struct profile *profile, const char *name, FILE *file);

/* That as a sentence, if any failed. */
void failed_words_first_page(const struct report *report, FILE *file);

/* "failures" of the JSON. */
void failed_words_json(struct json *json, const struct report *report);

#endif
