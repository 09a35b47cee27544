/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * source.h - the source lines around an allocation site.
 */
#ifndef PMEM_REPORT_SOURCE_H
#define PMEM_REPORT_SOURCE_H
#include "report/report.h"

/* With --source: prints the lines around the site, or one line that says why there are none.  Else nothing. */
void source_print(const struct report *report, const struct site *site);

#endif
