/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rows.h - the rows of the table: call stacks grouped by site, function or module, with their figures, sorted.
 *
 * Built anew for each opening and each change of what is asked for.  Figures are numbers here; columns.h makes them text.
 */
#ifndef PMEM_TOP_ROWS_H
#define PMEM_TOP_ROWS_H
#include <stdbool.h>
#include <stdint.h>

#include "report/report.h"
#include "top/moment.h"

/* What a row has, in the order of the columns. */
enum rows_column {
	ROWS_LIVE,
	ROWS_GROWTH, /* of live bytes over the report's interval; since the mark, if there is one */
	ROWS_CHURN,  /* bytes allocated since the opening before */
	ROWS_BLOCKS, /* live blocks; their change since the mark */
	ROWS_ALLOCATED, /* bytes; since the mark */
	ROWS_TEMPORARY, /* allocations; since the mark */
	ROWS_COLUMNS,
};

/* "live" and so on, as in --by; NULL after the last. */
const char *rows_column_name(enum rows_column column);
bool rows_column_find(const char *name, enum rows_column *column);

enum rows_group { ROWS_SITES, ROWS_FUNCTIONS, ROWS_MODULES, ROWS_GROUPS };

/* "site" and so on, as in --group. */
const char *rows_group_name(enum rows_group group);
bool rows_group_find(const char *name, enum rows_group *group);

enum rows_order { ROWS_LARGEST_FIRST, ROWS_SMALLEST_FIRST };

struct rows_query {
	const struct report *report;
	const struct moment *before; /* NULL: this is the first opening */
	uint64_t elapsed_ns;	     /* between that and this; 0: not known */
	const struct moment *mark;   /* NULL: none */
	const char *filter;	     /* "" = none */
	enum rows_column sort;
	enum rows_order order;
	enum rows_group group;
};

struct rows_row {
	uint64_t key;	      /* of the same thing in each opening the same */
	uint32_t first_index; /* in items */
	uint32_t group; /* the place that stands for it; of a module its index, ROWS_NONE: of none */
	uint32_t stack_count;
	bool inexact;
	bool rough; /* of one of its call stacks the line was not looked up */
	int64_t values[ROWS_COLUMNS];
};

#define ROWS_NONE UINT32_MAX

struct rows {
	struct rows_query query;
	struct rows_row *items;
	uint32_t count;
	uint32_t *of_stack; /* index in items; ROWS_NONE: not shown */
	uint32_t stack_count;
	int64_t totals[ROWS_COLUMNS]; /* of what the filter leaves */
};

/* False: no memory, and there are no rows. */
bool rows_build(struct rows *rows, const struct rows_query *query);
void rows_end(struct rows *rows);

/* Looks up lines and inlined functions of the rows from first to before last.  True: some were looked up, and rows have to be built again. */
bool rows_refine(const struct rows *rows, uint32_t first, uint32_t last);

/* The figures of one call stack. */
void rows_values(const struct rows_query *query, uint32_t stack, int64_t values[ROWS_COLUMNS]);

/* The call stacks of a row in the rows' order: array of *count indexes, to be freed; NULL: no memory. */
uint32_t *rows_stacks(const struct rows *rows, uint32_t row, uint32_t *count);

#endif
