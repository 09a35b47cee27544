/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stack.c - one call stack on the screen.
 */
#include "report/stack.h"

#include <stdlib.h>

enum { INDENT = 4 };

static bool is_same(const struct report *report, const struct stack_line *line, uint32_t place,
		    const struct symbol *symbol)
{
	return !symbol->inlined && !line->name.symbol->inlined &&
	       places_same_function(report->places, line->place, place);
}

/* Adds the functions of a location. */
static void add(const struct report *report, uint32_t location, struct stack_lines *lines)
{
	uint32_t place = places_find(report->places, location);
	const struct symbol *found;
	size_t count = names_at(report->names, location, &found), i;

	if (!lines->all && !places_get(report->places, place)->own) {
		lines->hidden++;
		return;
	}
	for (i = 0; i < count; i++) {
		struct stack_line *last = lines->count ? &lines->items[lines->count - 1] : NULL;

		if (!lines->all && !names_is_own_function(report->names, location, i)) {
			lines->hidden++;
			continue;
		}
		if (count == 1 && last && is_same(report, last, place, &found[i]))
			last->times++;
		else
			lines->items[lines->count++] = (struct stack_line){
				{location, &found[i]}, place, 1};
	}
}

/* The most lines that a call stack can take. */
static size_t lines_max(const struct report *report, uint32_t node)
{
	const struct profile_node *nodes = report->profile->nodes;
	size_t count = 1;

	for (; node != 0; node = nodes[node].parent) {
		const struct symbol *found;

		count += names_at(report->names, nodes[node].location, &found);
	}
	return count;
}

static void add_all(const struct report *report, uint32_t node, struct stack_lines *lines)
{
	const struct profile_node *nodes = report->profile->nodes;

	lines->count = 0;
	lines->hidden = 0;
	for (; node != 0; node = nodes[node].parent)
		add(report, nodes[node].location, lines);
}

/* A call stack that has frames of libraries only is shown with them. */
bool stack_lines_find(const struct report *report, uint32_t stack, struct stack_lines *lines)
{
	uint32_t node = report->profile->stacks[stack].node;

	*lines = (struct stack_lines){.all = report->options->all_frames};
	lines->items = calloc(lines_max(report, node), sizeof(*lines->items));
	if (!lines->items)
		return false;
	add_all(report, node, lines);
	if (!lines->count) {
		lines->all = true;
		add_all(report, node, lines);
	}
	return true;
}

void stack_lines_free(struct stack_lines *lines)
{
	free(lines->items);
	*lines = (struct stack_lines){.items = NULL};
}

static void print_line(const struct report *report, const struct stack_line *line)
{
	FILE *file = report->out->file;
	unsigned used = INDENT;

	fprintf(file, "%*s", INDENT, "");
	if (line->times > 1)
		used += 20;
	if (line->name.symbol->inlined)
		used += 12;
	name_line(report, &line->name, used);
	if (line->name.symbol->inlined)
		fputs("  (inlined)", file);
	if (line->times > 1)
		fprintf(file, "  (%u times)", line->times);
	fputc('\n', file);
}

static void print_omitted(const struct report *report, uint32_t more, uint32_t hidden)
{
	FILE *file = report->out->file;

	if (!more && !hidden)
		return;
	fprintf(file, "%*s... ", INDENT, "");
	if (more)
		fprintf(file, "%u more%s", more, hidden ? ", " : "; --all-frames shows them");
	if (hidden)
		fprintf(file, "%u frame%s of the runtime hidden, --all-frames shows %s", hidden,
			hidden == 1 ? "" : "s", hidden + more == 1 ? "it" : "them");
	fputc('\n', file);
}

void stack_print(const struct report *report, uint32_t stack, unsigned lines)
{
	struct stack_lines all;
	uint32_t shown, i;

	if (!stack_lines_find(report, stack, &all))
		return;
	shown = all.count;
	if (lines && !report->options->all_frames && shown + (all.hidden > 0) > lines)
		shown = lines > 1 ? lines - 1 : 1;
	for (i = 0; i < shown && i < all.count; i++)
		print_line(report, &all.items[i]);
	print_omitted(report, all.count > shown ? all.count - shown : 0, all.hidden);
	stack_lines_free(&all);
}
