/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * smaps.c - see smaps.h.
 */
#include "core/smaps.h"

#include <string.h>

enum { KIB = 1024 };

static bool fill(struct smaps_reader *reader)
{
	long got = reader->read(reader->context, reader->buffer, sizeof(reader->buffer));

	reader->failed |= got < 0;
	reader->at = 0;
	reader->filled = got > 0 ? (size_t)got : 0;
	return got > 0;
}

/* The next line into reader->line, without its end.  False: there is none. */
static bool read_line(struct smaps_reader *reader)
{
	size_t length = 0;
	char c;

	if (reader->at == reader->filled && !fill(reader))
		return false;
	for (;;) {
		if (reader->at == reader->filled && !fill(reader))
			break;
		c = reader->buffer[reader->at++];
		if (c == '\n')
			break;
		if (length < sizeof(reader->line) - 1)
			reader->line[length++] = c;
	}
	reader->line[length] = 0;
	return !reader->failed;
}

static const char *parse_hex(const char *at, uint64_t *number)
{
	uint64_t value = 0;

	for (;; at++) {
		if (*at >= '0' && *at <= '9')
			value = value << 4 | (uint64_t)(*at - '0');
		else if (*at >= 'a' && *at <= 'f')
			value = value << 4 | (uint64_t)(*at - 'a' + 10);
		else
			break;
	}
	*number = value;
	return at;
}

static const char *skip_blanks(const char *at)
{
	while (*at == ' ')
		at++;
	return at;
}

/* "start-end rwxp offset device inode  path".  False: it is no such line, but one of a mapping's fields. */
static bool parse_head(const char *line, struct smaps_mapping *mapping)
{
	uint64_t start, end;
	const char *at = parse_hex(line, &start);

	if (at == line || *at != '-')
		return false;
	at = parse_hex(at + 1, &end);
	if (at[0] != ' ' || strnlen(at, 6) < 6)
		return false;
	memset(mapping, 0, sizeof(*mapping));
	mapping->start = start;
	mapping->end = end;
	mapping->flags = (at[1] == 'r' ? SMAPS_READABLE : 0) | (at[2] == 'w' ? SMAPS_WRITABLE : 0) |
			 (at[3] == 'x' ? SMAPS_EXECUTABLE : 0) | (at[4] == 's' ? SMAPS_SHARED : 0);
	at += 5;
	for (int field = 0; field < 3; field++) {
		at = skip_blanks(at);
		at += strcspn(at, " ");
	}
	at = skip_blanks(at);
	memcpy(mapping->path, at, strlen(at) + 1);
	return true;
}

/* "Name:   12 kB", in bytes. */
static uint64_t parse_size(const char *line)
{
	const char *at = skip_blanks(strchr(line, ':') + 1);
	uint64_t value = 0;

	for (; *at >= '0' && *at <= '9'; at++)
		value = value * 10 + (uint64_t)(*at - '0');
	return value * KIB;
}

static void parse_flags(const char *line, struct smaps_mapping *mapping)
{
	const char *at = strchr(line, ':') + 1;

	while (at[0] == ' ' && at[1] && at[2]) {
		if (memcmp(at, " nr", 3) == 0)
			mapping->flags |= SMAPS_NORESERVE;
		else if (memcmp(at, " rr", 3) == 0)
			mapping->flags |= SMAPS_RANDOM;
		at += 3;
	}
}

static bool has_name(const char *line, const char *name)
{
	return strncmp(line, name, strlen(name)) == 0;
}

static void parse_field(const char *line, struct smaps_mapping *mapping)
{
	if (has_name(line, "Rss:"))
		mapping->rss = parse_size(line);
	else if (has_name(line, "Shared_Clean:") || has_name(line, "Shared_Dirty:"))
		mapping->shared += parse_size(line);
	else if (has_name(line, "Swap:"))
		mapping->swap = parse_size(line);
	else if (has_name(line, "VmFlags:"))
		parse_flags(line, mapping);
}

static bool is_head(const char *line)
{
	uint64_t ignored;
	const char *at = parse_hex(line, &ignored);

	return at != line && *at == '-';
}

bool smaps_next(struct smaps_reader *reader, struct smaps_mapping *mapping)
{
	if (!reader->has_next && !read_line(reader))
		return false;
	reader->has_next = false;
	if (!parse_head(reader->line, mapping)) {
		reader->failed = true;
		return false;
	}
	while (read_line(reader)) {
		reader->has_next = is_head(reader->line);
		if (reader->has_next)
			break;
		parse_field(reader->line, mapping);
	}
	return !reader->failed;
}

const char *smaps_name(const struct smaps_mapping *mapping)
{
	const char *slash = strrchr(mapping->path, '/');

	return slash ? slash + 1 : mapping->path;
}
