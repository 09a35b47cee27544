/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * table.h - the table of allocation sites, with columns that fit the key it is sorted by.
 */
#ifndef PMEM_REPORT_TABLE_H
#define PMEM_REPORT_TABLE_H
#include "report/report.h"

/* Prints a head, at most rows sites, and one line for those left out. */
void table_print(const struct report *report, unsigned rows);

/* The number of lines that takes. */
unsigned table_lines(const struct report *report, unsigned rows);

#endif
