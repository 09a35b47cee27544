/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * diff_table.h - the sites or call stacks that changed.
 */
#ifndef PMEM_REPORT_DIFF_TABLE_H
#define PMEM_REPORT_DIFF_TABLE_H
#include "report/diff.h"

/* Print at most so many of what changed, and what the others sum up to. */
void diff_table_sites(const struct diff_page *page, uint32_t rows);
void diff_table_stacks(const struct diff_page *page, uint32_t rows);

#endif
