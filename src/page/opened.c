/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * opened.c - see opened.h.
 */
#include "page/opened.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

bool opened_add(struct opened *opened, struct profile *profile, const struct opened_how *how,
		struct error *err)
{
	unsigned side = opened->page.side_count++;
	struct report *report = &opened->reports[side];

	/* All names are shown: as of data, they are looked up together. */
	opened->options = (struct report_options){.view = "json", .key = SITES_KEYS};
	opened->out = (struct output){.file = stdout, .width = WIDTH};
	opened->profiles[side] = profile;
	*report = (struct report){
		.profile = profile, .options = &opened->options, .out = &opened->out};
	report->names = names_new_with(profile, how->symbols);
	opened->facts[side] = facts_of(profile, how);
	if (!report->names || !opened->facts[side])
		return error_set(err, "%s: no memory for names", profile->path);
	opened->page.sides[side] = (struct side){.report = report, .facts = opened->facts[side]};
	return report_open(report, err);
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

bool opened_compare(struct opened *opened, const char *const labels[HTML_SIDES], struct error *err)
{
	struct diff_page *diff = &opened->diff;

	opened->diff_options.report.key = SITES_LIVE;
	diff->options = &opened->diff_options;
	diff->out = &opened->out;
	for (unsigned side = 0; side < DIFF_SIDES; side++) {
		diff->sides[side].profile = opened->profiles[side];
		diff->sides[side].names = opened->reports[side].names;
		diff->times_ns[side] = DIFF_END;
	}
	if (!diff_page_open(diff, err))
		return false;
	for (unsigned side = 0; side < DIFF_SIDES; side++) {
		if (labels && !set_label(diff, side, labels[side], err))
			return false;
		opened->page.sides[side].label = diff->labels[side];
	}
	opened->page.diff = diff;
	return true;
}

void opened_close(struct opened *opened)
{
	diff_page_close(&opened->diff);
	for (unsigned side = 0; side < HTML_SIDES; side++) {
		report_close(&opened->reports[side]);
		names_free(opened->reports[side].names);
		if (opened->profiles[side])
			profile_close(opened->profiles[side]);
		free(opened->facts[side]);
	}
	*opened = (struct opened){0};
}
