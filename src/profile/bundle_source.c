/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bundle_source.c - see bundle_source.h.
 */
#include "profile/bundle_source.h"

#include <stdlib.h>
#include <string.h>

#include "profile/source_file.h"

enum {
	AROUND = 5,
	ITEMS_START = 256,
};

/* Lines of one file that follow one another. */
struct range {
	const char *file;
	uint32_t first;
	uint32_t last;
};

void bundle_source_add(struct bundle_source *source, const char *file, uint32_t line)
{
	if (source->failed || !file || line == 0 || line > INT32_MAX)
		return;
	if (source->count == source->room) {
		size_t room = source->room ? source->room * 2 : ITEMS_START;
		struct bundle_source_line *grown = realloc(source->items, room * sizeof(*grown));

		source->failed = !grown;
		if (!grown)
			return;
		source->items = grown;
		source->room = room;
	}
	source->items[source->count++] = (struct bundle_source_line){file, line};
}

void bundle_source_free(struct bundle_source *source)
{
	free(source->items);
	*source = (struct bundle_source){0};
}

static int compare(const void *left, const void *right)
{
	const struct bundle_source_line *a = left, *b = right;
	int order = a->file == b->file ? 0 : strcmp(a->file, b->file);

	return order ? order : (a->line > b->line) - (a->line < b->line);
}

/* The lines around the item at *next and around those that lie so near that nothing is between; moves *next behind them. */
static struct range next_range(const struct bundle_source *source, size_t *next)
{
	const struct bundle_source_line *item = &source->items[*next];
	struct range range = {item->file, item->line > AROUND ? item->line - AROUND : 1, 0};

	while (*next < source->count) {
		item = &source->items[*next];
		if (strcmp(item->file, range.file) != 0 ||
		    (range.last && item->line > range.last + AROUND + 1))
			break;
		range.last = item->line + AROUND;
		++*next;
	}
	return range;
}

/* Writes what the file has of the range.  Returns the number of lines. */
static uint32_t write_range(struct source_file *source, const struct range *range,
			    struct bundle_text *text, struct bundle_bytes *section)
{
	struct bundle_bytes lines = {0};
	uint32_t count = 0;

	source_file_open(source, range->file);
	while (source->line + 1 < range->first && source_file_next(source))
		;
	while (source->line < range->last && source_file_next(source)) {
		bundle_bytes_number(&lines, bundle_text_add(text, source->text));
		count++;
	}
	if (count > 0) {
		bundle_bytes_number(section, bundle_text_add(text, range->file));
		bundle_bytes_number(section, range->first);
		bundle_bytes_number(section, count);
		bundle_bytes_add(section, lines.bytes, lines.size);
		section->failed |= lines.failed;
	}
	bundle_bytes_free(&lines);
	return count;
}

uint64_t bundle_source_write(struct bundle_source *source, struct bundle_text *text,
			     struct bundle_bytes *section)
{
	struct bundle_bytes ranges = {0};
	struct source_file file = {0};
	uint64_t lines = 0, count = 0;
	size_t next = 0;

	if (source->count > 1)
		qsort(source->items, source->count, sizeof(*source->items), compare);
	while (next < source->count) {
		struct range range = next_range(source, &next);
		uint32_t written = write_range(&file, &range, text, &ranges);

		lines += written;
		count += written > 0;
	}
	bundle_bytes_number(section, count);
	bundle_bytes_add(section, ranges.bytes ? ranges.bytes : "", ranges.size);
	section->failed |= ranges.failed || source->failed;
	bundle_bytes_free(&ranges);
	source_file_close(&file);
	return lines;
}
