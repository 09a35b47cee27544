/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * branches.c - an indented tree of places with shares.
 */
#include "report/branches.h"

#include <stdlib.h>

#include "report/name.h"

enum { FIGURES = 20, ERROR = 8 };

struct group {
	struct branches_set set; /* a part of the level's twigs: not freed */
	int64_t value;
};

void branches_add(struct branches_set *set, const struct branches_twig *twig)
{
	if (set->count == set->capacity) {
		size_t capacity = set->capacity ? set->capacity * 2 : 64;
		struct branches_twig *items = realloc(set->items, capacity * sizeof(*items));

		if (!items) {
			set->failed = true;
			return;
		}
		set->items = items;
		set->capacity = capacity;
	}
	set->items[set->count++] = *twig;
}

static uint32_t location_of(const struct branches *branches, uint32_t node)
{
	return branches->report->profile->nodes[node].location;
}

uint32_t branches_functions(const struct branches *branches, uint32_t node)
{
	const struct symbol *found;

	return (uint32_t)names_at(branches->report->names, location_of(branches, node), &found);
}

static bool is_hidden(const struct branches *branches, uint32_t location, uint32_t function)
{
	const struct report *report = branches->report;
	uint32_t place = places_find(report->places, location);

	if (report->options->all_frames)
		return false;
	/* A whole location is own: its shown function is, whatever its name alone would say. */
	if (function == names_shown(report->names, location))
		return !places_get(report->places, place)->own &&
		       report->sites->of_place[place] == SITES_NONE;
	return !names_is_own_function(report->names, location, function);
}

bool branches_step(const struct branches *branches, uint32_t from, uint32_t function,
		   struct branches_twig *twig)
{
	struct places *places = branches->report->places;
	uint32_t location = location_of(branches, twig->node);

	if (is_hidden(branches, location, function))
		return false;
	twig->function = function;
	twig->place = places_find_function(places, location, function);
	return from == BRANCHES_ROOT || !places_same_function(places, twig->place, from);
}

static int by_place(const void *left, const void *right)
{
	const struct branches_twig *a = left, *b = right;

	return (a->place > b->place) - (a->place < b->place);
}

static int by_value(const void *left, const void *right)
{
	const struct group *a = left, *b = right;

	if (a->value != b->value)
		return a->value < b->value ? 1 : -1;
	return (a->set.items > b->set.items) - (a->set.items < b->set.items);
}

/* Divides the twigs by place, largest group first; NULL: no memory. */
static struct group *divide(const struct branches *branches, struct branches_set *twigs,
			    size_t *count)
{
	struct group *groups = calloc(twigs->count ? twigs->count : 1, sizeof(*groups));
	size_t i, n = 0;

	if (!groups)
		return NULL;
	for (i = 0; i < twigs->count; i++)
		twigs->items[i].place = places_settled(branches->report->places,
						       twigs->items[i].place);
	if (twigs->count)
		qsort(twigs->items, twigs->count, sizeof(*twigs->items), by_place);
	for (i = 0; i < twigs->count; i++) {
		if (n == 0 || groups[n - 1].set.items[0].place != twigs->items[i].place)
			groups[n++].set.items = &twigs->items[i];
		groups[n - 1].set.count++;
		groups[n - 1].value += twigs->items[i].value;
	}
	qsort(groups, n, sizeof(*groups), by_value);
	*count = n;
	return groups;
}

static void print_line(const struct branches *branches, const struct group *group, unsigned indent)
{
	const struct report *report = branches->report;
	struct name name = name_of_place(report, group->set.items[0].place);
	char share[UNITS_SIZE], value[UNITS_SIZE], error[UNITS_SIZE];
	unsigned most = report->out->width / 2, figures = FIGURES;

	indent = indent < most ? indent : most;
	fprintf(report->out->file, "%6s  %10s  ",
		units_share((uint64_t)group->value, (uint64_t)branches->total, share),
		report_value(report, report->key, group->value, value));
	if (report_error(report, report->key, group->value, error)[0]) {
		fprintf(report->out->file, "+-%-6s", error);
		figures += ERROR;
	}
	fprintf(report->out->file, "%*s", (int)indent, "");
	name_line(report, &name, figures + indent);
	fputc('\n', report->out->file);
}

/* Below a hundredth, and what shrinks. */
static bool is_small(const struct branches *branches, const struct group *group)
{
	return group->value <= 0 || group->value < branches->total / 100;
}

static bool print_level(struct branches *branches, const struct branches_set *from, unsigned indent)
{
	struct branches_set further = {0};
	struct group *groups;
	size_t count = 0, shown, i;
	bool ok = true;

	branches->expand(branches, from, &further);
	groups = divide(branches, &further, &count);
	for (shown = 0; shown < count && !is_small(branches, &groups[shown]); shown++)
		;
	branches->cut += (unsigned)(count - shown);
	for (i = 0; groups && ok && i < shown; i++) {
		if (branches->lines == 0) {
			branches->cut += (unsigned)(shown - i);
			break;
		}
		branches->lines--;
		print_line(branches, &groups[i], indent);
		ok = print_level(branches, &groups[i].set, indent + 1);
	}
	ok = ok && groups && !further.failed;
	free(groups);
	free(further.items);
	return ok;
}

bool branches_print(struct branches *branches, const struct branches_set *from, struct error *err)
{
	if (!print_level(branches, from, 0))
		return error_set(err, "no memory for a tree of %u nodes",
				 branches->report->profile->node_count);
	return true;
}
