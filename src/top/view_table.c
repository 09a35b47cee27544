/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * view_table.c - the lines of the table.
 */
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "profile/inner_name.h"
#include "report/name.h"
#include "report/page.h"
#include "report/stack.h"
#include "top/view.h"

enum { INDENT = 2, FRAMES_AT = 20, WHERE_MIN = 20, INLINED_COLUMNS = 12, TIMES_COLUMNS = 18 };

void view_table_head(struct view *view, const struct top *top)
{
	struct columns columns;
	char text[UNITS_SIZE];

	columns_choose(view->width, top->sort, &columns);
	for (unsigned i = 0; i < columns.count; i++)
		fprintf(view->file, "%*s ", (int)columns_width(columns.items[i]),
			columns_title(columns.items[i], &top->rows.query, text));
	fputs(rows_group_name(top->group), view->file);
	view_line(view, VIEW_HEAD);
}

/* A line of the table while it is written. */
struct writing {
	struct view *view;
	const struct top *top;
	struct columns columns;
};

static void put_values(const struct writing *writing, const int64_t values[ROWS_COLUMNS])
{
	const struct columns *columns = &writing->columns;
	char text[UNITS_SIZE];

	for (unsigned i = 0; i < columns->count; i++)
		fprintf(writing->view->file, "%*s ", (int)columns_width(columns->items[i]),
			columns_text(columns->items[i], &writing->top->rows.query,
				     values[columns->items[i]], text));
}

static unsigned room_after(const struct writing *writing, unsigned used)
{
	used += writing->columns.width;
	return writing->view->width > used ? writing->view->width - used : 1;
}

static void put_module(const struct writing *writing, const struct rows_row *row)
{
	const struct top *top = writing->top;
	const char *path = row->group == ROWS_NONE ? NULL
						   : top->report.profile->modules[row->group].path;

	if (!path)
		path = "[no module]";
	page_cut(&top->out, path[0] ? path_last_part(path) : "[anonymous]",
		 room_after(writing, INDENT));
}

/* Without a line: of a function there are many, on a narrow screen there is no room. */
static void put_function(const struct writing *writing, const struct name *name)
{
	const struct top *top = writing->top;
	char *function = name_function(&top->report, name);

	name_cut(&top->out, function ? function : "?", room_after(writing, INDENT));
	free(function);
}

/* Whether there is more to see, and whether the figures are estimates. */
static void put_marker(const struct writing *writing, const struct lines_line *line, char exactness)
{
	char more = writing->view->is_plain ? ' ' : line->open ? '-' : '+';

	fprintf(writing->view->file, "%c%c", more, exactness);
}

static void put_row(const struct writing *writing, const struct lines_line *line)
{
	const struct top *top = writing->top;
	const struct rows_row *row = &top->rows.items[line->row];
	struct name name;

	put_values(writing, row->values);
	put_marker(writing, line, row->inexact ? '~' : ' ');
	if (top->group == ROWS_MODULES) {
		put_module(writing, row);
		return;
	}
	name = name_of_place(&top->report, row->group);
	if (top->group == ROWS_FUNCTIONS || room_after(writing, INDENT) < WHERE_MIN)
		put_function(writing, &name);
	else
		name_line(&top->report, &name, writing->columns.width + INDENT);
}

enum callers_form { CALLERS_FULL, CALLERS_SHORT };

/* Short: without scopes and template arguments. */
static void put_caller(char *function, enum callers_form form, FILE *file)
{
	static const char arguments[] = "<...>";
	const char *rest = function, *inner;
	size_t length = strlen(function), size = sizeof(arguments) - 1;

	if (form == CALLERS_SHORT && length > size &&
	    strcmp(function + length - size, arguments) == 0)
		function[length - size] = '\0';
	while (form == CALLERS_SHORT && (inner = inner_name(rest)))
		rest = inner;
	fputs(rest, file);
}

/* "malloc by handle, main": who is on the stack beyond the site. */
static void put_callers(const struct top *top, uint32_t stack, enum callers_form form, FILE *file)
{
	const struct profile_stack *from = &top->report.profile->stacks[stack];
	uint32_t first = top->group == ROWS_SITES;
	struct stack_lines frames;

	fputs(from->hook == FORMAT_NO_HOOK ? "call stack" : profile_hook_name(from->hook), file);
	if (!stack_lines_find(&top->report, stack, &frames))
		return;
	for (uint32_t i = first; i < frames.count; i++) {
		char *function = name_function(&top->report, &frames.items[i].name);

		fputs(i == first ? " by " : ", ", file);
		if (function)
			put_caller(function, form, file);
		free(function);
	}
	stack_lines_free(&frames);
}

/* To be freed; NULL: no memory. */
static char *callers_of(const struct top *top, uint32_t stack, enum callers_form form)
{
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	if (!file)
		return NULL;
	put_callers(top, stack, form, file);
	fclose(file);
	return text;
}

static void put_stack(const struct writing *writing, const struct lines_line *line)
{
	const struct top *top = writing->top;
	unsigned room = room_after(writing, 2 * INDENT);
	int64_t values[ROWS_COLUMNS];
	char *text;

	rows_values(&top->rows.query, line->stack, values);
	put_values(writing, values);
	fprintf(writing->view->file, "%*s", INDENT, "");
	put_marker(writing, line, top->report.profile->stacks[line->stack].inexact ? '~' : ' ');
	text = callers_of(top, line->stack, CALLERS_FULL);
	if (text && output_columns(text) > room) {
		free(text);
		text = callers_of(top, line->stack, CALLERS_SHORT);
	}
	page_cut(&top->out, text ? text : "?", room);
	free(text);
}

/* Frames have no figures, and long names: they begin further left. */
static unsigned frames_at(const struct writing *writing)
{
	unsigned at = writing->columns.width + 2 * INDENT;

	return at < FRAMES_AT ? at : FRAMES_AT;
}

static void put_frame(const struct writing *writing, const struct lines_line *line)
{
	const struct stack_line *frame = &line->frame;
	FILE *file = writing->view->file;
	unsigned used = frames_at(writing);

	fprintf(file, "%*s", (int)used, "");
	used += frame->name.symbol->inlined ? INLINED_COLUMNS : 0;
	used += frame->times > 1 ? TIMES_COLUMNS : 0;
	name_line(&writing->top->report, &frame->name, used);
	if (frame->name.symbol->inlined)
		fputs("  (inlined)", file);
	if (frame->times > 1)
		fprintf(file, "  (%u times)", frame->times);
}

static void put_note(const struct writing *writing, const struct lines_line *line)
{
	char number[UNITS_SIZE];

	units_count(line->count, number);
	if (line->kind == LINES_HIDDEN)
		fprintf(writing->view->file,
			"%*s... %s frame%s of the runtime hidden, the key a shows %s",
			(int)frames_at(writing), "", number, line->count == 1 ? "" : "s",
			line->count == 1 ? "it" : "them");
	else
		fprintf(writing->view->file, "%*s... %s other call stack%s",
			(int)(writing->columns.width + INDENT), "", number,
			line->count == 1 ? "" : "s");
}

static void put_line(const struct writing *writing, const struct lines_line *line)
{
	switch (line->kind) {
	case LINES_ROW:
		put_row(writing, line);
		break;
	case LINES_STACK:
		put_stack(writing, line);
		break;
	case LINES_FRAME:
		put_frame(writing, line);
		break;
	default:
		put_note(writing, line);
	}
}

void view_table(struct view *view, struct top *top, enum view_style selected)
{
	struct writing writing = {.view = view, .top = top};
	uint32_t last = top->first + top->height;

	columns_choose(view->width, top->sort, &writing.columns);
	for (uint32_t i = top->first; i < last && i < top->lines.count; i++) {
		const struct lines_line *line = &top->lines.items[i];
		enum view_style style = line->kind == LINES_ROW || line->kind == LINES_STACK
						? VIEW_PLAIN
						: VIEW_DIM;

		put_line(&writing, line);
		view_line(view, i == top->selected ? selected : style);
	}
	if (!top->lines.count) {
		fputs(top->filter[0]		       ? "  Nothing matches the filter."
		      : top->report.profile->is_mapped ? "  The program mapped no memory itself."
						       : "  No allocation was recorded.",
		      view->file);
		view_line(view, VIEW_DIM);
	}
}

void view_table_rest(struct view *view, const struct top *top)
{
	struct writing writing = {.view = view, .top = top};
	uint32_t shown = top->height < top->rows.count ? top->height : top->rows.count;
	uint32_t more = top->rows.count - shown;
	int64_t rest[ROWS_COLUMNS];
	char number[UNITS_SIZE];

	if (!more)
		return;
	memcpy(rest, top->rows.totals, sizeof(rest));
	for (uint32_t i = 0; i < shown; i++)
		for (unsigned column = 0; column < ROWS_COLUMNS; column++)
			rest[column] = (int64_t)((uint64_t)rest[column] -
						 (uint64_t)top->rows.items[i].values[column]);
	columns_choose(view->width, top->sort, &writing.columns);
	put_values(&writing, rest);
	fprintf(view->file, "  in %s other %s%s", units_count(more, number),
		rows_group_name(top->group), more == 1 ? "" : "s");
	view_line(view, VIEW_PLAIN);
}
