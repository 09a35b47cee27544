/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * columns.h - named arrays of numbers, as small as their largest value allows, for a page's script.
 *
 * A document is: the size of its head in bytes (32 bits), the head, and the columns; each of these three begins at a multiple of
 * eight bytes.  All is little-endian.  The head is JSON, and has a list of the columns: name, type ("u1", "u2",
 * "u4" or "f8"), number of values, and offset in bytes from the first column.
 */
#ifndef PMEM_PAGE_COLUMNS_H
#define PMEM_PAGE_COLUMNS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "page/pack.h"

enum { COLUMNS_MAX = 128, COLUMNS_NAME = 24 };

struct columns {
	struct column {
		char name[COLUMNS_NAME];
		void *bytes;
		size_t count;
		unsigned width; /* bytes of a value */
	} items[COLUMNS_MAX];
	unsigned count;
	bool failed; /* no memory, or too many */
};

void columns_free(struct columns *columns);

/* Adds a column.  Values past 2^53 are rounded. */
void columns_add(struct columns *columns, const char *name, const uint64_t *values, size_t count);

/* As above, of numbers that are there as uint32_t. */
void columns_add_small(struct columns *columns, const char *name, const uint32_t *values,
		       size_t count);

/* A column of bytes. */
void columns_add_bytes(struct columns *columns, const char *name, const void *bytes, size_t count);

/* The list of columns, as a value. */
void columns_list(const struct columns *columns, struct json *json);

/* The whole document. */
void columns_write(const struct columns *columns, const char *head, size_t head_size,
		   struct pack *pack);

#endif
