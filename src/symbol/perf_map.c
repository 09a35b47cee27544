/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * perf_map.c - see perf_map.h.
 *
 * Read by pread(2) in pieces: the file may grow, shrink or change meanwhile.
 */
#include "symbol/perf_map.h"

#include <stdlib.h>
#include <string.h>

enum { PIECE = 128 * 1024, LINE_MAX_SIZE = 64 + JIT_NAME_MAX };

#define FILE_MAX (UINT64_C(4) << 30)

struct map_line {
	uint64_t start;
	uint64_t size;
	const char *name;
	size_t length;
};

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* A number and the blank after it.  NULL: there is none, or it is too large. */
static const char *parse_number(const char *at, const char *end, uint64_t *value)
{
	const char *first;

	if (end - at > 2 && at[0] == '0' && at[1] == 'x')
		at += 2;
	first = at;
	for (*value = 0; at < end && digit(*at) >= 0; at++) {
		if (*value >> 60)
			return NULL;
		*value = *value << 4 | (uint64_t)digit(*at);
	}
	if (at == first || at == end || *at != ' ')
		return NULL;
	while (at < end && *at == ' ')
		at++;
	return at;
}

static bool parse_line(const char *at, size_t size, struct map_line *line)
{
	const char *end = at + size;

	at = parse_number(at, end, &line->start);
	at = at ? parse_number(at, end, &line->size) : NULL;
	if (!at)
		return false;
	while (end > at && (end[-1] == '\r' || end[-1] == ' '))
		end--;
	line->name = at;
	line->length = (size_t)(end - at);
	return line->length > 0 && !memchr(at, 0, line->length);
}

/* Notes what the complete lines in a piece of the file cover.  Returns their size. */
static size_t note_lines(struct jit_names *names, const char *piece, size_t size, uint64_t offset)
{
	const char *at = piece, *end;
	struct map_line line;

	while ((end = memchr(at, '\n', size - (size_t)(at - piece)))) {
		struct jit_record record = {.at = offset + (uint64_t)(at - piece) + 1};

		if (parse_line(at, (size_t)(end - at), &line)) {
			record.start = record.first = line.start;
			if (!jit_names_cover(names, line.size, &record))
				return 0;
		}
		at = end + 1;
	}
	return (size_t)(at - piece);
}

static void note_all(int fd, struct jit_names *names, char *piece)
{
	uint64_t offset = 0;
	size_t got, used;

	while (offset < FILE_MAX && (got = jit_names_read(fd, offset, piece, PIECE)) > 0) {
		used = note_lines(names, piece, got, offset);
		if (used == 0 && got < PIECE)
			return;
		/* Nothing ends in so many bytes: no map has such a line. */
		offset += used ? used : got;
	}
}

/* The line that an address was noted with. */
static void set_name(int fd, struct jit_names *names, struct jit_name *item, char *text)
{
	size_t size = jit_names_read(fd, item->record.at - 1, text, LINE_MAX_SIZE);
	const char *end = memchr(text, '\n', size);
	struct map_line line;

	if (end)
		size = (size_t)(end - text);
	if (parse_line(text, size, &line) && line.start == item->record.start)
		jit_names_set(names, item, line.name, line.length);
}

bool perf_map_read(int fd, struct jit_names *names)
{
	char *piece = malloc(PIECE);

	if (!piece)
		return false;
	for (size_t i = 0; i < names->count; i++)
		names->items[i].record = (struct jit_record){0};
	note_all(fd, names, piece);
	for (size_t i = 0; i < names->count; i++)
		if (names->items[i].record.at)
			set_name(fd, names, &names->items[i], piece);
	free(piece);
	return true;
}
