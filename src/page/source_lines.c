/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * source_lines.c - the source lines around places.
 *
 * Files come in the order of their most important place, each is read once.  The file may have been changed since the program was
 * built: nothing tells.  So the line's number is always there to compare.
 */
#include "page/source_lines.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "export/clean.h"
#include "profile/given_names.h"
#include "profile/source_file.h"

#define READ_MAX ((uint64_t)256 << 20) /* bytes of files that are looked through */
#define ELLIPSIS "\xe2\x80\xa6"

enum { TAB = 4, RUN_FIELDS = 3 };

struct collected {
	const struct source_lines_from *from;
	bool reads_files;
	struct source_file file;
	char *text;
	size_t size;
	uint32_t *runs[RUN_FIELDS]; /* number of the file, first line, count */
	uint32_t run_count;
	uint32_t run_room;
	bool is_full;
	bool failed; /* no memory */
};

/* --- text ------------------------------------------------------------------------------------ */

static char *without_tabs(const char *line)
{
	char *copy = malloc(TAB * strlen(line) + 1), *at = copy;

	for (; copy && *line; line++) {
		unsigned blanks = *line == '\t' ? TAB : 0;

		memset(at, ' ', blanks);
		at += blanks;
		if (!blanks)
			*at++ = *line;
	}
	if (copy)
		*at = '\0';
	return copy;
}

/* No longer than the limit, and never a part of a character. */
static void cut(char *line)
{
	size_t length = 0;

	if (strlen(line) <= SOURCE_LINES_WIDTH)
		return;
	while (length + utf8_length(line + length) <= SOURCE_LINES_WIDTH - strlen(ELLIPSIS))
		length += utf8_length(line + length);
	strcpy(line + length, ELLIPSIS);
}

/* As a page can have it, to be freed; NULL: no memory. */
static char *safe_line(const char *line)
{
	char *plain = without_tabs(line), *safe = plain ? clean_text(plain, "") : NULL;

	free(plain);
	if (safe)
		cut(safe);
	return safe;
}

/* --- runs ------------------------------------------------------------------------------------ */

static bool grow_runs(struct collected *collected)
{
	uint32_t room = collected->run_room ? collected->run_room * 2 : 64;

	for (unsigned i = 0; i < RUN_FIELDS; i++) {
		uint32_t *grown = realloc(collected->runs[i], room * sizeof(*grown));

		if (!grown)
			return false;
		collected->runs[i] = grown;
	}
	collected->run_room = room;
	return true;
}

/* The line follows the one before, or begins a run. */
static bool count_line(struct collected *collected, uint32_t number, uint32_t line)
{
	uint32_t last = collected->run_count - 1, *const *runs = collected->runs;

	if (collected->run_count && runs[0][last] == number &&
	    runs[1][last] + runs[2][last] == line) {
		runs[2][last]++;
		return true;
	}
	if (collected->run_count == collected->run_room && !grow_runs(collected))
		return false;
	runs = collected->runs;
	runs[0][++last] = number;
	runs[1][last] = line;
	runs[2][last] = 1;
	collected->run_count++;
	return true;
}

static void put_line(struct collected *collected, const struct source_lines_place *place,
		     const char *line)
{
	char *safe = safe_line(line);
	size_t length = safe ? strlen(safe) : 0;

	collected->is_full = collected->size + length + 1 > SOURCE_LINES_TEXT;
	if (!safe)
		collected->failed = true;
	if (safe && !collected->is_full) {
		memcpy(collected->text + collected->size, safe, length);
		collected->text[collected->size + length] = '\n';
		collected->size += length + 1;
		collected->failed |= !count_line(collected, place->number, place->line);
	}
	free(safe);
}

/* --- lines ----------------------------------------------------------------------------------- */

static const char *given_line(const struct collected *collected, const struct source_lines_place *at)
{
	const char *line = NULL;

	for (unsigned i = 0; !line && i < collected->from->count; i++)
		line = given_names_line(collected->from->profiles[i], at->file, at->line);
	return line;
}

/* NULL: the file has none.  Lines come in order. */
static const char *read_line(struct collected *collected, const struct source_lines_place *at)
{
	struct source_file *file = &collected->file;

	if (!collected->reads_files || file->read > READ_MAX)
		return NULL;
	source_file_open(file, at->file);
	while (file->line < at->line)
		if (!source_file_next(file))
			return NULL;
	return file->line == at->line ? file->text : NULL;
}

/* The lines around a place that are behind *done, the last one that is there. */
static void put_around(struct collected *collected, const struct source_lines_place *place,
		       uint32_t *done)
{
	struct source_lines_place at = *place;
	uint32_t first = place->line > SOURCE_LINES_AROUND ? place->line - SOURCE_LINES_AROUND : 1;

	for (at.line = first > *done ? first : *done + 1;
	     at.line <= place->line + SOURCE_LINES_AROUND; at.line++) {
		const char *line = given_line(collected, &at);

		line = line ? line : read_line(collected, &at);
		if (line && !collected->is_full && !collected->failed)
			put_line(collected, &at, line);
		*done = at.line;
	}
}

/* --- order ----------------------------------------------------------------------------------- */

static int by_number(const void *left, const void *right)
{
	const uint32_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

static void put_file(struct collected *collected, const struct source_lines_place *place,
		     uint32_t *lines, uint32_t count)
{
	struct source_lines_place at = *place;
	uint32_t done = 0;

	if (count > 1)
		qsort(lines, count, sizeof(*lines), by_number);
	for (uint32_t i = 0; i < count; i++) {
		at.line = lines[i];
		put_around(collected, &at, &done);
	}
}

/* The file of the place at first with all its places, which are taken out: their line is 0 then. */
static void take_file(struct collected *collected, struct source_lines_place *places,
		      uint32_t count, uint32_t *lines)
{
	struct source_lines_place first = places[0];
	uint32_t found = 0;

	for (uint32_t i = 0; i < count; i++) {
		if (places[i].number != first.number)
			continue;
		if (places[i].line && places[i].line <= INT32_MAX)
			lines[found++] = places[i].line;
		places[i].line = 0;
	}
	put_file(collected, &first, lines, found);
}

static void collect(struct collected *collected, struct source_lines_place *places, uint32_t count)
{
	uint32_t *lines = calloc((size_t)count + 1, sizeof(*lines));

	collected->text = malloc(SOURCE_LINES_TEXT);
	collected->failed = !lines || !collected->text || !grow_runs(collected);
	for (uint32_t i = 0; i < count && !collected->failed && !collected->is_full; i++)
		if (places[i].line)
			take_file(collected, places + i, count - i, lines);
	free(lines);
}

bool source_lines_columns(const struct source_lines_from *from, struct source_lines_place *places,
			  uint32_t count, struct columns *columns)
{
	static const char *const names[RUN_FIELDS] = {"source_file", "source_first", "source_count"};
	struct collected collected = {.from = from, .reads_files = true};

	for (unsigned i = 0; i < from->count; i++)
		if (given_names_all(from->profiles[i]))
			collected.reads_files = false;
	collect(&collected, places, count);
	if (!collected.failed) {
		columns_add_bytes(columns, "source_text", collected.text, collected.size);
		for (unsigned i = 0; i < RUN_FIELDS; i++)
			columns_add_small(columns, names[i], collected.runs[i], collected.run_count);
	}
	source_file_close(&collected.file);
	free(collected.text);
	for (unsigned i = 0; i < RUN_FIELDS; i++)
		free(collected.runs[i]);
	return !collected.failed && !columns->failed;
}
