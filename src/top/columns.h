/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * columns.h - the columns of the table: which fit, what stands in them.
 */
#ifndef PMEM_TOP_COLUMNS_H
#define PMEM_TOP_COLUMNS_H
#include "base/units.h"
#include "top/rows.h"

/* Those that are shown, left to right. */
struct columns {
	enum rows_column items[ROWS_COLUMNS];
	unsigned count;
	unsigned width; /* of all, with the blanks between and behind them */
};

/* What of a screen's width is not needed for the names goes to the column that is sorted by, then to the others, from the left. */
void columns_choose(unsigned screen_width, enum rows_column sort, struct columns *columns);

unsigned columns_width(enum rows_column column);

/* In capitals if it is sorted by, with "^" if the smallest come first; "+" before what is since the mark. */
const char *columns_title(enum rows_column column, const struct rows_query *query,
			  char text[UNITS_SIZE]);

/* A value as text. */
const char *columns_text(enum rows_column column, const struct rows_query *query, int64_t value,
			 char text[UNITS_SIZE]);

/* Bytes or allocations a second; 0 if there was no time. */
uint64_t columns_per_second(uint64_t amount, uint64_t elapsed_ns);

#endif
