/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * table.c - the table of allocation sites.
 *
 * In 80 columns 34 remain for the site: function and, if it is known, file and line.  Both are cut in the middle.
 */
#include "report/table.h"

#include <stdlib.h>
#include <string.h>

#include "profile/estimate.h"
#include "report/name.h"
#include "report/page.h"

enum { COLUMNS = 5, SITE_MIN = 20, FUNCTION_MIN = 14 };

struct column {
	const char *title;
	unsigned width;
	const char *(*text)(const struct report *report, const struct sites_counts *counts,
			    char text[UNITS_SIZE]);
};

static uint64_t not_negative(int64_t value)
{
	return value > 0 ? (uint64_t)value : 0;
}

static const char *live(const struct report *report, const struct sites_counts *counts, char *text)
{
	(void)report;
	return units_bytes(counts->live_bytes, text);
}

static const char *blocks(const struct report *report, const struct sites_counts *counts, char *text)
{
	(void)report;
	return units_count(counts->live_count, text);
}

static const char *growth(const struct report *report, const struct sites_counts *counts, char *text)
{
	if (report->growth.kind == GROWTH_UNKNOWN && !report_has_interval(report))
		return "-";
	return report_growth(report, counts, text);
}

/* Over how long that growth was measured: of several call stacks it may not be the same. */
static const char *measured(const struct report *report, const struct sites_counts *counts,
			    char *text)
{
	char least[UNITS_SIZE], most[UNITS_SIZE];

	(void)report;
	units_duration(counts->least_ns, least);
	units_duration(counts->most_ns, most);
	if (!counts->most_ns)
		return "-";
	if (strcmp(least, most) == 0 || strlen(least) + strlen(most) + 2 > UNITS_SIZE)
		return strcpy(text, most);
	snprintf(text, UNITS_SIZE, "%.14s-%.14s", least, most);
	return text;
}

static const char *allocated(const struct report *report, const struct sites_counts *counts,
			     char *text)
{
	(void)report;
	return units_bytes(counts->alloc_bytes, text);
}

static const char *calls(const struct report *report, const struct sites_counts *counts, char *text)
{
	(void)report;
	return units_count(counts->alloc_count, text);
}

static const char *mean(const struct report *report, const struct sites_counts *counts, char *text)
{
	(void)report;
	if (!counts->alloc_count)
		return "-";
	return units_bytes(counts->alloc_bytes / counts->alloc_count, text);
}

static const char *temporary(const struct report *report, const struct sites_counts *counts,
			     char *text)
{
	(void)report;
	return units_count(counts->temporary_count, text);
}

static const char *temporary_share(const struct report *report, const struct sites_counts *counts,
				   char *text)
{
	(void)report;
	return units_share(counts->temporary_count, counts->alloc_count, text);
}

/* Of the figure that the table is sorted by. */
static const char *certainty(const struct report *report, const struct sites_counts *counts,
			     char *text)
{
	uint64_t bytes = report->key == SITES_PEAK ? not_negative(counts->peak_bytes)
			 : report->key == SITES_LIVE || report->key == SITES_GROWTH
				 ? counts->live_bytes
				 : counts->alloc_bytes;
	uint64_t percent = estimate_percent(bytes, report->profile->header.sample_bytes);

	if (percent > 999)
		return bytes ? ">999%" : "-";
	snprintf(text, UNITS_SIZE, "%u %%", (unsigned)percent);
	return text;
}

static const char *peak(const struct report *report, const struct sites_counts *counts, char *text)
{
	(void)report;
	return units_bytes(not_negative(counts->peak_bytes), text);
}

static const char *peak_blocks(const struct report *report, const struct sites_counts *counts,
			       char *text)
{
	(void)report;
	return units_count(not_negative(counts->peak_count), text);
}

#define LIVE                     \
	{                        \
		"live", 10, live \
	}
#define BLOCKS                      \
	{                           \
		"blocks", 7, blocks \
	}
#define GROWTH                           \
	{                                \
		"growth/min", 11, growth \
	}
#define ALLOCATED                          \
	{                                  \
		"allocated", 10, allocated \
	}
#define CALLS                     \
	{                         \
		"calls", 7, calls \
	}
#define TEMPORARY_SHARE                    \
	{                                  \
		"temp", 5, temporary_share \
	}

static const struct column layouts[SITES_KEYS][COLUMNS] = {
	[SITES_LIVE] = {LIVE, BLOCKS, GROWTH, ALLOCATED, TEMPORARY_SHARE},
	[SITES_PEAK] = {{"peak", 9, peak},
			{"blocks", 7, peak_blocks},
			{"live now", 9, live},
			ALLOCATED,
			TEMPORARY_SHARE},
	[SITES_ALLOC] = {ALLOCATED, CALLS, {"mean", 9, mean}, LIVE, TEMPORARY_SHARE},
	[SITES_COUNT] = {CALLS, ALLOCATED, {"mean", 9, mean}, LIVE, TEMPORARY_SHARE},
	[SITES_TEMPORARY] = {{"temporary", 9, temporary}, TEMPORARY_SHARE, CALLS, ALLOCATED, LIVE},
	[SITES_GROWTH] = {GROWTH, LIVE, BLOCKS, ALLOCATED, TEMPORARY_SHARE},
};

/* What is known of a part of the timeline. */
static const struct column interval_layout[COLUMNS] = {
	GROWTH, {"over", 10, measured}, LIVE, ALLOCATED};

/* Of what the program maps itself: it has no blocks. */
static const struct column mapped_layout[COLUMNS] = {
	{"mapped", 10, live}, CALLS, GROWTH, {"in all", 10, allocated}};

/* In a sampled profile in place of the share of temporary blocks. */
static const struct column certainty_column = {"+-95%", 5, certainty};

static const struct column *column_of(const struct report *report, const struct column *column)
{
	return report->profile->header.sample_bytes && column->text == temporary_share
		       ? &certainty_column
		       : column;
}

static const struct column *layout_of(const struct report *report)
{
	if (report->profile->is_mapped && !report->sites->query.only_interval)
		return mapped_layout;
	return report->sites->query.only_interval ? interval_layout : layouts[report->key];
}

/* Returns the columns used. */
static unsigned print_head(const struct report *report, const struct column *layout)
{
	FILE *file = report->out->file;
	unsigned used = 1, i;

	fputs(output_style(report->out, OUTPUT_DIM), file);
	for (i = 0; i < COLUMNS && layout[i].title; i++) {
		const struct column *column = column_of(report, &layout[i]);

		fprintf(file, "%*s ", (int)column->width, column->title);
		used += column->width + 1;
	}
	fprintf(file, " site%s\n", output_style(report->out, OUTPUT_PLAIN));
	return used;
}

/* Returns by how many columns the figures are wider than their columns: "1023.9 KiB" is. */
static unsigned print_row(const struct report *report, const struct column *layout,
			  const struct sites_counts *counts)
{
	unsigned wider = 0, i;

	for (i = 0; i < COLUMNS && layout[i].title; i++) {
		char buffer[UNITS_SIZE];
		const struct column *column = column_of(report, &layout[i]);
		const char *text = column->text(report, counts, buffer);
		unsigned columns = output_columns(text);

		fprintf(report->out->file, "%*s ", (int)column->width, text);
		wider += columns > column->width ? columns - column->width : 0;
	}
	fputc(' ', report->out->file);
	return wider;
}

/* Columns for the function's name, so that what follows stands in one column. */
static unsigned name_width(const struct report *report, unsigned rows, unsigned room)
{
	unsigned names = 0, wheres = 0, most, i;

	for (i = 0; i < rows; i++) {
		struct name name = name_of_site(report, &report->sites->items[i]);
		char *function = name_function(report, &name), *where = name_where(report, &name);
		unsigned columns = function ? output_columns(function) : 0;

		names = columns > names ? columns : names;
		columns = where ? output_columns(where) : 0;
		wheres = columns > wheres ? columns : wheres;
		free(function);
		free(where);
	}
	if (wheres == 0)
		return names < room ? names : room;
	if (names + 2 + wheres <= room)
		return names;
	/* The function gives way first: a file without its end or line is of no use. */
	most = room / 2 + FUNCTION_MIN < room ? room - FUNCTION_MIN : room / 2;
	wheres = wheres + 2 < most ? wheres + 2 : most;
	return names < room - wheres ? names : room - wheres;
}

static void print_site(const struct report *report, const struct site *site, unsigned width,
		       unsigned room)
{
	struct name name = name_of_site(report, site);
	char *function = name_function(report, &name), *where = name_where(report, &name);
	const struct output *out = report->out;

	if (where && where[0] && room > width + 2) {
		page_padded(out, function ? function : "?", width);
		fputs("  ", out->file);
		page_cut(out, where, room - width - 2);
	} else {
		page_cut(out, function ? function : "?", width);
	}
	fputs(site->inexact ? " ~\n" : "\n", out->file);
	free(function);
	free(where);
}

/* What the sites left out have of the key. */
static void print_rest(const struct report *report, const struct column *layout, uint32_t rows)
{
	const struct sites *sites = report->sites;
	struct sites_counts rest = sites->totals;
	enum sites_key key = layout == interval_layout ? SITES_GROWTH : report->key;
	int64_t value = sites_value(&rest, key);
	char text[UNITS_SIZE], number[UNITS_SIZE];
	uint32_t i;

	for (i = 0; i < rows; i++)
		value -= sites_value(&sites->items[i].counts, key);
	fprintf(report->out->file, "%*s  in %s other site%s\n", (int)layout[0].width,
		report_value(report, key, value, text), units_count(sites->count - rows, number),
		sites->count - rows == 1 ? "" : "s");
}

static uint32_t rows_of(const struct report *report, unsigned rows)
{
	return rows < report->sites->count ? rows : report->sites->count;
}

unsigned table_lines(const struct report *report, unsigned rows)
{
	uint32_t count = rows_of(report, rows);

	return 1 + count + (count < report->sites->count);
}

/* Columns of the mark behind sites whose figures are estimates. */
static unsigned mark_width(const struct report *report, uint32_t rows)
{
	uint32_t i;

	for (i = 0; i < rows; i++)
		if (report->sites->items[i].inexact)
			return 2;
	return 0;
}

void table_print(const struct report *report, unsigned rows)
{
	const struct column *layout = layout_of(report);
	uint32_t count = rows_of(report, rows), i;
	unsigned used = print_head(report, layout) + mark_width(report, count), room, width;

	room = report->out->width > used + SITE_MIN ? report->out->width - used : SITE_MIN;
	width = name_width(report, count, room);
	for (i = 0; i < count; i++) {
		const struct site *site = &report->sites->items[i];
		unsigned wider = print_row(report, layout, &site->counts);

		print_site(report, site, width > wider ? width - wider : 1, room - wider);
	}
	if (count < report->sites->count)
		print_rest(report, layout, count);
}
