/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * json_rss.h - what the resident set consists of, and who pins its free bytes, as members of a JSON object.
 */
#ifndef PMEM_REPORT_JSON_RSS_H
#define PMEM_REPORT_JSON_RSS_H
#include "base/json.h"
#include "profile/pinned.h"
#include "profile/retained.h"
#include "report/report.h"

/* "rss"; NULL: null. */
void json_rss(struct json *json, const struct rss *rss);

/* "retained": null if that is not what the size is about. */
void json_retained(struct json *json, const struct profile *profile, const struct rss *rss);

/* "pinned"; NULL: null.  False: no memory. */
bool json_pinned(struct json *json, const struct report *report, const struct pinned *pinned);

#endif
