/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * given_write.c - see given_write.h.
 */
#include "profile/given_write.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/format.h"
#include "profile/running.h"

enum { ITEMS_PER_BLOCK = FORMAT_BLOCK_SIZE / sizeof(struct format_given) };

static_assert((int)JIT_NAME_MAX < (int)FORMAT_BLOCK_SIZE, "a text lies in one block");

/* Blocks of one kind, in memory. */
struct pile {
	enum format_kind kind;
	char *bytes;
	uint32_t blocks;
};

struct writer {
	const char *path;
	int fd;
	struct stat status;
	struct format_first_block *first;
	uint32_t next; /* number of the next block */
	struct pile items;
	struct pile text;
	uint32_t count;
	uint32_t text_used;
	bool made_part; /* of the directory */
	struct error *err;
};

/* --- in memory ------------------------------------------------------------------------------- */

/* Room for one more block, zeroed.  False: no memory. */
static bool grow(struct pile *pile)
{
	size_t used = (size_t)pile->blocks * FORMAT_BLOCK_SIZE;
	char *grown = realloc(pile->bytes, used + FORMAT_BLOCK_SIZE);

	if (!grown)
		return false;
	memset(grown + used, 0, FORMAT_BLOCK_SIZE);
	pile->bytes = grown;
	pile->blocks++;
	return true;
}

/* False: no memory. */
static bool add_text(struct writer *writer, const char *text, struct format_text *where)
{
	uint32_t size = text ? (uint32_t)strlen(text) : 0;
	uint32_t room = writer->text.blocks * (uint32_t)FORMAT_BLOCK_SIZE - writer->text_used;

	*where = (struct format_text){0};
	if (size == 0)
		return true;
	if (size + 1 > room) {
		writer->text_used = writer->text.blocks * (uint32_t)FORMAT_BLOCK_SIZE;
		if (!grow(&writer->text))
			return false;
	}
	memcpy(writer->text.bytes + writer->text_used, text, size);
	*where = (struct format_text){.offset = writer->text_used, .size = size};
	writer->text_used += size + 1;
	return true;
}

static bool add_name(struct writer *writer, const struct jit_name *name)
{
	uint32_t at = writer->count % ITEMS_PER_BLOCK;
	struct format_given item = {
		.address = name->address, .start = name->start, .line = name->line};
	struct format_given *block;

	if (!add_text(writer, name->raw_name, &item.raw_name) ||
	    !add_text(writer, name->file, &item.file) || (at == 0 && !grow(&writer->items)))
		return false;
	block = (struct format_given *)(writer->items.bytes +
					(size_t)(writer->items.blocks - 1) * FORMAT_BLOCK_SIZE);
	block[at] = item;
	writer->count++;
	return true;
}

static bool add_names(struct writer *writer, const struct jit_names *names)
{
	for (size_t i = 0; i < names->count; i++)
		if (names->items[i].raw_name && !add_name(writer, &names->items[i]))
			return error_set(writer->err, "%s: no memory", writer->path);
	return writer->count > 0 || error_set(writer->err, "%s: no names to add", writer->path);
}

/* --- in the file ----------------------------------------------------------------------------- */

static bool fail(struct writer *writer)
{
	return error_set_errno(writer->err, "%s", writer->path);
}

static bool write_at(struct writer *writer, uint64_t offset, const void *bytes, size_t size)
{
	size_t done = 0;

	while (done < size) {
		ssize_t put = pwrite(writer->fd, (const char *)bytes + done, size - done,
				     (off_t)(offset + done));

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return fail(writer);
		done += (size_t)put;
	}
	return true;
}

static bool read_at(struct writer *writer, uint64_t offset, void *bytes, size_t size)
{
	ssize_t got = pread(writer->fd, bytes, size, (off_t)offset);

	if (got < 0)
		return fail(writer);
	return (size_t)got == size || error_set(writer->err, "%s: cut off", writer->path);
}

static uint64_t offset_of(uint32_t block)
{
	return (uint64_t)block * FORMAT_BLOCK_SIZE;
}

static uint32_t part_block(const struct writer *writer, uint32_t part)
{
	return atomic_load_explicit(&writer->first->header.directories[part], memory_order_relaxed);
}

/* Where a block's entry in the directory stands in the file; 0: its part of the directory is not there. */
static uint64_t entry_offset(const struct writer *writer, uint32_t number)
{
	uint32_t rest = number - FORMAT_FIRST_ENTRIES;
	uint32_t part;

	if (number < FORMAT_FIRST_ENTRIES)
		return offsetof(struct format_first_block, blocks) + (uint64_t)number * 4;
	part = part_block(writer, rest / FORMAT_ENTRIES);
	return part ? offset_of(part) + (uint64_t)(rest % FORMAT_ENTRIES) * 4 : 0;
}

static bool write_entry(struct writer *writer, uint32_t number, enum format_kind kind,
			uint32_t index)
{
	uint32_t entry = (uint32_t)kind << FORMAT_INDEX_BITS | index;

	return write_at(writer, entry_offset(writer, number), &entry, sizeof(entry));
}

/* Makes the part of the directory that the next block's entry lies in, if it is not there. */
static bool make_part(struct writer *writer)
{
	static const char zeros[FORMAT_BLOCK_SIZE];
	uint32_t number = writer->next;
	uint32_t part;

	if (number >= FORMAT_BLOCKS_MAX)
		return error_set(writer->err, "%s: there is no room for names", writer->path);
	if (entry_offset(writer, number) != 0)
		return true;
	part = (number - FORMAT_FIRST_ENTRIES) / FORMAT_ENTRIES;
	writer->next++;
	writer->made_part = true;
	if (!write_at(writer, offset_of(number), zeros, sizeof(zeros)))
		return false;
	atomic_store_explicit(&writer->first->header.directories[part], number,
			      memory_order_relaxed);
	return write_entry(writer, number, FORMAT_DIRECTORY, part) &&
	       write_at(writer, offsetof(struct format_header, directories) + part * 4, &number, 4);
}

static bool write_pile(struct writer *writer, const struct pile *pile)
{
	for (uint32_t i = 0; i < pile->blocks; i++) {
		uint32_t number;

		if (!make_part(writer))
			return false;
		number = writer->next++;
		if (!write_at(writer, offset_of(number), pile->bytes + offset_of(i),
			      FORMAT_BLOCK_SIZE) ||
		    !write_entry(writer, number, pile->kind, i))
			return false;
	}
	return true;
}

static bool is_ours(uint32_t entry)
{
	return entry >> FORMAT_INDEX_BITS == FORMAT_GIVEN ||
	       entry >> FORMAT_INDEX_BITS == FORMAT_GIVEN_TEXT;
}

/* Clears what another attempt left among the directory's entries of count blocks from number on, which stand at offset.
 * Others than those must not be beyond the file's end. */
static bool clear_entries(struct writer *writer, uint64_t offset, const uint32_t *entries,
			  uint32_t count, uint32_t number)
{
	static const uint32_t none = 0;

	for (uint32_t i = 0; i < count; i++) {
		if (is_ours(entries[i]) &&
		    !write_at(writer, offset + (uint64_t)i * 4, &none, sizeof(none)))
			return false;
		if (entries[i] != 0 && !is_ours(entries[i]) && number + i >= writer->next)
			return error_set(writer->err, "%s: cut off", writer->path);
	}
	return true;
}

static bool clear_all(struct writer *writer)
{
	uint32_t entries[FORMAT_ENTRIES];

	if (!clear_entries(writer, offsetof(struct format_first_block, blocks),
			   (uint32_t *)writer->first->blocks, FORMAT_FIRST_ENTRIES, 0))
		return false;
	for (uint32_t part = 0; part < FORMAT_DIRECTORIES; part++) {
		uint32_t number = part_block(writer, part);

		if (number != 0 && (!read_at(writer, offset_of(number), entries, sizeof(entries)) ||
				    !clear_entries(writer, offset_of(number), entries, FORMAT_ENTRIES,
						   FORMAT_FIRST_ENTRIES + part * FORMAT_ENTRIES)))
			return false;
	}
	return true;
}

/* --------------------------------------------------------------------------------------------- */

static bool check(struct writer *writer)
{
	const struct format_header *header = &writer->first->header;

	if (memcmp(header->magic, FORMAT_MAGIC, sizeof(header->magic)) != 0 ||
	    header->byte_order != FORMAT_BYTE_ORDER || header->version != FORMAT_VERSION)
		return error_set(writer->err, "%s: not a profile of this version", writer->path);
	if (running_records(header, writer->path, writer->status.st_ino))
		return error_set(writer->err, "%s: its process goes on", writer->path);
	if (atomic_load_explicit(&header->given_count, memory_order_relaxed) != 0)
		return error_set(writer->err, "%s: it has added names already", writer->path);
	if (writer->status.st_size % FORMAT_BLOCK_SIZE != 0)
		return error_set(writer->err, "%s: cut off", writer->path);
	return true;
}

static bool open_file(struct writer *writer)
{
	writer->fd = open(writer->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (writer->fd < 0 || fstat(writer->fd, &writer->status) != 0)
		return fail(writer);
	if (!S_ISREG(writer->status.st_mode))
		return error_set(writer->err, "%s: not a regular file", writer->path);
	writer->first = malloc(sizeof(*writer->first));
	if (!writer->first)
		return error_set(writer->err, "%s: no memory", writer->path);
	writer->next = (uint32_t)(writer->status.st_size / FORMAT_BLOCK_SIZE);
	return read_at(writer, 0, writer->first, sizeof(*writer->first)) && check(writer);
}

/* The newest profile is found by its time, which is when its process ended. */
static void restore_times(const struct writer *writer)
{
	struct timespec times[2] = {writer->status.st_atim, writer->status.st_mtim};

	(void)futimens(writer->fd, times);
}

/* Takes back what was written, where that is simple.  If not, it counts for nothing. */
static void undo(struct writer *writer)
{
	struct error ignored;

	writer->err = &ignored;
	if (!writer->made_part && read_at(writer, 0, writer->first, sizeof(*writer->first)) &&
	    clear_all(writer))
		(void)!ftruncate(writer->fd, writer->status.st_size);
}

static bool write_all(struct writer *writer)
{
	if (clear_all(writer) && write_pile(writer, &writer->text) &&
	    write_pile(writer, &writer->items) &&
	    write_at(writer, offsetof(struct format_header, given_count), &writer->count,
		     sizeof(writer->count)))
		return true;
	if (writer->next > writer->status.st_size / FORMAT_BLOCK_SIZE)
		undo(writer);
	return false;
}

static bool add(struct writer *writer, const struct jit_names *names)
{
	bool done = add_names(writer, names) && open_file(writer) && write_all(writer);

	if (writer->first)
		restore_times(writer);
	return done;
}

bool given_write(const char *path, const struct jit_names *names, struct error *err)
{
	struct writer writer = {.path = path,
				.fd = -1,
				.items.kind = FORMAT_GIVEN,
				.text.kind = FORMAT_GIVEN_TEXT,
				.err = err};
	bool done = add(&writer, names);

	if (writer.fd >= 0)
		close(writer.fd);
	free(writer.first);
	free(writer.items.bytes);
	free(writer.text.bytes);
	return done;
}
