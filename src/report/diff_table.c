/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * diff_table.c - the sites or call stacks that changed.
 *
 * In 80 columns: the change, how many blocks more of which size, the function, its line, and whether it is new.
 */
#include "report/diff_table.h"

#include <stdlib.h>
#include <string.h>

#include "report/name.h"
#include "report/page.h"
#include "report/stack.h"

enum { VALUE = 11, GAP = 2, MARK_MAX = 24, NAME_MIN = 20, FRAMES = 12, CELL = 2 * UNITS_SIZE };

struct line {
	char value[UNITS_SIZE];
	char detail[CELL];
	char mark[CELL];
	char *function; /* NULL: no memory */
	char *where;
	bool inexact;
};

struct widths {
	unsigned detail;
	unsigned function;
	unsigned where;
	unsigned mark;
};

/* --- cells ----------------------------------------------------------------------------------- */

static bool is_count(enum sites_key key)
{
	return key == SITES_COUNT || key == SITES_TEMPORARY;
}

static const char *change_text(enum sites_key key, int64_t change, char text[UNITS_SIZE])
{
	char count[UNITS_SIZE];

	if (!is_count(key) || change == 0)
		return units_bytes_change(change, text);
	units_count(change < 0 ? -(uint64_t)change : (uint64_t)change, count);
	snprintf(text, UNITS_SIZE, "%c%.30s", change < 0 ? '-' : '+', count);
	return text;
}

/* Blocks that go with the bytes of a key. */
static int64_t blocks_change(const struct diff_page *page,
			     const struct sites_counts counts[DIFF_SIDES], enum sites_key key)
{
	const struct sites_counts *a = &counts[DIFF_A], *b = &counts[DIFF_B];

	/* Of the calls that mapped memory it is not known how many mappings are left of them. */
	if (diff_page_is_mapped(page) && key != SITES_ALLOC)
		return 0;
	switch (key) {
	case SITES_LIVE:
		return (int64_t)(b->live_count - a->live_count);
	case SITES_ALLOC:
		return (int64_t)(b->alloc_count - a->alloc_count);
	case SITES_PEAK:
		return (int64_t)((uint64_t)b->peak_count - (uint64_t)a->peak_count);
	default:
		return 0;
	}
}

/* Of which moments a side of a row is. */
static struct growth_interval times_of(const struct diff_page *page, const struct diff_row *row,
				       unsigned index)
{
	const struct sites_counts *counts = &row->counts[index];
	uint64_t moment_ns = diff_side_moment(&page->diff->query.sides[index]);

	if (!counts->most_ns)
		return (struct growth_interval){moment_ns, moment_ns};
	return (struct growth_interval){counts->least_ns, counts->most_ns};
}

/* "in 10.4 s": between the moments of the samples of two moments of one profile, at least and at most. */
static void put_time(const struct diff_page *page, const struct diff_row *row, char text[CELL])
{
	const struct growth_interval a = times_of(page, row, DIFF_A),
				     b = times_of(page, row, DIFF_B);
	char least[UNITS_SIZE], most[UNITS_SIZE];

	if (b.since_ns < a.until_ns)
		return;
	units_duration(b.since_ns - a.until_ns, least);
	units_duration(b.until_ns - a.since_ns, most);
	if (strcmp(least, most) == 0)
		snprintf(text, CELL, "in %s", most);
	else
		snprintf(text, CELL, "in %.30s to %.30s", least, most);
}

/* "64 B x 358,801 more"; "~64 B" where that is a mean. */
static void put_detail(const struct diff_page *page, const struct diff_row *row, char text[CELL])
{
	int64_t bytes = diff_change(row->counts, page->key);
	int64_t blocks = blocks_change(page, row->counts, page->key);
	char size[UNITS_SIZE], count[UNITS_SIZE];
	uint64_t number = blocks < 0 ? -(uint64_t)blocks : (uint64_t)blocks;
	uint64_t whole = bytes < 0 ? -(uint64_t)bytes : (uint64_t)bytes;

	text[0] = '\0';
	if (page->diff->is_timed && page->sides[DIFF_A].profile == page->sides[DIFF_B].profile)
		put_time(page, row, text);
	else if (diff_page_sampled(page) && diff_page_error(page, row->counts, page->key))
		snprintf(text, CELL, "+-%s",
			 units_bytes(diff_page_error(page, row->counts, page->key), size));
	else if (page->key == SITES_COUNT)
		units_bytes_change(diff_change(row->counts, SITES_ALLOC), text);
	else if (blocks != 0 && bytes != 0 && (bytes < 0) == (blocks < 0))
		snprintf(text, CELL, "%s%s x %s %s", whole % number ? "~" : "",
			 units_bytes(whole / number, size), units_count(number, count),
			 blocks < 0 ? "fewer" : "more");
}

/* "new in `after`", or "new" if the name is long. */
static void put_mark(const struct diff_page *page, const struct diff_row *row, char text[CELL])
{
	enum diff_state state = diff_state(row);
	const char *word = state == DIFF_NEW ? "new in" : "gone from";
	const char *label = page->labels[state == DIFF_NEW ? DIFF_B : DIFF_A];

	text[0] = '\0';
	if (state == DIFF_MATCHED)
		return;
	if (strlen(word) + output_columns(label) + 3 <= MARK_MAX && strlen(label) < CELL / 2)
		snprintf(text, CELL, "%s `%s`", word, label);
	else
		snprintf(text, CELL, "%s", diff_page_state(state));
}

static void fill(const struct diff_page *page, const struct diff_row *row, struct line *line)
{
	const struct report *report;
	struct name name = diff_page_name(page, row, &report);

	change_text(page->key, diff_change(row->counts, page->key), line->value);
	put_detail(page, row, line->detail);
	put_mark(page, row, line->mark);
	line->function = name_function(report, &name);
	line->where = name_where(report, &name);
	line->inexact = row->inexact;
}

/* --- rows ------------------------------------------------------------------------------------ */

/* The next row from *at on that changed; NULL: there is none. */
static const struct diff_row *next_changed(const struct diff_page *page,
					   const struct diff_row *rows, uint32_t count, uint32_t *at)
{
	while (*at < count) {
		const struct diff_row *row = &rows[(*at)++];

		if (diff_change(row->counts, page->key) != 0)
			return row;
	}
	return NULL;
}

/* What was not printed: sums of what grew and of what shrank. */
struct rest {
	int64_t sums[2];
	uint32_t counts[2];
	uint32_t unchanged;
};

static void print_rest(const struct diff_page *page, const struct rest *rest, const char *what)
{
	FILE *file = page->out->file;
	char text[UNITS_SIZE], number[UNITS_SIZE];

	for (unsigned i = 0; i < 2; i++)
		if (rest->counts[i])
			fprintf(file, "%*s  in %s other %s%s that %s\n", VALUE,
				change_text(page->key, rest->sums[i], text),
				units_count(rest->counts[i], number), what,
				rest->counts[i] == 1 ? "" : "s", i ? "shrank" : "grew");
	if (rest->unchanged)
		fprintf(file, "%*s  in %s other %s%s\n", VALUE, "unchanged",
			units_count(rest->unchanged, number), what, rest->unchanged == 1 ? "" : "s");
}

/* Of what is behind the first `at` rows, and of the unchanged ones in front. */
static struct rest sum_rest(const struct diff_page *page, const struct diff_row *rows,
			    uint32_t count, uint32_t at)
{
	struct rest rest = {0};

	for (uint32_t i = 0; i < count; i++) {
		int64_t change = diff_change(rows[i].counts, page->key);

		if (change == 0) {
			rest.unchanged++;
		} else if (i >= at) {
			rest.sums[change < 0] = (int64_t)((uint64_t)rest.sums[change < 0] +
							  (uint64_t)change);
			rest.counts[change < 0]++;
		}
	}
	return rest;
}

/* What the process gained or lost outside of the rows: in call stacks that the series do not have, and between the moments of the samples
 * and those compared. */
static void print_small(const struct diff_page *page)
{
	const struct diff *diff = page->diff;
	int64_t total = diff_change(diff->totals, page->key),
		sum = diff_change(diff->sums, page->key);
	int64_t change = (int64_t)((uint64_t)total - (uint64_t)sum);
	char text[UNITS_SIZE];

	if (diff->is_timed && change != 0)
		fprintf(page->out->file, "%*s  %s\n", VALUE, change_text(page->key, change, text),
			diff_is_exact(diff)
				? "in small call stacks, which have no samples"
				: "unknown where: small call stacks have no samples, and "
				  "others not of these moments");
}

static void widen(unsigned *width, const char *text)
{
	unsigned columns = text ? output_columns(text) : 0;

	*width = columns > *width ? columns : *width;
}

/* Function and line share what the other columns leave. */
static struct widths measure(const struct diff_page *page, const struct line *lines, uint32_t count)
{
	struct widths widths = {0};
	unsigned used, room;

	for (uint32_t i = 0; i < count; i++) {
		widen(&widths.detail, lines[i].detail);
		widen(&widths.function, lines[i].function);
		widen(&widths.where, lines[i].where);
		widen(&widths.mark, lines[i].mark);
	}
	used = VALUE + GAP + (widths.detail ? widths.detail + GAP : 0) +
	       (widths.mark ? widths.mark + GAP : 0);
	room = page->out->width > used + NAME_MIN ? page->out->width - used : NAME_MIN;
	if (widths.function + (widths.where ? widths.where + GAP : 0) <= room)
		return widths;
	if (widths.where > room / 2 - GAP)
		widths.where = room / 2 - GAP;
	widths.function = room - (widths.where ? widths.where + GAP : 0);
	return widths;
}

static void print_line(const struct diff_page *page, const struct line *line,
		       const struct widths *widths)
{
	const struct output *out = page->out;

	fprintf(out->file, "%*s%*s", VALUE, line->value, GAP, "");
	if (widths->detail)
		fprintf(out->file, "%*s%*s", (int)widths->detail, line->detail, GAP, "");
	if ((line->where && line->where[0]) || line->mark[0])
		page_padded(out, line->function ? line->function : "?", widths->function);
	else
		page_cut(out, line->function ? line->function : "?", widths->function);
	if (widths->where && line->where && (line->where[0] || line->mark[0])) {
		fprintf(out->file, "%*s", GAP, "");
		if (line->mark[0])
			page_padded(out, line->where, widths->where);
		else
			page_cut(out, line->where, widths->where);
	}
	if (line->mark[0])
		fprintf(out->file, "%*s%s", GAP, "", line->mark);
	fputs(line->inexact ? " ~\n" : "\n", out->file);
}

static void print_none(const struct diff_page *page, uint32_t count)
{
	if (page->sides[DIFF_A].selected && !count)
		page_sentence(page->out, "No call stack matches --focus and --ignore.");
	else
		page_sentence(page->out, "Nothing changed.");
}

void diff_table_sites(const struct diff_page *page, uint32_t rows)
{
	const struct diff *diff = page->diff;
	struct line *lines = calloc((size_t)rows + 1, sizeof(*lines));
	const struct diff_row *row;
	uint32_t at = 0, count = 0;
	struct widths widths;
	struct rest rest;

	while (lines && count < rows &&
	       (row = next_changed(page, diff->sites, diff->site_count, &at)))
		fill(page, row, &lines[count++]);
	widths = measure(page, lines, count);
	for (uint32_t i = 0; i < count; i++) {
		print_line(page, &lines[i], &widths);
		free(lines[i].function);
		free(lines[i].where);
	}
	rest = sum_rest(page, diff->sites, diff->site_count, at);
	if (count)
		print_rest(page, &rest, "site");
	else
		print_none(page, diff->site_count);
	print_small(page);
	free(lines);
}

static void print_stack(const struct diff_page *page, const struct diff_row *row)
{
	unsigned shown = diff_shown_side(row);
	char value[UNITS_SIZE], detail[CELL], mark[CELL];

	change_text(page->key, diff_change(row->counts, page->key), value);
	put_detail(page, row, detail);
	put_mark(page, row, mark);
	fprintf(page->out->file, "%*s%*s%s%s%s%s\n", VALUE, value, detail[0] ? GAP : 0, "", detail,
		mark[0] ? "  " : "", mark, row->inexact ? " ~" : "");
	stack_print(&page->sides[shown], row->stack[shown], page->options->report.top ? 0 : FRAMES);
}

void diff_table_stacks(const struct diff_page *page, uint32_t rows)
{
	const struct diff *diff = page->diff;
	const struct diff_row *row;
	uint32_t at = 0, count = 0;
	struct rest rest;

	while (count < rows && (row = next_changed(page, diff->stacks, diff->stack_count, &at))) {
		print_stack(page, row);
		count++;
	}
	rest = sum_rest(page, diff->stacks, diff->stack_count, at);
	if (count)
		print_rest(page, &rest, "call stack");
	else
		print_none(page, diff->stack_count);
	print_small(page);
}
