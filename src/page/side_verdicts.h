/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * side_verdicts.h - what kind of growth the process and its sites have, for a page's script.
 */
#ifndef PMEM_PAGE_SIDE_VERDICTS_H
#define PMEM_PAGE_SIDE_VERDICTS_H
#include <stdint.h>

#include "base/json.h"
#include "report/report.h"

/* Two members of an object: "verdicts" as in `pmem report --json`, and in the same order "verdict_sites", each with the frame of its
 * site (null: the process) and a sentence.  frames: of the sites, by index of the call stack.  report_find_verdicts() was called. */
void side_verdicts_json(const struct report *report, const uint32_t *frames, struct json *json);

#endif
