/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * filter.h - which call stacks --focus and --ignore leave.
 */
#ifndef PMEM_REPORT_FILTER_H
#define PMEM_REPORT_FILTER_H
#include <stdbool.h>

#include "report/report.h"

/* True if text contains the pattern, or, if that has one of *?[, matches it as a whole. */
bool filter_matches(const char *pattern, const char *text);

/* Sets report->selected: call stacks with a frame that matches one of --focus (if any is given), but without a frame that
 * matches one of --ignore.  A frame matches by one of its functions' names, or by its module's path or file name. */
bool filter_select(struct report *report, struct error *err);

#endif
