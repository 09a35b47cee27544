/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bundle_source.c - see bundle_source.h.
 */
#include "profile/bundle_source.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	AROUND = 5,
	ITEMS_START = 256,
	LINE_SIZE_MAX = 1000,		  /* longer lines are cut */
	FILE_SIZE_MAX = 64 * 1024 * 1024, /* larger files are no source */
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

/* A regular file only: a profile may name any. */
static FILE *open_source(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat status;
	FILE *file;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size <= FILE_SIZE_MAX) {
		file = fdopen(fd, "r");
		if (file)
			return file;
	}
	close(fd);
	return NULL;
}

/* A file that is read line by line, and how far it was. */
struct opened {
	const char *path;
	FILE *file; /* NULL: cannot be read */
	uint32_t line;
	char *text;
	size_t size;
};

static bool next_line(struct opened *opened)
{
	ssize_t length = opened->file ? getline(&opened->text, &opened->size, opened->file) : -1;

	if (length < 0)
		return false;
	opened->line++;
	opened->text[strcspn(opened->text, "\r\n")] = '\0';
	if (strlen(opened->text) > LINE_SIZE_MAX)
		opened->text[LINE_SIZE_MAX] = '\0';
	return true;
}

static void open_next(struct opened *opened, const char *path)
{
	if (opened->path && strcmp(opened->path, path) == 0)
		return;
	if (opened->file)
		fclose(opened->file);
	opened->path = path;
	opened->file = open_source(path);
	opened->line = 0;
}

/* Writes what the file has of the range.  Returns the number of lines. */
static uint32_t write_range(struct opened *opened, const struct range *range,
			    struct bundle_text *text, struct bundle_bytes *section)
{
	struct bundle_bytes lines = {0};
	uint32_t count = 0;

	open_next(opened, range->file);
	while (opened->line + 1 < range->first && next_line(opened))
		;
	while (opened->line < range->last && next_line(opened)) {
		bundle_bytes_number(&lines, bundle_text_add(text, opened->text));
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
	struct opened opened = {0};
	uint64_t lines = 0, count = 0;
	size_t next = 0;

	if (source->count > 1)
		qsort(source->items, source->count, sizeof(*source->items), compare);
	while (next < source->count) {
		struct range range = next_range(source, &next);
		uint32_t written = write_range(&opened, &range, text, &ranges);

		lines += written;
		count += written > 0;
	}
	bundle_bytes_number(section, count);
	bundle_bytes_add(section, ranges.bytes ? ranges.bytes : "", ranges.size);
	section->failed |= ranges.failed || source->failed;
	bundle_bytes_free(&ranges);
	if (opened.file)
		fclose(opened.file);
	free(opened.text);
	return lines;
}
