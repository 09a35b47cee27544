/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * opened.c - see opened.h.
 */
#include "page/opened.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/diff_moment.h"
#include "report/mappings.h"

enum { WIDTH = 80 };

/* The lines of `pmem info`, to be freed; NULL: no memory. */
static char *facts_of(const struct profile *profile, const struct opened_how *how)
{
	struct output out = {.width = WIDTH};
	char *text = NULL;
	size_t size;

	out.file = open_memstream(&text, &size);
	if (!out.file)
		return NULL;
	how->print_facts(profile, &out);
	fclose(out.file);
	return text;
}

static struct names *find_names(const struct profile *profile, const struct opened_how *how)
{
	return how->keeper ? how->keeper->take(how->keeper, profile)
			   : names_new_with(profile, how->symbols);
}

static const struct rss *find_rss(const struct profile *profile, const struct opened_how *how,
				  struct rss *rss)
{
	bool is_known = how->keeper ? how->keeper->rss(how->keeper, profile, rss)
				    : rss_of(profile, rss, &(struct error){""});

	return is_known ? rss : NULL;
}

/* What the program maps itself, beside its heap. */
static bool add_mapped(struct opened *opened, unsigned side, struct error *err)
{
	struct side *mapped = &opened->mapped_sides[side];

	if (!profile_maps(opened->profiles[side]))
		return true;
	*mapped = (struct side){.report = &opened->mapped_reports[side]};
	opened->page.sides[side].mapped = mapped;
	return mappings_open(&opened->reports[side], mapped->report, err);
}

/* A profile, and its names if they are there already. */
struct source {
	struct profile *profile;
	struct names *names;
};

static bool add(struct opened *opened, const struct source *source, const struct opened_how *how,
		struct error *err)
{
	struct profile *profile = source->profile;
	unsigned side = opened->page.side_count++;
	struct report *report = &opened->reports[side];

	/* All names are shown: as of data, they are looked up together. */
	opened->options = (struct report_options){
		.view = "json", .key = SITES_KEYS, .no_hints = true};
	opened->out = (struct output){.file = stdout, .width = WIDTH};
	opened->profiles[side] = profile;
	opened->keeper = how->keeper;
	*report = (struct report){
		.profile = profile, .options = &opened->options, .out = &opened->out};
	report->names = source->names ? source->names : find_names(profile, how);
	opened->facts[side] = facts_of(profile, how);
	if (!report->names || !opened->facts[side])
		return error_set(err, "%s: no memory for names", profile->path);
	opened->page.sides[side] = (struct side){
		.report = report,
		.facts = opened->facts[side],
		.rss = find_rss(profile, how, &opened->rss[side]),
	};
	return report_open(report, err) && add_mapped(opened, side, err);
}

bool opened_add(struct opened *opened, struct profile *profile, const struct opened_how *how,
		struct error *err)
{
	const struct source source = {profile, NULL};

	return add(opened, &source, how, err);
}

bool opened_add_again(struct opened *opened, const struct opened_how *how, struct error *err)
{
	const struct source source = {opened->profiles[0], opened->reports[0].names};

	return add(opened, &source, how, err);
}

static bool set_label(struct diff_page *diff, unsigned side, const char *label, struct error *err)
{
	char *copy = strdup(label);

	if (!copy)
		return error_set(err, "no memory for the names of two profiles");
	free(diff->labels[side]);
	diff->labels[side] = copy;
	return true;
}

static void set_moment(struct opened *opened, unsigned side)
{
	const struct diff *diff = opened->diff.diff;
	bool is_timed = diff_side_is_timed(&diff->query.sides[side]);

	opened->moments[side] = (struct side_moment){
		.time_ns = is_timed ? diff->query.sides[side].time_ns : DIFF_END,
		.only_series = diff_needs_series(diff, side),
		.live_bytes = diff->totals[side].live_bytes,
		.alloc_bytes = diff->totals[side].alloc_bytes,
	};
	opened->page.sides[side].moment = &opened->moments[side];
}

bool opened_compare(struct opened *opened, const char *const labels[HTML_SIDES], struct error *err)
{
	struct diff_page *diff = &opened->diff;

	opened->diff_options.report.key = SITES_LIVE;
	diff->options = &opened->diff_options;
	diff->out = &opened->out;
	for (unsigned side = 0; side < DIFF_SIDES; side++) {
		diff->sides[side].profile = opened->profiles[side];
		diff->sides[side].names = opened->reports[side].names;
		diff->times[side] = opened->times[side];
		if (!diff_moment_time(opened->profiles[side], opened->times[side],
				      &diff->times_ns[side], err))
			return false;
	}
	if (!diff_page_open(diff, err))
		return false;
	for (unsigned side = 0; side < DIFF_SIDES; side++) {
		if (labels && !set_label(diff, side, labels[side], err))
			return false;
		opened->page.sides[side].label = diff->labels[side];
		if (diff->diff->is_timed)
			set_moment(opened, side);
	}
	opened->page.diff = diff;
	return true;
}

void opened_close(struct opened *opened)
{
	diff_page_close(&opened->diff);
	for (unsigned side = 0; side < HTML_SIDES; side++) {
		report_close(&opened->reports[side]);
		report_close(&opened->mapped_reports[side]);
		free(opened->facts[side]);
	}
	for (unsigned side = 0; side < HTML_SIDES; side++) {
		if (side > 0 && opened->profiles[side] == opened->profiles[0])
			continue;
		if (opened->keeper && opened->reports[side].names)
			opened->keeper->give(opened->keeper, opened->reports[side].names,
					     opened->profiles[side]);
		else
			names_free(opened->reports[side].names);
		if (opened->profiles[side])
			profile_close(opened->profiles[side]);
	}
	*opened = (struct opened){0};
}
