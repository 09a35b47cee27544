/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * match.c - which call stacks a filter leaves.
 *
 * Call stacks share their outer frames: each node is asked once.
 */
#include "top/match.h"

#include <stdlib.h>
#include <string.h>

#include "base/path.h"

enum answer { UNKNOWN, NO, YES };

struct match {
	const struct report *report;
	const char *text;
	uint8_t *locations; /* enum answer, by index */
	uint8_t *nodes;	    /* of a node and its callers */
	uint32_t *path;	    /* nodes whose answer is that of the one where the search ended */
};

static bool has(const struct match *match, const char *name)
{
	return name && strcasestr(name, match->text);
}

static bool location_has(const struct match *match, uint32_t location)
{
	const struct profile *profile = match->report->profile;
	const struct profile_location *at = &profile->locations[location];
	const struct symbol *symbol = names_at_fast(match->report->names, location);

	return has(match, symbol->function) || has(match, symbol->raw_name) ||
	       (!at->special && has(match, path_last_part(profile->modules[at->module].path)));
}

static bool site_has(const struct match *match, uint32_t stack)
{
	const struct report *report = match->report;
	uint32_t number = report->sites->of_stack[stack];
	const struct symbol *symbol;

	if (number == SITES_NONE)
		return false;
	symbol = places_get(report->places, number)->symbol;
	return has(match, symbol->function) ||
	       (symbol->file && has(match, path_last_part(symbol->file)));
}

static bool ask_location(const struct match *match, uint32_t location)
{
	if (match->locations[location] == UNKNOWN)
		match->locations[location] = location_has(match, location) ? YES : NO;
	return match->locations[location] == YES;
}

/* From a node outwards, to the first that has the text or whose answer is known. */
static bool path_has(const struct match *match, uint32_t node)
{
	const struct profile_node *nodes = match->report->profile->nodes;
	enum answer answer = NO;
	size_t count = 0;

	for (; node != 0 && answer == NO; node = nodes[node].parent) {
		if (match->nodes[node] != UNKNOWN) {
			answer = (enum answer)match->nodes[node];
			break;
		}
		match->path[count++] = node;
		if (ask_location(match, nodes[node].location))
			answer = YES;
	}
	while (count > 0)
		match->nodes[match->path[--count]] = (uint8_t)answer;
	return answer == YES;
}

bool *match_stacks(const struct report *report, const char *text)
{
	const struct profile *profile = report->profile;
	struct match match = {.report = report, .text = text};
	bool *found = calloc((size_t)profile->stack_count + 1, sizeof(*found));

	match.locations = calloc((size_t)profile->location_count + 1, 1);
	match.nodes = calloc((size_t)profile->node_count + 1, 1);
	match.path = malloc(((size_t)profile->node_count + 1) * sizeof(*match.path));
	if (!found || !match.locations || !match.nodes || !match.path) {
		free(found);
		found = NULL;
	}
	for (uint32_t i = 0; found && i < profile->stack_count; i++)
		found[i] = path_has(&match, profile->stacks[i].node) || site_has(&match, i);
	free(match.locations);
	free(match.nodes);
	free(match.path);
	return found;
}
