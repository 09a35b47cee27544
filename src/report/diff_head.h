/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * diff_head.h - what stands above and below the table of a comparison.
 */
#ifndef PMEM_REPORT_DIFF_HEAD_H
#define PMEM_REPORT_DIFF_HEAD_H
#include "report/diff.h"

/* Why the two do not compare, or their figures are not whole; nothing if they do and are. */
void diff_head_warnings(const struct diff_page *page);

/* "live  +22.4 MiB (61.0 -> 83.4)    allocated +3 %    calls -1 %", then rates if the two do not last equally long. */
void diff_head_totals(const struct diff_page *page);

/* What was compared, and how well it matched. */
void diff_head_compared(const struct diff_page *page);

#endif
