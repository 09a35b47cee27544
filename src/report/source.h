/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * source.h - the source lines around an allocation site.
 */
#ifndef PMEM_REPORT_SOURCE_H
#define PMEM_REPORT_SOURCE_H
#include "report/report.h"

/* With --source: prints the lines around the site with the live and allocated bytes of each (of all sites in them), or why there are
 * none.  Else nothing. */
void source_print(const struct report *report, const struct site *site);

/* With --source: the same for the first rows sites, each under its name. */
void source_print_sites(const struct report *report, unsigned rows);

#endif
