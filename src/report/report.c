/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report.c - the table of views, and what all of them share.
 */
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

#include "profile/when.h"
#include "profile/estimate.h"
#include "report/filter.h"

const struct report_view report_views[] = {
	{"summary", view_summary, false},
	{"tree", view_tree, false},
	{"callers", view_callers, false},
	{"leaks", view_leaks, false},
	{"peak", view_peak, false},
	{"sizes", view_sizes, false},
	{"lifetimes", view_lifetimes, false},
	{"threads", view_threads, false},
	{"rss", view_rss, false},
	{"mappings", view_mappings, false},
	{"pinned", view_pinned, false},
	{"advice", view_advice, false},
	{"json", view_json, true},
	{"csv", view_csv, true},
	{NULL, NULL, false},
};

const struct report_view *report_view_find(const char *name)
{
	const struct report_view *view;

	for (view = report_views; view->name; view++)
		if (strcmp(view->name, name) == 0)
			return view;
	return NULL;
}

bool report_has_interval(const struct report *report)
{
	return report->options->since || report->options->until;
}

/* Puts the option in front of what is wrong with it. */
static bool blame(const char *option, struct error *err)
{
	struct error reason = *err;

	return error_set(err, "%s %s", option, reason.text);
}

static bool read_interval(struct report *report, struct error *err)
{
	const struct report_options *options = report->options;

	report->asked = (struct growth_interval){0, report->profile->duration_ns};
	if (options->since &&
	    !when_parse(report->profile, options->since, &report->asked.since_ns, err))
		return blame("--since", err);
	if (options->until &&
	    !when_parse(report->profile, options->until, &report->asked.until_ns, err))
		return blame("--until", err);
	if (report->asked.since_ns > report->asked.until_ns)
		return error_set(err, "--since %s is later than --until %s", options->since,
				 options->until ? options->until : "");
	report->wanted = report->asked;
	report->asked.since_ns = growth_moment(report->profile, report->wanted.since_ns);
	report->asked.until_ns = growth_moment(report->profile, report->wanted.until_ns);
	return true;
}

/* Growth of the sites is measured over the time in which the process as a whole did what growth says. */
static void read_growth(struct report *report)
{
	growth_of_process(report->profile, &report->asked, &report->growth);
	report->interval = report->asked;
	if (!report_has_interval(report) && report->growth.kind != GROWTH_UNKNOWN)
		report->interval = (struct growth_interval){report->growth.since_ns,
							    report->growth.until_ns};
}

/* JSON looks at each call stack itself.  Source lines are shown with all that any site has in them. */
static bool wants_all_sites(const struct report *report)
{
	return report->options->top > SITES_EXACT_ROWS || report->options->source ||
	       strcmp(report->options->view, "csv") == 0;
}

/* Of every frame. */
static bool wants_all_names(const struct report *report)
{
	const struct report_options *options = report->options;
	const struct report_view *view = report_view_find(options->view);

	if (options->rss || options->pinned || options->advice)
		return false;
	return options->focus_count || options->ignore_count || (view && view->is_data);
}

bool report_open(struct report *report, struct error *err)
{
	struct sites_query query;

	report->places = places_new(report->profile, report->names);
	if (!report->places)
		return error_set(err, "no memory for %u locations", report->profile->location_count);
	if (wants_all_names(report))
		names_prepare(report->names, NULL);
	if (!read_interval(report, err) || !filter_select(report, err))
		return false;
	read_growth(report);
	query = (struct sites_query){
		.profile = report->profile,
		.names = report->names,
		.places = report->places,
		.selected = report->selected,
		.interval = report->interval,
		.only_interval = report_has_interval(report),
		.detail = wants_all_sites(report) ? SITES_ALL : SITES_LARGE,
	};
	if (!sites_build(&query, &report->sites, err))
		return false;
	if (report->options->key < SITES_KEYS)
		report_sort(report, report->options->key);
	else
		report_sort(report, report_has_interval(report) ? SITES_GROWTH : SITES_LIVE);
	return true;
}

bool report_find_verdicts(struct report *report, struct error *err)
{
	return verdicts_find(report->sites, &report->growth, &report->asked, &report->verdicts, err);
}

bool report_refuse_interval(const struct report *report, struct error *err)
{
	if (!report_has_interval(report))
		return true;
	return error_set(err,
			 "the timeline does not have what --%s shows: leave out --since and "
			 "--until",
			 report->options->view);
}

void report_close(struct report *report)
{
	verdicts_free(report->verdicts);
	sites_free(report->sites);
	places_free(report->places);
	free(report->selected);
	free(report->resident);
	report->resident = NULL;
	report->verdicts = NULL;
	report->sites = NULL;
	report->places = NULL;
	report->selected = NULL;
}

void report_sort(struct report *report, enum sites_key key)
{
	report->key = key;
	sites_sort(report->sites, key);
}

enum sites_key report_main_key(const struct report *report)
{
	const struct profile *profile = report->profile;
	uint64_t peak = atomic_load_explicit(&profile->header.peak_bytes, memory_order_relaxed);

	if (report->options->key < SITES_KEYS || report_has_interval(report))
		return report->key;
	if (!profile->is_live && profile_live_bytes(&profile->totals) < peak / 2)
		return SITES_PEAK;
	return SITES_LIVE;
}

const char *report_value(const struct report *report, enum sites_key key, int64_t value,
			 char text[UNITS_SIZE])
{
	switch (key) {
	case SITES_COUNT:
	case SITES_TEMPORARY:
		return units_count((uint64_t)value, text);
	case SITES_GROWTH:
		return units_bytes_change(growth_per_minute(value, &report->interval), text);
	case SITES_PEAK:
		return units_bytes(value > 0 ? (uint64_t)value : 0, text);
	default:
		return units_bytes((uint64_t)value, text);
	}
}

const char *report_growth(const struct report *report, const struct sites_counts *counts,
			  char text[UNITS_SIZE])
{
	const struct growth_interval measured = {0, counts->least_ns / 2 + counts->most_ns / 2};

	if (!counts->most_ns)
		return report->sites->query.only_interval
			       ? strcpy(text, "unknown")
			       : report_value(report, SITES_GROWTH, counts->growth, text);
	return units_bytes_change(growth_per_minute(counts->growth, &measured), text);
}

const char *report_bytes(const struct report *report, uint64_t bytes, char text[UNITS_SIZE])
{
	return estimate_bytes(bytes, report->profile->header.sample_bytes, text);
}

const char *report_error(const struct report *report, enum sites_key key, int64_t value,
			 char text[UNITS_SIZE])
{
	uint64_t mean = report->profile->header.sample_bytes, percent;

	text[0] = '\0';
	if (!mean || (key != SITES_LIVE && key != SITES_PEAK && key != SITES_ALLOC))
		return text;
	percent = estimate_percent(value > 0 ? (uint64_t)value : 0, mean);
	if (percent > 999)
		return strcpy(text, value > 0 ? ">999%" : "-");
	snprintf(text, UNITS_SIZE, "%u %%", (unsigned)percent);
	return text;
}

const char *report_key_words(enum sites_key key)
{
	static const char *const words[SITES_KEYS] = {
		[SITES_LIVE] = "live",
		[SITES_PEAK] = "the peak",
		[SITES_ALLOC] = "allocated bytes",
		[SITES_COUNT] = "calls",
		[SITES_TEMPORARY] = "temporary allocations",
		[SITES_GROWTH] = "the growth per minute",
	};

	return words[key];
}
