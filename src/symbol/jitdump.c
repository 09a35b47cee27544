/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * jitdump.c - see jitdump.h.
 *
 * Read by pread(2) record by record, without the code in it: the file may grow, shrink or change meanwhile.  Nothing in it is
 * trusted.
 */
#include "symbol/jitdump.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/cursor.h"

enum {
	MAGIC = 0x4a695444,
	HEADER_SIZE = 40,
	PREFIX_SIZE = 16,
	LOAD_SIZE = PREFIX_SIZE + 40, /* without name and code */
	MOVE_SIZE = PREFIX_SIZE + 48,
	LINES_SIZE = PREFIX_SIZE + 16, /* without entries */
	LINES_MAX = 16 * 1024 * 1024,
	MOVABLE_MAX = 4 * 1024 * 1024, /* functions that are remembered for their moves */
	LOADS_START = 1024,
};

enum { RECORD_LOAD, RECORD_MOVE, RECORD_LINES };

#define LINES_TOTAL_MAX (UINT64_C(1) << 30) /* bytes read for lines */

struct load {
	uint64_t index;
	struct jit_record record;
};

struct dump {
	int fd;
	uint64_t size;
	struct jit_names *names;
	struct load *loads; /* by index */
	size_t load_count;
	size_t load_room;
	uint64_t lines_of; /* the function that the latest lines are of */
	uint64_t lines_at; /* their record's offset, plus 1; 0 = none */
	/* While names are set: */
	uint8_t *lines; /* the record that was read last */
	size_t lines_size;
	uint64_t lines_read_at;
	uint64_t lines_left;
};

struct prefix {
	uint32_t id;
	uint32_t size; /* of the whole record */
};

static size_t read_at(const struct dump *dump, uint64_t offset, void *bytes, size_t size)
{
	return jit_names_read(dump->fd, offset, bytes, size);
}

/* Where the first record begins; 0: this is no log. */
static uint64_t read_header(const struct dump *dump)
{
	uint8_t bytes[HEADER_SIZE];
	struct cursor c;
	uint32_t magic, version, size;

	if (read_at(dump, 0, bytes, sizeof(bytes)) != sizeof(bytes))
		return 0;
	c = cursor_make(bytes, sizeof(bytes));
	magic = cursor_u32(&c);
	version = cursor_u32(&c);
	size = cursor_u32(&c);
	return magic == MAGIC && version == 1 && size >= HEADER_SIZE ? size : 0;
}

/* Remembers a function for its moves.  Logs number them in ascending order; others cannot be found. */
static bool remember(struct dump *dump, const struct load *load)
{
	if (dump->load_count > 0 && dump->loads[dump->load_count - 1].index >= load->index)
		return true;
	if (dump->load_count == MOVABLE_MAX)
		return true;
	if (dump->load_count == dump->load_room) {
		size_t room = dump->load_room ? dump->load_room * 2 : LOADS_START;
		struct load *grown = realloc(dump->loads, room * sizeof(*grown));

		if (!grown)
			return false;
		dump->loads = grown;
		dump->load_room = room;
	}
	dump->loads[dump->load_count++] = *load;
	return true;
}

static int compare_loads(const void *key, const void *item)
{
	uint64_t index = *(const uint64_t *)key;
	const struct load *load = item;

	return (index > load->index) - (index < load->index);
}

/* False: no memory, or enough of it. */
static bool note_load(struct dump *dump, struct cursor *c, uint64_t at)
{
	struct load load = {.record.at = at + 1};
	uint64_t size;

	cursor_bytes(c, 16); /* pid, tid, vma */
	load.record.start = load.record.first = cursor_u64(c);
	size = cursor_u64(c);
	load.index = cursor_u64(c);
	if (c->failed)
		return true;
	if (dump->lines_at && dump->lines_of == load.record.start)
		load.record.lines = dump->lines_at;
	dump->lines_at = 0;
	return remember(dump, &load) && jit_names_cover(dump->names, size, &load.record);
}

static bool note_move(struct dump *dump, struct cursor *c)
{
	struct jit_record record;
	uint64_t start, size, index;
	const struct load *load;

	cursor_bytes(c, 24); /* pid, tid, vma, old address */
	start = cursor_u64(c);
	size = cursor_u64(c);
	index = cursor_u64(c);
	if (c->failed || dump->load_count == 0 || !jit_names_wants(dump->names, start, size))
		return true;
	load = bsearch(&index, dump->loads, dump->load_count, sizeof(*load), compare_loads);
	if (!load)
		return true;
	record = load->record;
	record.start = start;
	return jit_names_cover(dump->names, size, &record);
}

static void note_lines(struct dump *dump, struct cursor *c, uint64_t at)
{
	dump->lines_of = cursor_u64(c);
	dump->lines_at = c->failed ? 0 : at + 1;
}

/* The record at an offset.  False: there is no complete one. */
static bool read_prefix(const struct dump *dump, uint64_t at, struct prefix *prefix)
{
	uint8_t bytes[PREFIX_SIZE];
	struct cursor c;

	if (at > dump->size || dump->size - at < sizeof(bytes) ||
	    read_at(dump, at, bytes, sizeof(bytes)) != sizeof(bytes))
		return false;
	c = cursor_make(bytes, sizeof(bytes));
	prefix->id = cursor_u32(&c);
	prefix->size = cursor_u32(&c);
	return prefix->size >= PREFIX_SIZE && prefix->size <= dump->size - at;
}

static bool note_all(struct dump *dump, uint64_t at)
{
	uint8_t bytes[MOVE_SIZE - PREFIX_SIZE];
	struct prefix prefix;
	bool more = true;

	for (; more && read_prefix(dump, at, &prefix); at += prefix.size) {
		size_t size = prefix.size - PREFIX_SIZE;
		struct cursor c;

		if (prefix.id > RECORD_LINES)
			continue;
		size = read_at(dump, at + PREFIX_SIZE, bytes,
			       size < sizeof(bytes) ? size : sizeof(bytes));
		c = cursor_make(bytes, size);
		if (prefix.id == RECORD_LOAD)
			more = note_load(dump, &c, at);
		else if (prefix.id == RECORD_MOVE)
			more = note_move(dump, &c);
		else
			note_lines(dump, &c, at);
	}
	return more || dump->names->left == 0;
}

/* --- names ----------------------------------------------------------------------------------- */

/* The record of lines at an offset, its entries only.  False: it is not there. */
static bool read_lines(struct dump *dump, uint64_t at)
{
	struct prefix prefix;
	size_t size;

	if (dump->lines && dump->lines_read_at == at)
		return true;
	free(dump->lines);
	dump->lines = NULL;
	if (!read_prefix(dump, at, &prefix) || prefix.id != RECORD_LINES ||
	    prefix.size < LINES_SIZE || prefix.size > LINES_MAX || prefix.size > dump->lines_left)
		return false;
	dump->lines_left -= prefix.size;
	size = prefix.size - LINES_SIZE;
	dump->lines = malloc(size + 1);
	if (!dump->lines)
		return false;
	dump->lines_size = read_at(dump, at + LINES_SIZE, dump->lines, size);
	dump->lines_read_at = at;
	return true;
}

struct line_entry {
	uint64_t address;
	uint32_t line;
	const char *file;
};

/* The next entry.  A file named "\xff" is that of the entry before. */
static bool next_entry(struct cursor *c, struct line_entry *entry)
{
	const char *file;

	entry->address = cursor_u64(c);
	entry->line = cursor_u32(c);
	cursor_u32(c); /* discriminator */
	file = cursor_string(c);
	if (c->failed)
		return false;
	if (strcmp(file, "\xff") != 0)
		entry->file = file;
	return true;
}

/* The line of the call, in the terms of the place where the function was compiled. */
static void set_line(struct dump *dump, struct jit_name *item)
{
	const struct jit_record *record = &item->record;
	uint64_t call = item->address - 1 - record->start + record->first;
	struct line_entry entry = {0}, best = {0};
	struct cursor c;

	if (!record->lines || !read_lines(dump, record->lines - 1))
		return;
	c = cursor_make(dump->lines, dump->lines_size);
	while (cursor_left(&c) > 0 && next_entry(&c, &entry))
		if (entry.address <= call && entry.address >= best.address)
			best = entry;
	if (!best.file || !best.file[0])
		return;
	item->file = strndup(best.file, JIT_NAME_MAX);
	item->line = item->file ? best.line : 0;
}

static void set_name(struct dump *dump, struct jit_name *item, char *text)
{
	uint64_t at = item->record.at - 1;
	struct prefix prefix;
	size_t size, length;

	if (!read_prefix(dump, at, &prefix) || prefix.id != RECORD_LOAD || prefix.size <= LOAD_SIZE)
		return;
	size = prefix.size - LOAD_SIZE;
	size = read_at(dump, at + LOAD_SIZE, text,
		       size < JIT_NAME_MAX + 1 ? size : JIT_NAME_MAX + 1);
	length = strnlen(text, size);
	if (length == 0 || (length == size && size <= JIT_NAME_MAX))
		return;
	jit_names_set(dump->names, item, text, length);
	if (item->raw_name)
		set_line(dump, item);
}

static bool set_names(struct dump *dump)
{
	char *text = malloc(JIT_NAME_MAX + 1);

	if (!text)
		return false;
	for (size_t i = 0; i < dump->names->count; i++)
		if (dump->names->items[i].record.at)
			set_name(dump, &dump->names->items[i], text);
	free(text);
	return true;
}

bool jitdump_read(int fd, struct jit_names *names)
{
	struct dump dump = {.fd = fd, .names = names, .lines_left = LINES_TOTAL_MAX};
	struct stat status;
	uint64_t first;
	bool done;

	for (size_t i = 0; i < names->count; i++)
		names->items[i].record = (struct jit_record){0};
	if (fstat(fd, &status) != 0)
		return true;
	dump.size = (uint64_t)status.st_size;
	first = read_header(&dump);
	done = first == 0 || (note_all(&dump, first) && set_names(&dump));
	free(dump.loads);
	free(dump.lines);
	return done;
}
