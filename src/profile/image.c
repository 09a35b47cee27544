/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * image.c - see image.h.
 *
 * Arrays are dense, so in an undamaged file no index is much larger than the number of blocks in the
 * file: index_limit.  That bounds the memory that a hostile directory can ask for by the file's size.
 */
#include "profile/image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	INDEX_SLACK = 64, /* blocks that are kept in memory leave gaps; how many more are no damage */
	READ_AHEAD = 128 * 1024, /* no less than what the kernel reads ahead on its own */
};

#define INDEX_MASK ((1u << FORMAT_INDEX_BITS) - 1)

/* Adds one finding behind the others.  False: there is no room for all of it. */
static bool list(const struct damage *damage, const char *finding)
{
	size_t used = strlen(damage->text);

	if (used + (used ? 2 : 0) + strlen(finding) >= damage->size)
		return false;
	if (used > 0)
		strcat(damage->text, "; ");
	strcat(damage->text, finding);
	return true;
}

/* True if text has finding as a whole. */
static bool is_listed(const char *text, const char *finding)
{
	size_t size = strlen(finding);

	while (*text) {
		size_t length = strcspn(text, ";");

		if (length == size && strncmp(text, finding, size) == 0)
			return true;
		text += length;
		text += strspn(text, "; ");
	}
	return false;
}

void damage_add(const struct damage *damage, const char *format, ...)
{
	char finding[128];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(finding, sizeof(finding), format, arguments);
	va_end(arguments);
	++*damage->count;
	if (!is_listed(damage->text, finding) && !list(damage, finding))
		++*damage->unlisted;
}

#define REPORT(image, ...)                                         \
	do {                                                       \
		if (!(image)->quiet)                               \
			damage_add(&(image)->damage, __VA_ARGS__); \
	} while (0)

size_t image_read(const struct image *image, uint64_t offset, void *bytes, size_t size)
{
	size_t done = 0;

	if (image->fd < 0) {
		if (offset < image->size)
			done = image->size - offset < size ? (size_t)(image->size - offset) : size;
		memcpy(bytes, image->bytes + (done ? offset : 0), done);
	}
	while (image->fd >= 0 && done < size) {
		ssize_t got = pread(image->fd, (char *)bytes + done, size - done,
				    (off_t)(offset + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		done += (size_t)got;
	}
	memset((char *)bytes + done, 0, size - done);
	return done;
}

/* --- directory ------------------------------------------------------------------------------- */

/* Enters one entry of the directory: that of the file's block number. */
static void enter(struct image *image, uint32_t entry, uint32_t number)
{
	uint32_t kind = entry >> FORMAT_INDEX_BITS;
	uint32_t index = entry & INDEX_MASK;
	uint32_t *block;

	/* Kinds that this version does not know are none of its business. */
	if (kind <= FORMAT_HEADER || kind >= FORMAT_KINDS || kind == FORMAT_DIRECTORY)
		return;
	if (((uint64_t)number + 1) * FORMAT_BLOCK_SIZE > image->size)
		image->missing++;
	if ((uint64_t)number * FORMAT_BLOCK_SIZE >= image->size)
		return;
	if (index >= image->index_limit) {
		REPORT(image, "block %u: index past the end", number);
		return;
	}
	block = &image->blocks[kind * image->index_limit + index];
	if (*block != 0) {
		REPORT(image, "block %u: the same part as block %u", number, *block);
		return;
	}
	*block = number;
	if (((uint64_t)number + 1) * FORMAT_BLOCK_SIZE > image->used)
		image->used = ((uint64_t)number + 1) * FORMAT_BLOCK_SIZE;
	if (index >= image->counts[kind])
		image->counts[kind] = index + 1;
}

static void enter_all(struct image *image, const uint32_t *entries, uint32_t count, uint32_t first)
{
	for (uint32_t i = 0; i < count; i++)
		if (entries[i] != 0)
			enter(image, entries[i], first + i);
}

static bool look_at_size(struct image *image)
{
	struct stat status;

	if (image->fd < 0)
		return true;
	if (fstat(image->fd, &status) != 0)
		return false;
	image->size = (uint64_t)status.st_size;
	return true;
}

/* A further part of the directory. */
static void enter_part(struct image *image, uint32_t part)
{
	uint32_t entries[FORMAT_ENTRIES];
	uint32_t number = atomic_load_explicit(&image->first->header.directories[part],
					       memory_order_relaxed);

	if (number == 0)
		return;
	if (image_read(image, (uint64_t)number * FORMAT_BLOCK_SIZE, entries, sizeof(entries)) == 0) {
		REPORT(image, "part %u of the directory is missing", part + 1);
		return;
	}
	look_at_size(image);
	enter_all(image, entries, FORMAT_ENTRIES, FORMAT_FIRST_ENTRIES + part * FORMAT_ENTRIES);
}

/* The size is looked at after what refers to blocks was read: a file that grows has them by then. */
static bool read_directory(struct image *image)
{
	uint64_t limit;

	image->missing = 0;
	image_read(image, 0, image->first, sizeof(*image->first));
	if (!look_at_size(image))
		return false;
	limit = image->size / FORMAT_BLOCK_SIZE + INDEX_SLACK;
	image->index_limit = limit < FORMAT_BLOCKS_MAX ? (uint32_t)limit : FORMAT_BLOCKS_MAX;
	free(image->blocks);
	image->blocks = calloc((size_t)FORMAT_KINDS * image->index_limit, sizeof(*image->blocks));
	if (!image->blocks)
		return false;
	memset(image->counts, 0, sizeof(image->counts));
	/* Atomic in the recorder; here it is a copy. */
	enter_all(image, (const uint32_t *)image->first->blocks, FORMAT_FIRST_ENTRIES, 0);
	for (uint32_t part = 0; part < FORMAT_DIRECTORIES; part++)
		enter_part(image, part);
	return true;
}

/* What is wrong was reported by the first reading. */
bool image_refresh(struct image *image)
{
	bool was_quiet = image->quiet;
	bool done;

	if (!image->grows)
		return true;
	image->quiet = true;
	done = read_directory(image);
	image->quiet = was_quiet;
	return done;
}

/* --- opening --------------------------------------------------------------------------------- */

static bool check_layout(const struct format_header *header, struct error *err)
{
	if (header->header_size != FORMAT_HEADER_SIZE || header->block_size != FORMAT_BLOCK_SIZE ||
	    header->blocks_max == 0 || header->blocks_max > FORMAT_BLOCKS_MAX)
		return error_set(err, "damaged: its header has impossible sizes");
	return true;
}

static bool check_header(const struct format_header *header, uint64_t size, struct error *err)
{
	static const char zeros[sizeof(header->magic)];

	if (size >= FORMAT_HEADER_SIZE && memcmp(header->magic, zeros, sizeof(zeros)) == 0)
		return error_set(err,
				 "not a profile, or one whose recording ended before it began");
	if (size < sizeof(header->magic) ||
	    memcmp(header->magic, FORMAT_MAGIC, sizeof(header->magic)) != 0)
		return error_set(err, "not a profile");
	if (size < FORMAT_HEADER_SIZE)
		return error_set(err, "cut off inside its header");
	if (header->byte_order == __builtin_bswap32(FORMAT_BYTE_ORDER))
		return error_set(err, "written on a machine of the other byte order");
	if (header->byte_order != FORMAT_BYTE_ORDER)
		return error_set(err, "damaged: no known byte order");
	if (header->version != FORMAT_VERSION)
		return error_set(err, "has format version %u; this pmem reads version %d",
				 header->version, FORMAT_VERSION);
	return check_layout(header, err);
}

/* After fd, or bytes and size, are set. */
static bool begin(struct image *image, struct error *err)
{
	image->first = calloc(1, sizeof(*image->first));
	if (!image->first)
		return error_set(err, "no memory");
	image_read(image, 0, image->first, sizeof(*image->first));
	if (!check_header(&image->first->header, image->size, err))
		return false;
	return read_directory(image) || error_set(err, "no memory");
}

bool image_open_memory(struct image *image, const void *bytes, size_t size, struct error *err)
{
	*image = (struct image){.fd = -1, .bytes = bytes, .size = size, .damage = image->damage};
	if (begin(image, err))
		return true;
	image_close(image);
	return false;
}

/* Opens a regular file; a FIFO must not make us wait. */
static int open_regular(const char *path, struct error *err)
{
	struct stat status;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0) {
		error_set_errno(err, "%s", path);
		return -1;
	}
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
		return fd;
	error_set(err, "%s: not a regular file", path);
	close(fd);
	return -1;
}

/* Blocks of one kind lie all over the file, and what is read of it is most of it: so it is asked for as a whole, and comes from the
 * disk while the first parts are looked at.  In pieces, because the kernel takes one request for the beginning of a large one only. */
static void read_ahead(const struct image *image)
{
	for (uint64_t at = 0; at < image->used; at += READ_AHEAD)
		posix_fadvise(image->fd, (off_t)at, READ_AHEAD, POSIX_FADV_WILLNEED);
}

bool image_open(struct image *image, const char *path, struct error *err)
{
	struct error reason = {""};

	*image = (struct image){.fd = open_regular(path, err), .damage = image->damage};
	if (image->fd < 0)
		return false;
	if (look_at_size(image) && begin(image, &reason)) {
		read_ahead(image);
		return true;
	}
	error_set(err, "%s: %s", path, reason.text[0] ? reason.text : "cannot be read");
	image_close(image);
	return false;
}

void image_close(struct image *image)
{
	free(image->first);
	free(image->blocks);
	image->first = NULL;
	image->blocks = NULL;
	if (image->fd >= 0)
		close(image->fd);
	image->fd = -1;
}

/* --- reading --------------------------------------------------------------------------------- */

bool image_block(const struct image *image, enum format_kind kind, uint32_t index, void *bytes,
		 size_t size)
{
	uint32_t number = index < image->counts[kind]
				  ? image->blocks[kind * image->index_limit + index]
				  : 0;

	if (number == 0)
		return false;
	return image_read(image, (uint64_t)number * FORMAT_BLOCK_SIZE, bytes, size) > 0;
}

uint32_t image_limit(const struct image *image, const struct image_array *array, uint32_t count)
{
	uint64_t room = (uint64_t)image->counts[array->kind] * (FORMAT_BLOCK_SIZE / array->size);

	if (count <= room)
		return count;
	if (count > array->unused)
		REPORT(image, "%u %s are missing", (uint32_t)(count - room), array->what);
	return (uint32_t)room;
}

void *image_items(const struct image *image, const struct image_array *array, uint32_t count)
{
	size_t per_block = FORMAT_BLOCK_SIZE / array->size;
	size_t left = count;
	/* One more, so that a text ends. */
	char *items = calloc((size_t)count + 1, array->size);
	uint32_t missing = 0;

	for (uint32_t index = 0; items && left > 0; index++) {
		size_t part = left < per_block ? left : per_block;
		char *at = items + (count - left) * array->size;

		missing += !image_block(image, array->kind, index, at, part * array->size);
		left -= part;
	}
	if (missing > 0)
		REPORT(image, "%u part%s of the %s %s missing", missing, missing == 1 ? "" : "s",
		       array->what, missing == 1 ? "is" : "are");
	return items;
}

bool image_item(const struct image *image, const struct image_array *array, uint32_t index,
		void *item)
{
	uint32_t per_block = (uint32_t)(FORMAT_BLOCK_SIZE / array->size);
	uint32_t number = index / per_block;
	uint32_t block = number < image->counts[array->kind]
				 ? image->blocks[array->kind * image->index_limit + number]
				 : 0;

	if (block == 0)
		return false;
	return image_read(image,
			  (uint64_t)block * FORMAT_BLOCK_SIZE +
				  (uint64_t)(index % per_block) * array->size,
			  item, array->size) == array->size;
}
