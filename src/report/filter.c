/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * filter.c - which call stacks --focus and --ignore leave.
 */
#include "report/filter.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

enum mark { KNOWN = 1, FOCUS = 2, IGNORE = 4 };

bool filter_matches(const char *pattern, const char *text)
{
	if (!text)
		return false;
	if (strpbrk(pattern, "*?["))
		return fnmatch(pattern, text, 0) == 0;
	return strstr(text, pattern) != NULL;
}

static bool module_matches(const char *pattern, const struct profile_module *module)
{
	const char *name = strrchr(module->path, '/');

	return filter_matches(pattern, module->path) || (name && filter_matches(pattern, name + 1));
}

static bool location_matches(const struct report *report, uint32_t location, const char *pattern)
{
	const struct profile_location *at = &report->profile->locations[location];
	const struct symbol *found;
	size_t count = names_at(report->names, location, &found), i;

	for (i = 0; i < count; i++)
		if (filter_matches(pattern, found[i].function) ||
		    filter_matches(pattern, found[i].raw_name))
			return true;
	return !at->special && module_matches(pattern, &report->profile->modules[at->module]);
}

static unsigned char marks_of(const struct report *report, uint32_t location)
{
	const struct report_options *options = report->options;
	unsigned char marks = KNOWN;
	unsigned i;

	for (i = 0; i < options->focus_count; i++)
		if (location_matches(report, location, options->focus[i]))
			marks |= FOCUS;
	for (i = 0; i < options->ignore_count; i++)
		if (location_matches(report, location, options->ignore[i]))
			marks |= IGNORE;
	return marks;
}

/* known: marks by location. */
static bool is_selected(const struct report *report, const struct profile_stack *stack,
			unsigned char *known)
{
	const struct profile_node *nodes = report->profile->nodes;
	unsigned char marks = report->options->focus_count ? 0 : FOCUS;
	uint32_t node;

	for (node = stack->node; node != 0; node = nodes[node].parent) {
		uint32_t location = nodes[node].location;

		if (!known[location])
			known[location] = marks_of(report, location);
		marks |= known[location];
	}
	return (marks & FOCUS) && !(marks & IGNORE);
}

bool filter_select(struct report *report, struct error *err)
{
	const struct profile *profile = report->profile;
	unsigned char *known;
	uint32_t i;

	if (!report->options->focus_count && !report->options->ignore_count)
		return true;
	known = calloc(profile->location_count ? profile->location_count : 1, 1);
	report->selected = calloc(profile->stack_count ? profile->stack_count : 1,
				  sizeof(*report->selected));
	if (!known || !report->selected) {
		free(known);
		return error_set(err, "no memory for %u call stacks", profile->stack_count);
	}
	for (i = 0; i < profile->stack_count; i++)
		report->selected[i] = is_selected(report, &profile->stacks[i], known);
	free(known);
	return true;
}
