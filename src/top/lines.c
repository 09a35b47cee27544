/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lines.c - what can be scrolled through.
 */
#include "top/lines.h"

#include <stdlib.h>

bool lines_is_open(const struct lines_open *open, uint64_t key)
{
	for (unsigned i = 0; i < open->count; i++)
		if (open->keys[i] == key)
			return true;
	return false;
}

void lines_toggle(struct lines_open *open, uint64_t key)
{
	uint64_t *grown;

	for (unsigned i = 0; i < open->count; i++) {
		if (open->keys[i] == key) {
			open->keys[i] = open->keys[--open->count];
			return;
		}
	}
	grown = realloc(open->keys, (open->count + 1) * sizeof(*grown));
	if (!grown)
		return;
	open->keys = grown;
	grown[open->count++] = key;
}

void lines_close_all(struct lines_open *open)
{
	free(open->keys);
	*open = (struct lines_open){.keys = NULL};
}

static bool add(struct lines *lines, const struct lines_line *line)
{
	uint32_t room = lines->room ? lines->room * 2 : 256;
	struct lines_line *grown;

	if (lines->count == lines->room) {
		grown = realloc(lines->items, room * sizeof(*grown));
		if (!grown)
			return false;
		lines->items = grown;
		lines->room = room;
	}
	lines->items[lines->count++] = *line;
	return true;
}

/* A number for what belongs to key. */
static uint64_t mix(uint64_t key, uint64_t number)
{
	uint64_t hash = (key ^ (number + 1) * UINT64_C(0x9e3779b97f4a7c15)) *
			UINT64_C(0xff51afd7ed558ccd);

	return hash ^ hash >> 31;
}

/* The frames of a call stack, and how many are hidden. */
static bool add_frames(struct lines *lines, const struct report *report,
		       const struct lines_line *stack)
{
	struct stack_lines frames;
	struct lines_line line = {.above = stack->key, .row = stack->row, .stack = stack->stack};
	bool done = stack_lines_find(report, stack->stack, &frames);

	if (!done)
		return false;
	for (uint32_t i = 0; done && i < frames.count; i++) {
		line.kind = LINES_FRAME;
		line.key = mix(stack->key, i);
		line.frame = frames.items[i];
		done = add(lines, &line);
	}
	line.kind = LINES_HIDDEN;
	line.key = mix(stack->key, UINT32_MAX);
	line.count = frames.hidden;
	if (done && frames.hidden)
		done = add(lines, &line);
	stack_lines_free(&frames);
	return done;
}

static bool add_stacks(struct lines *lines, const struct rows *rows, const struct lines_line *row,
		       const struct lines_open *open)
{
	const struct report *report = rows->query.report;
	uint32_t count, *stacks = rows_stacks(rows, row->row, &count);
	struct lines_line line = {.kind = LINES_STACK, .above = row->key, .row = row->row};
	bool done = stacks != NULL;

	for (uint32_t i = 0; done && i < count && i < LINES_STACKS; i++) {
		line.stack = stacks[i];
		line.key = mix(row->key, report->profile->stacks[stacks[i]].number);
		line.open = lines_is_open(open, line.key);
		done = add(lines, &line) && (!line.open || add_frames(lines, report, &line));
	}
	free(stacks);
	if (!done || count <= LINES_STACKS)
		return done;
	line = (struct lines_line){
		.kind = LINES_MORE,
		.key = mix(row->key, UINT32_MAX),
		.above = row->key,
		.row = row->row,
		.count = count - LINES_STACKS,
	};
	return add(lines, &line);
}

bool lines_build(struct lines *lines, const struct rows *rows, const struct lines_open *open)
{
	bool done = true;

	lines->count = 0;
	for (uint32_t i = 0; done && i < rows->count; i++) {
		struct lines_line line = {.kind = LINES_ROW, .key = rows->items[i].key, .row = i};

		line.open = lines_is_open(open, line.key);
		done = add(lines, &line) && (!line.open || add_stacks(lines, rows, &line, open));
	}
	if (!done)
		lines->count = 0;
	return done;
}

void lines_end(struct lines *lines)
{
	free(lines->items);
	*lines = (struct lines){.items = NULL};
}
