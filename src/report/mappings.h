/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mappings.h - what the program maps itself (mmap), past the heap: a report of profile->mapped.
 */
#ifndef PMEM_REPORT_MAPPINGS_H
#define PMEM_REPORT_MAPPINGS_H
#include "base/json.h"
#include "report/report.h"

/* Opens *mapped as a report like *report on what the program maps itself, with verdicts; report_close() ends it.  Only if
 * profile_maps(). */
bool mappings_open(const struct report *report, struct report *mapped, struct error *err);

/* What of it is resident now, of a process that runs, for the words and the JSON below.  True also where there is nothing to measure: what
 * the profile has counts. */
bool mappings_measure(struct report *mapped, struct error *err);

/* Resident bytes of a call stack; whether they are known. */
uint64_t mappings_resident(const struct report *mapped, uint32_t stack);
bool mappings_is_measured(const struct report *mapped);

/* The first paragraph of the view, of a report of what is mapped: with verdicts. */
void mappings_intro_print(const struct report *mapped);

/* The sentence of the first page, if that memory is a considerable part: nothing else. */
void mappings_words(const struct report *mapped, FILE *file);
bool mappings_matter(const struct profile *profile);

/* True if that memory has grown lately, so that it is worth asking whether a site of it is to blame. */
bool mappings_may_grow(const struct profile *profile);

/* Who mapped most of what is resident, for --rss. */
void mappings_resident_words(const struct report *report, FILE *file);

/* The member "mappings" of the document: null without any. */
bool mappings_json(const struct report *report, struct json *json, struct error *err);

#endif
