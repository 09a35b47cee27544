/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * json_parts.h - members of the document of `pmem report --json` that more than one of its objects has; doc/JSON.md describes them.
 */
#ifndef PMEM_REPORT_JSON_PARTS_H
#define PMEM_REPORT_JSON_PARTS_H
#include "base/json.h"
#include "report/report.h"

/* null for 0, which stands for "none" or "not known"; null for ""; 16 digits. */
void json_parts_known(struct json *json, const char *key, uint64_t value);
void json_parts_text(struct json *json, const char *key, const char *text);
void json_parts_hex(struct json *json, const char *key, uint64_t value);

/* "growth", "verdicts"; after report_find_verdicts(). */
void json_parts_growth(struct json *json, const struct report *report);
void json_parts_verdicts(struct json *json, const struct report *report);

/* Of one call stack: "growth_bytes" and "samples"; "frames", or with the option for a table of them "node", and "site". */
void json_parts_series(struct json *json, const struct report *report, uint32_t stack);
void json_parts_frames(struct json *json, const struct report *report,
		       const struct profile_stack *stack);

/* "locations" and "nodes", which that "node" is of; nothing without the option. */
void json_parts_frame_table(struct json *json, const struct report *report);

#endif
