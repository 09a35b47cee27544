/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * side.c - what a page's script gets of one profile.
 */
#include "page/side.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "export/clean.h"
#include "export/export.h"
#include "page/side_verdicts.h"
#include "profile/diff.h"
#include "report/histogram.h"
#include "report/json_counts.h"
#include "report/name.h"
#include "report/rss_words.h"

enum { CALL_STACK_COLUMNS = 8, POINT_COLUMNS = 5, SAMPLE_COLUMNS = 4 };

/* --- columns --------------------------------------------------------------------------------- */

/* Whose columns they are. */
struct column_of {
	const struct side *side;
	unsigned number;
	bool is_mapped;
	struct columns *columns;
};

/* "0.live_bytes"; of what the program maps itself "0m.live_bytes". */
static const char *column_name(const struct column_of *of, const char *name, char text[COLUMNS_NAME])
{
	snprintf(text, COLUMNS_NAME, "%u%s.%s", of->number, of->is_mapped ? "m" : "", name);
	return text;
}

static uint64_t at_least_0(int64_t value)
{
	return value > 0 ? (uint64_t)value : 0;
}

static uint64_t stack_value(const struct profile_stack *stack, unsigned column)
{
	const struct profile_counts *counts = &stack->counts;

	switch (column) {
	case 0:
		return profile_live_bytes(counts);
	case 1:
		return profile_live_count(counts);
	case 2:
		return counts->alloc_bytes;
	case 3:
		return counts->alloc_count;
	case 4:
		return counts->temporary_count;
	case 5:
		return at_least_0(counts->peak_bytes);
	case 6:
		return at_least_0(counts->peak_count);
	default:
		return stack->inexact;
	}
}

static void add_counts(const struct column_of *of, uint64_t *values)
{
	const struct profile *profile = of->side->report->profile;
	static const char *const names[CALL_STACK_COLUMNS] = {
		"live_bytes",	    "live_blocks", "alloc_bytes", "alloc_blocks",
		"temporary_blocks", "peak_bytes",  "peak_blocks", "inexact"};
	char name[COLUMNS_NAME];

	for (unsigned column = 0; column < CALL_STACK_COLUMNS; column++) {
		for (uint32_t i = 0; i < profile->stack_count; i++)
			values[i] = stack_value(&profile->stacks[i], column);
		columns_add(of->columns, column_name(of, names[column], name), values,
			    profile->stack_count);
	}
	for (uint32_t i = 0; of->is_mapped && i < profile->stack_count; i++)
		values[i] = profile->resident[i];
	if (of->is_mapped)
		columns_add(of->columns, column_name(of, "resident_bytes", name), values,
			    profile->stack_count);
}

/* Where the call stacks are in the tree. */
static void add_places(const struct column_of *of, const struct call_tree *tree, uint64_t *values)
{
	const struct side *side = of->side;
	const struct profile *profile = side->report->profile;
	char name[COLUMNS_NAME];

	for (uint32_t i = 0; i < profile->stack_count; i++)
		values[i] = tree->order[side->stacks.nodes[i]];
	columns_add(of->columns, column_name(of, "node", name), values, profile->stack_count);
	columns_add_small(of->columns, column_name(of, "site", name), side->stacks.sites,
			  profile->stack_count);
}

static uint64_t sample_value(const struct profile_sample *sample, unsigned column)
{
	switch (column) {
	case 0:
		return sample->time_ns;
	case 1:
		return sample->live_bytes;
	case 2:
		return sample->alloc_bytes;
	default:
		return sample->gap;
	}
}

/* Of series i the samples end at series_end[i]; they begin where those before them end. */
static bool add_series(const struct column_of *of)
{
	const struct profile *profile = of->side->report->profile;
	static const char *const names[SAMPLE_COLUMNS] = {"sample_time", "sample_live",
							  "sample_alloc", "sample_gap"};
	size_t samples = 0, at;
	uint64_t *values, *ends = calloc((size_t)profile->series_count + 1, 2 * sizeof(*ends));
	char name[COLUMNS_NAME];

	for (uint32_t i = 0; ends && i < profile->series_count; i++) {
		samples += profile->series[i].count;
		ends[i] = samples;
		ends[profile->series_count + i] = profile->series[i].stack;
	}
	values = calloc(samples + 1, sizeof(*values));
	for (unsigned column = 0; values && ends && column < SAMPLE_COLUMNS; column++) {
		at = 0;
		for (uint32_t i = 0; i < profile->series_count; i++)
			for (uint32_t j = 0; j < profile->series[i].count; j++)
				values[at++] = sample_value(&profile->series[i].samples[j], column);
		columns_add(of->columns, column_name(of, names[column], name), values, samples);
	}
	if (values && ends) {
		columns_add(of->columns, column_name(of, "series_end", name), ends,
			    profile->series_count);
		columns_add(of->columns, column_name(of, "series_stack", name),
			    ends + profile->series_count, profile->series_count);
	}
	free(values);
	free(ends);
	return values && ends;
}

static uint64_t point_value(const struct profile_point *point, unsigned column)
{
	switch (column) {
	case 0:
		return point->time_ns;
	case 1:
		return point->live_bytes;
	case 2:
		return point->alloc_bytes;
	case 3:
		return point->alloc_count;
	default:
		return point->rss_bytes;
	}
}

static bool add_points(const struct column_of *of)
{
	const struct profile *profile = of->side->report->profile;
	static const char *const names[POINT_COLUMNS] = {"point_time", "point_live", "point_alloc",
							 "point_count", "point_rss"};
	uint64_t *values = calloc((size_t)profile->point_count + 1, sizeof(*values));
	char name[COLUMNS_NAME];

	for (unsigned column = 0; values && column < POINT_COLUMNS; column++) {
		for (uint32_t i = 0; i < profile->point_count; i++)
			values[i] = point_value(&profile->points[i], column);
		columns_add(of->columns, column_name(of, names[column], name), values,
			    profile->point_count);
	}
	free(values);
	return values != NULL;
}

static bool add_columns(const struct column_of *of, const struct call_tree *tree)
{
	uint64_t *values = calloc((size_t)of->side->report->profile->stack_count + 1,
				  sizeof(*values));
	bool ok = values && add_series(of) && add_points(of);

	if (ok) {
		add_places(of, tree, values);
		add_counts(of, values);
	}
	free(values);
	return ok && !of->columns->failed;
}

bool side_columns(const struct side *side, unsigned number, const struct call_tree *tree,
		  struct columns *columns)
{
	struct column_of heap = {side, number, false, columns};
	struct column_of mapped = {side->mapped, number, true, columns};

	return add_columns(&heap, tree) && (!side->mapped || add_columns(&mapped, tree));
}

/* --- json ------------------------------------------------------------------------------------ */

/* Without control characters. */
static void put_text(struct json *json, const char *key, const char *text)
{
	char *clean = clean_text(text, "");

	json_key_string(json, key, clean ? clean : "");
	free(clean);
}

/* How far local time was from UTC when the process started: the page tells the times that the answer names. */
static int64_t utc_offset_s(const struct profile *profile)
{
	time_t start = (time_t)(profile->header.start_realtime_ns / 1000000000);
	struct tm local;

	return localtime_r(&start, &local) ? (int64_t)local.tm_gmtoff : 0;
}

static void put_process(const struct side *side, struct json *json)
{
	const struct profile *profile = side->report->profile;

	put_text(json, "label", side->label ? side->label : "");
	put_text(json, "program", profile->program_name);
	put_text(json, "program_path", profile->program);
	json_key_uint(json, "pid", profile->header.pid);
	json_key_uint(json, "start_realtime_ns", profile->header.start_realtime_ns);
	json_key_int(json, "utc_offset_s", utc_offset_s(profile));
	json_key_uint(json, "duration_ns", profile->duration_ns);
	json_key_uint(json, "interval_ns", profile->header.interval_ns);
	json_key_bool(json, "is_running", profile->is_live);
	json_key_uint(json, "sample_bytes", profile->header.sample_bytes);
	json_key_uint(json, "lifetime_sample", profile->header.lifetime_sample);
}

static void put_totals(const struct profile *profile, struct json *json)
{
	const struct profile_counts *totals = &profile->totals;

	json_key(json, "totals");
	json_object(json);
	json_key_uint(json, "live_bytes", profile_live_bytes(totals));
	json_key_uint(json, "live_blocks", profile_live_count(totals));
	json_key_uint(json, "alloc_bytes", totals->alloc_bytes);
	json_key_uint(json, "alloc_blocks", totals->alloc_count);
	json_key_uint(json, "temporary_blocks", totals->temporary_count);
	json_key_uint(json, "peak_bytes", export_peak(profile));
	json_key_uint(json, "peak_ns", export_peak_ns(profile));
	json_end(json);
}

/* null: the last state. */
static void put_moment(const struct side_moment *moment, struct json *json)
{
	json_key(json, "moment");
	if (!moment) {
		json_null(json);
		return;
	}
	json_object(json);
	json_key(json, "time_ns");
	if (moment->time_ns == DIFF_END)
		json_null(json);
	else
		json_uint(json, moment->time_ns);
	json_key_bool(json, "only_series", moment->only_series);
	json_key_uint(json, "live_bytes", moment->live_bytes);
	json_key_uint(json, "alloc_bytes", moment->alloc_bytes);
	json_end(json);
}

static void put_growth(const struct report *report, struct json *json)
{
	json_key(json, "growth");
	json_object(json);
	json_key_string(json, "kind", growth_word(&report->growth));
	json_key_uint(json, "since_ns", report->interval.since_ns);
	json_key_uint(json, "until_ns", report->interval.until_ns);
	json_end(json);
}

static void put_marks(const struct profile *profile, struct json *json)
{
	json_key(json, "marks");
	json_array(json);
	for (uint32_t i = 0; i < profile->mark_count; i++) {
		json_object(json);
		json_key_uint(json, "time_ns", profile->marks[i].time_ns);
		put_text(json, "text", profile->marks[i].text);
		json_end(json);
	}
	json_end(json);
}

static void put_threads(const struct profile *profile, struct json *json)
{
	json_key(json, "threads");
	json_array(json);
	for (uint32_t i = 0; i < profile->thread_count; i++) {
		const struct profile_thread *thread = &profile->threads[i];

		json_object(json);
		put_text(json, "name", thread->name);
		json_key_uint(json, "tid", thread->tid);
		json_key_uint(json, "owners", thread->owners);
		json_key_uint(json, "level", thread->level);
		json_counts(json, &thread->counts);
		json_key_uint(json, "temporary_blocks", thread->counts.temporary_count);
		json_end(json);
	}
	json_end(json);
}

/* The site with the most in a class, as in a sentence. */
static void put_most(const struct report *report, const struct histogram *histogram, unsigned class,
		     struct json *json)
{
	char *text = NULL;
	size_t size = 0;
	FILE *file = histogram->most[class] ? open_memstream(&text, &size) : NULL;

	if (file) {
		struct name name = name_of_place(report, histogram->place[class]);

		name_in_text(report, &name, file);
		fclose(file);
	}
	json_string(json, text ? text : "");
	free(text);
}

static void put_histogram(const struct report *report, const char *key, histogram_counts *of,
			  struct json *json)
{
	struct histogram histogram;

	json_key(json, key);
	json_object(json);
	if (histogram_sum(report, of, &histogram)) {
		json_key(json, "counts");
		json_array(json);
		for (unsigned i = 0; i < FORMAT_CLASSES; i++)
			json_uint(json, histogram.counts[i]);
		json_end(json);
		json_key(json, "sites");
		json_array(json);
		for (unsigned i = 0; i < FORMAT_CLASSES; i++)
			put_most(report, &histogram, i, json);
		json_end(json);
	}
	json_end(json);
}

static void put_rss_line(struct json *json, const char *what, int64_t bytes)
{
	json_object(json);
	json_key_string(json, "what", what);
	json_key_int(json, "bytes", bytes);
	json_end(json);
}

/* What is there of one part; of what the program mapped what is known by call stack is a line of its own. */
static void put_rss_part(struct json *json, const struct waterfall_result *lines,
			 enum format_rss_line line)
{
	uint64_t part = lines->lines[line];

	if (line == FORMAT_RSS_MAPPED && lines->known) {
		uint64_t known = lines->known < part ? lines->known : part;

		put_rss_line(json, "mapped by the program itself (mmap)", (int64_t)known);
		part -= known;
	}
	if (part)
		put_rss_line(json, rss_words_line(line), (int64_t)part);
}

/* The parts of the resident set, and the cause in words; null: not known.  As `pmem report --rss` has it. */
static void put_rss(const struct side *side, struct json *json)
{
	const struct rss *rss = side->rss;
	char *text = NULL;
	size_t size;
	FILE *file;

	json_key(json, "rss");
	file = rss ? open_memstream(&text, &size) : NULL;
	if (!file) {
		json_null(json);
		return;
	}
	rss_words_print(side->report->profile, rss, file);
	fclose(file);
	json_object(json);
	json_key_string(json, "words", text);
	json_key_uint(json, "total", rss->lines.total);
	json_key(json, "lines");
	json_array(json);
	for (int line = 0; line < FORMAT_RSS_KINDS; line++)
		put_rss_part(json, &rss->lines, (enum format_rss_line)line);
	if (waterfall_unexplained(&rss->lines) != 0)
		put_rss_line(json,
			     waterfall_unexplained(&rss->lines) > 0 ? "unexplained"
								    : "counted twice",
			     waterfall_unexplained(&rss->lines));
	json_end(json);
	json_end(json);
	free(text);
}

/* As `pmem report --json` has them; when most was mapped is not known. */
static void put_mapped_totals(const struct profile *mapped, struct json *json)
{
	const _Atomic uint64_t *measured = &mapped->header.rss.time_ns;

	json_key(json, "totals");
	json_object(json);
	json_key_uint(json, "live_bytes", profile_live_bytes(&mapped->totals));
	json_key_uint(json, "alloc_bytes", mapped->totals.alloc_bytes);
	json_key_uint(json, "alloc_blocks", mapped->totals.alloc_count);
	json_key_uint(json, "peak_bytes",
		      atomic_load_explicit(&mapped->header.peak_bytes, memory_order_relaxed));
	json_key(json, "peak_ns");
	json_null(json);
	json_end(json);
	json_key_bool(json, "is_measured",
		      atomic_load_explicit(measured, memory_order_relaxed) != 0);
}

/* null: it maps nothing. */
static void put_mapped(const struct side *mapped, struct json *json)
{
	json_key(json, "mapped");
	if (!mapped) {
		json_null(json);
		return;
	}
	json_object(json);
	put_mapped_totals(mapped->report->profile, json);
	put_growth(mapped->report, json);
	side_verdicts_json(mapped->report, mapped->stacks.sites, json);
	json_end(json);
}

void side_json(const struct side *side, struct json *json)
{
	const struct report *report = side->report;

	json_object(json);
	put_process(side, json);
	put_totals(report->profile, json);
	put_moment(side->moment, json);
	put_growth(report, json);
	side_verdicts_json(report, side->stacks.sites, json);
	put_marks(report->profile, json);
	put_threads(report->profile, json);
	put_histogram(report, "sizes", profile_sizes, json);
	put_histogram(report, "lifetimes", profile_lifetimes, json);
	put_rss(side, json);
	put_mapped(side->mapped, json);
	json_end(json);
}
