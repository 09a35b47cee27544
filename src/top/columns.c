/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * columns.c - the columns of the table.
 */
#include "top/columns.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { NAMES_MIN = 32, NARROW = 64 };

static const struct {
	unsigned width;
	const char *titles[2][2]; /* of the heap, of what the program maps; since the start, since the mark */
} rows[ROWS_COLUMNS] = {
	[ROWS_LIVE] = {10, {{"live", "live"}, {"mapped", "mapped"}}},
	[ROWS_GROWTH] = {11, {{"growth/min", "+live"}, {"growth/min", "+mapped"}}},
	[ROWS_CHURN] = {10, {{"alloc/s", "alloc/s"}, {"mapped/s", "mapped/s"}}},
	[ROWS_BLOCKS] = {8, {{"blocks", "+blocks"}, {"calls", "+calls"}}},
	[ROWS_ALLOCATED] = {11, {{"allocated", "+allocated"}, {"in all", "+in all"}}},
	[ROWS_TEMPORARY] = {11, {{"temporary", "+temporary"}, {"temporary", "+temporary"}}},
};

unsigned columns_width(enum rows_column column)
{
	return rows[column].width;
}

void columns_choose(unsigned screen_width, enum rows_column sort, struct columns *columns)
{
	unsigned names = screen_width < NARROW ? screen_width / 2 : NAMES_MIN;
	unsigned used = rows[sort].width + 1;
	bool shown[ROWS_COLUMNS] = {false};

	shown[sort] = true;
	for (unsigned i = 0; i < ROWS_COLUMNS; i++) {
		if (shown[i])
			continue;
		if (used + rows[i].width + 1 + names > screen_width)
			break;
		shown[i] = true;
		used += rows[i].width + 1;
	}
	columns->count = 0;
	columns->width = used;
	for (unsigned i = 0; i < ROWS_COLUMNS; i++)
		if (shown[i])
			columns->items[columns->count++] = (enum rows_column)i;
}

const char *columns_title(enum rows_column column, const struct rows_query *query,
			  char text[UNITS_SIZE])
{
	const char *title = rows[column].titles[query->report->profile->is_mapped][query->mark != NULL];
	bool is_sorted = column == query->sort;

	snprintf(text, UNITS_SIZE, "%s%s", title,
		 is_sorted && query->order == ROWS_SMALLEST_FIRST ? "^" : "");
	for (char *at = text; is_sorted && *at; at++)
		*at = (char)toupper((unsigned char)*at);
	return text;
}

uint64_t columns_per_second(uint64_t amount, uint64_t elapsed_ns)
{
	unsigned __int128 product = (unsigned __int128)amount * 1000000000;

	if (!elapsed_ns)
		return 0;
	product = (product + elapsed_ns / 2) / elapsed_ns;
	return product > UINT64_MAX ? UINT64_MAX : (uint64_t)product;
}

static const char *count_change(int64_t value, char text[UNITS_SIZE])
{
	char number[UNITS_SIZE];

	if (!value)
		return strcpy(text, "0");
	units_count(value < 0 ? -(uint64_t)value : (uint64_t)value, number);
	snprintf(text, UNITS_SIZE, "%c%.30s", value < 0 ? '-' : '+', number);
	return text;
}

static const char *growth_text(const struct rows_query *query, int64_t value, char text[UNITS_SIZE])
{
	const struct report *report = query->report;

	if (query->mark)
		return units_bytes_change(value, text);
	if (report->growth.kind == GROWTH_UNKNOWN)
		return strcpy(text, "-");
	return units_bytes_change(growth_per_minute(value, &report->interval), text);
}

const char *columns_text(enum rows_column column, const struct rows_query *query, int64_t value,
			 char text[UNITS_SIZE])
{
	switch (column) {
	case ROWS_GROWTH:
		return growth_text(query, value, text);
	case ROWS_CHURN:
		if (!query->elapsed_ns)
			return strcpy(text, "-");
		return units_bytes(columns_per_second((uint64_t)value, query->elapsed_ns), text);
	case ROWS_BLOCKS:
	case ROWS_TEMPORARY:
		/* It has none: that is a thing of blocks. */
		if (column == ROWS_TEMPORARY && query->report->profile->is_mapped)
			return strcpy(text, "-");
		return query->mark ? count_change(value, text) : units_count((uint64_t)value, text);
	case ROWS_ALLOCATED:
		if (query->mark)
			return units_bytes_change(value, text);
		return units_bytes((uint64_t)value, text);
	default:
		return units_bytes((uint64_t)value, text);
	}
}
