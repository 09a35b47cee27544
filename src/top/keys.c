/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * keys.c - what keys do.  view.c's help says it to the user; doc/man/pmem-top.1.scd too.
 */
#include <string.h>

#include "top/top.h"

static const uint64_t intervals_ms[] = {100, 250, 500, 1000, 2000, 5000, 10000, 30000, 60000};

enum { INTERVALS = sizeof(intervals_ms) / sizeof(intervals_ms[0]) };

#define MS_NS UINT64_C(1000000)

static void shorten_interval(struct top *top)
{
	for (unsigned i = INTERVALS; i > 0; i--) {
		if (intervals_ms[i - 1] * MS_NS < top->interval_ns) {
			top->interval_ns = intervals_ms[i - 1] * MS_NS;
			return;
		}
	}
}

static void lengthen_interval(struct top *top)
{
	for (unsigned i = 0; i < INTERVALS; i++) {
		if (intervals_ms[i] * MS_NS > top->interval_ns) {
			top->interval_ns = intervals_ms[i] * MS_NS;
			return;
		}
	}
}

/* --- the filter ------------------------------------------------------------------------------ */

static void drop_character(char *text)
{
	size_t length = strlen(text);

	/* The bytes that continue a character of UTF-8. */
	while (length > 0 && ((unsigned char)text[length - 1] & 0xc0) == 0x80)
		length--;
	text[length > 0 ? length - 1 : 0] = '\0';
}

static void type(struct top *top, int key)
{
	size_t length = strlen(top->filter);

	switch (key) {
	case TOP_KEY_ESCAPE:
		top->filter[0] = '\0';
		top->is_typing = false;
		break;
	case TOP_KEY_ENTER:
		top->is_typing = false;
		break;
	case TOP_KEY_BACKSPACE:
		drop_character(top->filter);
		break;
	default:
		if (key < 0x20 || key == 0x7f || key > 0xff || length + 1 >= TOP_FILTER_SIZE)
			break;
		top->filter[length] = (char)key;
		top->filter[length + 1] = '\0';
	}
}

/* --- the selection --------------------------------------------------------------------------- */

static const struct lines_line *selected_line(const struct top *top)
{
	return top->selected < top->lines.count ? &top->lines.items[top->selected] : NULL;
}

static void select_line(struct top *top, uint64_t index)
{
	uint32_t count = top->lines.count;

	top->selected = index < count ? (uint32_t)index : count ? count - 1 : 0;
	top->selected_key = count ? top->lines.items[top->selected].key : 0;
}

static void move_by(struct top *top, int64_t lines)
{
	int64_t to = (int64_t)top->selected + lines;

	select_line(top, to > 0 ? (uint64_t)to : 0);
}

static bool can_open(const struct lines_line *line)
{
	return line->kind == LINES_ROW || line->kind == LINES_STACK;
}

static void toggle(struct top *top)
{
	const struct lines_line *line = selected_line(top);

	if (!line || !can_open(line))
		return;
	lines_toggle(&top->open, line->key);
	top->selected_key = line->key;
}

static void expand(struct top *top)
{
	const struct lines_line *line = selected_line(top);

	if (line && can_open(line) && !line->open)
		toggle(top);
}

/* What is selected, or what it belongs to. */
static void collapse(struct top *top)
{
	const struct lines_line *line = selected_line(top);

	if (!line)
		return;
	if (line->open) {
		toggle(top);
	} else if (line->above) {
		top->selected_key = line->above;
		if (lines_is_open(&top->open, line->above))
			lines_toggle(&top->open, line->above);
	}
}

static void move(struct top *top, int key)
{
	int64_t page = top->height > 1 ? (int64_t)top->height - 1 : 1;

	switch (key) {
	case TOP_KEY_UP:
	case 'k':
		move_by(top, -1);
		break;
	case TOP_KEY_DOWN:
	case 'j':
		move_by(top, 1);
		break;
	case TOP_KEY_PAGE_UP:
		move_by(top, -page);
		break;
	case TOP_KEY_PAGE_DOWN:
		move_by(top, page);
		break;
	case TOP_KEY_END:
		select_line(top, UINT32_MAX);
		break;
	case TOP_KEY_HOME:
		/* The first line, whatever comes to stand there. */
		top->selected = 0;
		top->selected_key = 0;
		break;
	case TOP_KEY_ENTER:
	case ' ':
		toggle(top);
		break;
	case TOP_KEY_RIGHT:
		expand(top);
		break;
	case TOP_KEY_LEFT:
		collapse(top);
		break;
	case 'x':
		lines_close_all(&top->open);
		break;
	}
}

/* --- what is shown --------------------------------------------------------------------------- */

static void sort_by(struct top *top, enum rows_column column)
{
	top->sort = column;
	top->order = ROWS_LARGEST_FIRST;
}

static bool choose_column(struct top *top, int key)
{
	static const char keys[] = {
		[ROWS_LIVE] = 'L',   [ROWS_GROWTH] = 'G',    [ROWS_CHURN] = 'C',
		[ROWS_BLOCKS] = 'B', [ROWS_ALLOCATED] = 'A', [ROWS_TEMPORARY] = 'T',
	};
	const char *found = key > 0 && key < 0x80 ? memchr(keys, key, sizeof(keys)) : NULL;

	if (found)
		sort_by(top, (enum rows_column)(found - keys));
	else if (key == '<')
		sort_by(top, (enum rows_column)((top->sort + ROWS_COLUMNS - 1) % ROWS_COLUMNS));
	else if (key == '>')
		sort_by(top, (enum rows_column)((top->sort + 1) % ROWS_COLUMNS));
	else if (key == 'r')
		top->order = top->order == ROWS_LARGEST_FIRST ? ROWS_SMALLEST_FIRST
							      : ROWS_LARGEST_FIRST;
	else
		return false;
	return true;
}

static bool change_view(struct top *top, int key)
{
	switch (key) {
	case 'a':
		top->report_options.all_frames = !top->report_options.all_frames;
		break;
	case 'g':
		top->group = (enum rows_group)((top->group + 1) % ROWS_GROUPS);
		lines_close_all(&top->open);
		top->selected_key = 0;
		break;
	case '/':
	case 'f':
		top->is_typing = true;
		break;
	case TOP_KEY_ESCAPE:
		top->filter[0] = '\0';
		break;
	case 'm':
		if (top->now.time_ns)
			moment_copy(&top->mark, &top->now);
		break;
	case 'M':
		moment_end(&top->mark);
		break;
	default:
		return false;
	}
	return true;
}

static enum top_wish control(struct top *top, int key)
{
	switch (key) {
	case 'q':
		return TOP_QUIT;
	case 'p':
		top->is_paused = !top->is_paused;
		return top->is_paused ? TOP_GO_ON : TOP_READ_NOW;
	case 'u':
		return TOP_READ_NOW;
	case 'v':
		top_switch(top);
		return TOP_READ_NOW;
	case '+':
	case '=': /* the same key without Shift */
		lengthen_interval(top);
		break;
	case '-':
		shorten_interval(top);
		break;
	case 'h':
	case '?':
		top->is_help = true;
		break;
	default:
		if (!choose_column(top, key) && !change_view(top, key))
			move(top, key);
	}
	return TOP_GO_ON;
}

enum top_wish top_key(struct top *top, int key)
{
	if (key == TOP_KEY_RESIZE || key == TOP_KEY_NONE)
		return TOP_GO_ON;
	if (top->is_typing) {
		type(top, key);
		return TOP_GO_ON;
	}
	if (top->is_help) {
		top->is_help = false;
		return TOP_GO_ON;
	}
	return control(top, key);
}
