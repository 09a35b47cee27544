/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * top.c - what is watched, from opening to opening.
 *
 * The verdict is what takes longest.  It is made anew at once where that costs little, else so seldom that it stays a small share of the time.
 */
#include "top/top.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "report/head.h"
#include "report/mappings.h"
#include "report/words.h"

enum {
	VERDICT_SHARE = 20, /* of the time, at most one part in so many */
	PARAGRAPH = 100000, /* columns: not wrapped */
	ROUNDS = 8,
};

void top_begin(struct top *top, const struct top_options *options)
{
	*top = (struct top){
		.sort = options->sort,
		.group = options->group,
		.interval_ns = options->interval_ns,
		.form = options->form,
		.maps = options->maps,
		.report_options = {.view = "summary",
				   .key = SITES_KEYS,
				   .all_frames = options->all_frames},
	};
	if (options->filter)
		strncpy(top->filter, options->filter, TOP_FILTER_SIZE - 1);
}

void top_end(struct top *top)
{
	rows_end(&top->rows);
	lines_end(&top->lines);
	lines_close_all(&top->open);
	report_close(&top->report);
	moment_end(&top->now);
	moment_end(&top->before);
	moment_end(&top->mark);
	free(top->warnings);
	free(top->words);
	*top = (struct top){.words = NULL};
}

uint64_t top_elapsed_ns(const struct top *top)
{
	return top->before.time_ns ? moment_more(top->now.time_ns, top->before.time_ns) : 0;
}

/* What print writes, one line for each paragraph; to be freed; NULL: no memory. */
static char *paragraphs(struct report *report, void (*print)(const struct report *report))
{
	const struct output *out_before = report->out;
	struct output out = {.width = PARAGRAPH};
	char *text = NULL;
	size_t size;

	out.file = open_memstream(&text, &size);
	if (!out.file)
		return NULL;
	report->out = &out;
	print(report);
	report->out = out_before;
	fclose(out.file);
	return text;
}

/* head_print() without its title. */
static char *warnings_of(struct report *report)
{
	char *text = paragraphs(report, head_print);
	char *rest = text ? strchr(text, '\n') : NULL;

	if (rest)
		memmove(text, rest + 1, strlen(rest + 1) + 1);
	return text;
}

static bool make_words(struct top *top, struct error *err)
{
	struct report *report = &top->report;
	uint64_t start_ns = clock_monotonic_ns();

	/* The last words are about the final state. */
	if (top->words && start_ns < top->words_due_ns && report->profile->is_live)
		return true;
	if (!report_find_verdicts(report, err))
		return false;
	/* The words name sites by these keys too. */
	sites_refine(report->sites, 1u << SITES_GROWTH | 1u << SITES_LIVE | 1u << SITES_PEAK |
					    1u << SITES_TEMPORARY);
	report_sort(report, SITES_LIVE);
	free(top->words);
	free(top->warnings);
	top->words = paragraphs(report,
				report->profile->is_mapped ? mappings_intro_print : words_print);
	top->warnings = warnings_of(report);
	top->words_due_ns = start_ns + VERDICT_SHARE * (clock_monotonic_ns() - start_ns);
	return true;
}

static void note_history(struct top *top, const struct top_reading *reading)
{
	const struct profile *profile = top->report.profile;
	const struct history_point point = {
		profile->duration_ns, profile_live_bytes(&profile->totals), reading->rss_bytes};

	if (profile->is_live)
		history_add(&top->history, &point);
}

bool top_update(struct top *top, const struct top_reading *reading, struct error *err)
{
	const struct profile *profile = top->maps && reading->profile->mapped
						? reading->profile->mapped
						: reading->profile;
	struct moment moment = {.time_ns = 0};
	uint64_t freed_before = top->freed_total;

	rows_end(&top->rows);
	top->lines.count = 0;
	report_close(&top->report);
	top->report = (struct report){.profile = profile,
				      .names = reading->names,
				      .options = &top->report_options,
				      .out = &top->out};
	if (!report_open(&top->report, err) || !make_words(top, err))
		return false;
	if (!moment_take(&moment, profile, reading->time_ns))
		return error_set(err, "no memory for %u call stacks", profile->stack_count);
	moment_move(&top->before, &top->now);
	moment_move(&top->now, &moment);
	top->freed_total = profile->totals.free_bytes;
	top->freed_bytes = moment_more(top->freed_total, freed_before);
	top->rss_bytes = reading->rss_bytes;
	note_history(top, reading);
	return true;
}

/* Nothing that was seen of the one is of the other. */
void top_switch(struct top *top)
{
	top->maps = !top->maps;
	moment_end(&top->now);
	moment_end(&top->before);
	moment_end(&top->mark);
	top->history.count = 0;
	free(top->words);
	top->words = NULL;
	lines_close_all(&top->open);
	top->selected_key = 0;
}

/* --- the table ------------------------------------------------------------------------------- */

static struct rows_query query_of(const struct top *top)
{
	return (struct rows_query){
		.report = &top->report,
		.before = top->before.time_ns ? &top->before : NULL,
		.elapsed_ns = top_elapsed_ns(top),
		.mark = top->mark.time_ns ? &top->mark : NULL,
		.filter = top->filter,
		.sort = top->sort,
		.order = top->order,
		.group = top->group,
	};
}

/* Finds what was selected, and scrolls there. */
static void select_again(struct top *top)
{
	uint32_t count = top->lines.count, height = top->height ? top->height : 1;

	for (uint32_t i = 0; top->selected_key && i < count; i++) {
		if (top->lines.items[i].key == top->selected_key) {
			top->selected = i;
			break;
		}
	}
	if (top->selected >= count)
		top->selected = count ? count - 1 : 0;
	if (top->selected < top->first)
		top->first = top->selected;
	if (top->selected >= top->first + height)
		top->first = top->selected - height + 1;
	if (top->first + height > count)
		top->first = count > height ? count - height : 0;
}

/* Looks up the lines of the rows that are visible.  True: some were. */
static bool refine_visible(const struct top *top)
{
	const struct lines *lines = &top->lines;
	uint32_t last = top->first + top->height < lines->count ? top->first + top->height
								: lines->count;

	if (last <= top->first)
		return false;
	return rows_refine(&top->rows, lines->items[top->first].row, lines->items[last - 1].row + 1);
}

bool top_arrange(struct top *top, unsigned height)
{
	struct rows_query query = query_of(top);

	top->height = height;
	if (!top->report.sites)
		return true;
	/* Rows that are divided make room for others. */
	for (unsigned round = 0; round < ROUNDS; round++) {
		if (!rows_build(&top->rows, &query) ||
		    !lines_build(&top->lines, &top->rows, &top->open))
			return false;
		select_again(top);
		if (!refine_visible(top))
			break;
	}
	return true;
}
