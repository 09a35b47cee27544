/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * maps.c - a line reader for /proc/self/maps, see maps.h and proc(5).
 *
 * The kernel returns whole lines from each read(), so a line that does not end in the buffer is
 * longer than the buffer and its path is cut.
 */
#include "libpmem/maps.h"

#include <string.h>

#include "libpmem/sys.h"

enum { BUFFER_SIZE = 16384 };

struct line {
	uintptr_t start;
	uintptr_t end;
	uint64_t offset;
	uint64_t inode;
	const char *path; /* not terminated */
	size_t path_size;
};

static uint64_t parse_number(const char **at, const char *end, unsigned base)
{
	uint64_t value = 0;
	unsigned digit;

	for (; *at < end; ++*at) {
		digit = (unsigned char)**at;
		digit = digit >= 'a' ? digit - 'a' + 10 : digit - '0';
		if (digit >= base)
			break;
		value = value * base + digit;
	}
	return value;
}

/* Past the next blank. */
static const char *skip_word(const char *at, const char *end)
{
	while (at < end && *at != ' ')
		at++;
	return at < end ? at + 1 : end;
}

/* start-end perms offset dev inode path */
static void parse_line(const char *at, const char *end, struct line *line)
{
	line->start = parse_number(&at, end, 16);
	at += at < end;
	line->end = parse_number(&at, end, 16);
	at = skip_word(skip_word(at, end), end);
	line->offset = parse_number(&at, end, 16);
	at = skip_word(skip_word(at, end), end);
	line->inode = parse_number(&at, end, 10);
	while (at < end && *at == ' ')
		at++;
	line->path = at;
	line->path_size = (size_t)(end - at);
}

static bool is_object(const struct line *line)
{
	return line->inode || (line->path_size == 6 && memcmp(line->path, "[vdso]", 6) == 0);
}

/* State of the search: the object that the lines so far belong to. */
struct search {
	uintptr_t addr;
	uint64_t inode;
	bool found; /* addr lies in the object */
	struct maps_object *object;
};

static void begin_object(struct search *search, const struct line *line)
{
	size_t size = line->path_size < MAPS_PATH_MAX - 1 ? line->path_size : MAPS_PATH_MAX - 1;

	search->inode = line->inode;
	search->object->start = line->start;
	memcpy(search->object->path, line->path, size);
	search->object->path[size] = 0;
}

/* Takes one line in.  Returns true when the search is over. */
static bool take_line(struct search *search, const struct line *line)
{
	if (search->found && (!is_object(line) || line->inode != search->inode || !line->offset))
		return !(line->path_size == 0 && line->inode == 0 &&
			 line->start == search->object->end);
	if (!is_object(line))
		return line->start > search->addr;
	if (!line->offset || line->inode != search->inode)
		begin_object(search, line);
	search->object->end = line->end;
	search->found = search->found || (line->start <= search->addr && search->addr < line->end);
	return !search->found && line->start > search->addr;
}

static bool search_buffer(struct search *search, const char *buffer, size_t size)
{
	const char *end = buffer + size, *newline;
	struct line line;

	while (buffer < end) {
		newline = memchr(buffer, '\n', (size_t)(end - buffer));
		newline = newline ? newline : end;
		parse_line(buffer, newline, &line);
		if (take_line(search, &line))
			return true;
		buffer = newline + 1;
	}
	return false;
}

bool maps_find(uintptr_t addr, struct maps_object *object)
{
	struct search search = {.addr = addr, .object = object};
	int fd = sys_openat(AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
	char *buffer;
	ssize_t size;

	if (fd < 0)
		return false;
	buffer = sys_map(BUFFER_SIZE);
	while (buffer && ((size = sys_read(fd, buffer, BUFFER_SIZE)) > 0 || size == -EINTR))
		if (size > 0 && search_buffer(&search, buffer, (size_t)size))
			break;
	if (buffer)
		sys_unmap(buffer, BUFFER_SIZE);
	sys_close(fd);
	return search.found;
}
