/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bundle.c - the container of a bundle: reads it.
 *
 * How much memory a section needs is checked against how many bytes it has in the file before anything is unpacked, so that a
 * small file cannot ask for much.  zstd checks each section's content.
 */
#include "profile/bundle.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "core/cursor.h"
#include "core/format.h"

static_assert(sizeof(struct bundle_header) == 24 && sizeof(struct bundle_section) == 24, "no gaps");

#define PROFILE_MAX ((uint64_t)FORMAT_BLOCKS_MAX * FORMAT_BLOCK_SIZE)

/* --- sections -------------------------------------------------------------------------------- */

static bool check_size(const struct bundle_section *section, uint64_t total, struct error *err)
{
	if (section->size > BUNDLE_UNPACKED_MAX || total > BUNDLE_UNPACKED_MAX - section->size ||
	    (section->kind == BUNDLE_PROFILE && section->size > PROFILE_MAX))
		return error_set(err, "its content is larger than bundles may be");
	if (section->size > BUNDLE_SMALL && section->size / BUNDLE_RATIO_MAX > section->packed)
		return error_set(err, "section %u says to be larger than it can be", section->kind);
	return true;
}

static bool unpack(const struct bundle_section *section, const void *packed,
		   struct bundle_part *part, struct error *err)
{
	unsigned long long size = ZSTD_getFrameContentSize(packed, section->packed);
	size_t done;

	if (size != section->size)
		return error_set(err, "section %u has not the size that the table says",
				 section->kind);
	part->bytes = malloc(section->size + 1);
	if (!part->bytes)
		return error_set(err, "no memory for section %u", section->kind);
	part->size = section->size;
	done = ZSTD_decompress(part->bytes, part->size, packed, section->packed);
	if (ZSTD_isError(done))
		return error_set(err, "section %u: %s", section->kind, ZSTD_getErrorName(done));
	if (done != part->size)
		return error_set(err, "section %u is cut off", section->kind);
	part->bytes[part->size] = '\0';
	return true;
}

/* Kinds that this version does not know are skipped. */
static bool read_section(struct bundle *bundle, const struct bundle_section *section,
			 struct cursor *c, struct error *err)
{
	const uint8_t *packed = cursor_bytes(c, section->packed);

	if (!packed)
		return error_set(err, "cut off in section %u", section->kind);
	if (section->kind == 0 || section->kind >= BUNDLE_KINDS)
		return true;
	if (bundle->parts[section->kind].bytes)
		return error_set(err, "section %u is there twice", section->kind);
	return unpack(section, packed, &bundle->parts[section->kind], err);
}

/* --- container ------------------------------------------------------------------------------- */

bool bundle_begins(const void *bytes, size_t size)
{
	struct bundle_header header;

	if (size < sizeof(header))
		return false;
	memcpy(&header, bytes, sizeof(header));
	return header.frame == BUNDLE_FRAME &&
	       memcmp(header.magic, BUNDLE_MAGIC, sizeof(header.magic)) == 0;
}

static bool check_header(const struct bundle_header *header, struct error *err)
{
	uint64_t table = (uint64_t)header->section_count * sizeof(struct bundle_section);

	if (header->version != BUNDLE_VERSION)
		return error_set(err, "has bundle version %u; this pmem reads version %d",
				 header->version, BUNDLE_VERSION);
	if (header->section_count > BUNDLE_SECTIONS_MAX ||
	    header->frame_size != sizeof(*header) - 8 + table)
		return error_set(err, "damaged: its header has impossible sizes");
	return true;
}

static bool is_complete(const struct bundle *bundle, struct error *err)
{
	static const enum bundle_kind needed[] = {BUNDLE_PROFILE, BUNDLE_STRINGS, BUNDLE_FACTS,
						  BUNDLE_NAMES};

	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		if (!bundle->parts[needed[i]].bytes)
			return error_set(err, "section %u is missing", needed[i]);
	return true;
}

static bool read_sections(const void *bytes, size_t size, struct bundle *bundle, struct error *err)
{
	struct cursor c = cursor_make(bytes, size);
	const uint8_t *start = cursor_bytes(&c, sizeof(struct bundle_header));
	struct bundle_header header;
	struct bundle_section section;
	uint64_t total = 0;
	struct cursor table;

	if (!start || !bundle_begins(bytes, size))
		return error_set(err, "not a bundle");
	memcpy(&header, start, sizeof(header));
	if (!check_header(&header, err))
		return false;
	table = cursor_block(&c, (uint64_t)header.section_count * sizeof(section));
	if (table.failed)
		return error_set(err, "cut off in its header");
	for (uint32_t i = 0; i < header.section_count; i++) {
		memcpy(&section, cursor_bytes(&table, sizeof(section)), sizeof(section));
		if (!check_size(&section, total, err) || !read_section(bundle, &section, &c, err))
			return false;
		total += section.size;
	}
	if (cursor_left(&c) > 0)
		return error_set(err, "damaged: there is something behind its last section");
	return is_complete(bundle, err);
}

void bundle_end(struct bundle *bundle)
{
	for (int kind = 0; kind < BUNDLE_KINDS; kind++)
		free(bundle->parts[kind].bytes);
	*bundle = (struct bundle){0};
}

bool bundle_read_memory(const void *bytes, size_t size, struct bundle *bundle, struct error *err)
{
	*bundle = (struct bundle){.file_bytes = size};
	if (read_sections(bytes, size, bundle, err))
		return true;
	bundle_end(bundle);
	return false;
}

/* --- files ----------------------------------------------------------------------------------- */

/* A FIFO must not make us wait.  -1: not there, or no regular file. */
static int open_regular(const char *path, uint64_t *size, struct error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat status;

	if (fd < 0 || fstat(fd, &status) != 0) {
		error_set_errno(err, "%s", path);
	} else if (!S_ISREG(status.st_mode)) {
		error_set(err, "%s: not a regular file", path);
	} else {
		*size = (uint64_t)status.st_size;
		return fd;
	}
	if (fd >= 0)
		close(fd);
	return -1;
}

static size_t read_all(int fd, char *bytes, size_t size)
{
	size_t done = 0;

	while (done < size) {
		ssize_t got = pread(fd, bytes + done, size - done, (off_t)done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		done += (size_t)got;
	}
	return done;
}

bool bundle_is_at(const char *path)
{
	char bytes[sizeof(struct bundle_header)];
	struct error ignored;
	uint64_t size;
	int fd = open_regular(path, &size, &ignored);
	bool is_one;

	if (fd < 0)
		return false;
	is_one = bundle_begins(bytes, read_all(fd, bytes, sizeof(bytes)));
	close(fd);
	return is_one;
}

bool bundle_read(const char *path, struct bundle *bundle, struct error *err)
{
	struct error reason = {""};
	uint64_t size = 0;
	int fd = open_regular(path, &size, err);
	char *bytes = NULL;
	bool done = false;

	if (fd < 0)
		return false;
	if (size > BUNDLE_UNPACKED_MAX)
		error_set(&reason, "larger than bundles may be");
	else if (!(bytes = malloc(size + 1)))
		error_set(&reason, "no memory to read it");
	else
		done = bundle_read_memory(bytes, read_all(fd, bytes, size), bundle, &reason);
	free(bytes);
	close(fd);
	return done || error_set(err, "%s: %s", path, reason.text);
}
