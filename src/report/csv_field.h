/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * csv_field.h - text in a table for spreadsheets (RFC 4180, UTF-8).
 */
#ifndef PMEM_REPORT_CSV_FIELD_H
#define PMEM_REPORT_CSV_FIELD_H
#include <stdio.h>

/* Writes text in quotes; NULL as "".  Control characters and what is no UTF-8 become "?": a line break would be a valid
 * field, and break most readers. */
void csv_field(FILE *file, const char *text);

#endif
