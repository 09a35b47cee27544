/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * head.h - the first lines of every view: which process, and what is missing.
 */
#ifndef PMEM_REPORT_HEAD_H
#define PMEM_REPORT_HEAD_H
#include "report/report.h"

/* Title, then one paragraph for each reason why the figures are not whole, then an empty line. */
void head_print(const struct report *report);

/* One sentence about what --focus, --ignore, --since and --until leave; nothing if all is left. */
void head_print_selection(const struct report *report);

/* The "Seen:" paragraph: what was recorded, and what was not. */
void head_print_seen(const struct report *report);

#endif
