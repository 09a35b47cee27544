/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * image.h - the blocks of a profile's file, found by kind and index.
 *
 * The file is read by pread(2), never mapped: a file that is truncated meanwhile gives short reads, not SIGBUS.
 * What was read is a copy, so that what was checked is what is used.  Two reads one after the other
 * come in that order, also for what the recorder writes through its mapping: both use the page cache.
 */
#ifndef PMEM_PROFILE_IMAGE_H
#define PMEM_PROFILE_IMAGE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "core/format.h"

/* Findings about what is missing or wrong. */
struct damage {
	char *text; /* [size]: the first ones, each once, with "; " between */
	size_t size;
	uint32_t *count;    /* all of them */
	uint32_t *unlisted; /* those for which text has no room */
};

void damage_add(const struct damage *damage, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

struct image {
	int fd;		      /* -1: bytes */
	const uint8_t *bytes; /* not owned */
	uint64_t size;	      /* of the file, when last looked at */
	uint64_t used;	      /* the last block that means anything ends here */
	struct damage damage;
	bool grows; /* its process runs: image_refresh() looks again */
	bool quiet; /* nothing is reported: what seems missing may only have come meanwhile */
	struct format_first_block *first; /* a copy */
	uint32_t index_limit;		  /* of every kind */
	uint32_t *blocks; /* [FORMAT_KINDS * index_limit]: number of the block in the file; 0 = none */
	uint32_t missing; /* blocks of the directory that the file ends before, or in */
	uint32_t counts[FORMAT_KINDS]; /* largest index of the kind, plus 1 */
};

/* Opens the profile at path, or in size bytes, and checks that it is one of this version.  path names it in
 * messages.  image->damage must be set before. */
bool image_open(struct image *image, const char *path, struct error *err);
bool image_open_memory(struct image *image, const void *bytes, size_t size, struct error *err);
void image_close(struct image *image);

/* Reads header and directory again, if image->grows.  False: no memory, or it cannot be read any more. */
bool image_refresh(struct image *image);

/* Copies a block's first size bytes.  What lies beyond the end of the file is zero.  False: there is no such block. */
bool image_block(const struct image *image, enum format_kind kind, uint32_t index, void *bytes,
		 size_t size);

/* Copies what there is of size bytes at offset of the file; the rest is zero.  Returns how much there was. */
size_t image_read(const struct image *image, uint64_t offset, void *bytes, size_t size);

/* An array of a kind: items of size bytes. */
struct image_array {
	enum format_kind kind;
	size_t size;
	const char *what; /* for messages: "nodes" */
	uint32_t unused;  /* items below it need not be there */
};

/* The number of items, at most count, that the kind's blocks can hold.  Reports it if that is less. */
uint32_t image_limit(const struct image *image, const struct image_array *array, uint32_t count);

/* A copy of the first count items (count as given by image_limit()), to be freed; zero where blocks are missing, which is
 * reported.  NULL: no memory. */
void *image_items(const struct image *image, const struct image_array *array, uint32_t count);

/* Copies one item.  False: its block is missing. */
bool image_item(const struct image *image, const struct image_array *array, uint32_t index,
		void *item);

#endif
