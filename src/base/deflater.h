/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * deflater.h - compresses bytes as they come, by zlib, in rounds of one size.
 */
#ifndef PMEM_BASE_DEFLATER_H
#define PMEM_BASE_DEFLATER_H
#include <stdbool.h>
#include <stddef.h>
#include <zlib.h>

#include "base/error.h"

enum { DEFLATER_ROUND = 48 * 1024 };

enum deflater_form {
	DEFLATER_ZLIB, /* RFC 1950, small */
	DEFLATER_GZIP, /* RFC 1952, fast */
};

struct deflater {
	/* Gets each round: DEFLATER_ROUND bytes, but for the last one. */
	void (*sink)(void *context, const unsigned char *bytes, size_t size);
	void *context;
	z_stream stream;
	unsigned char round[DEFLATER_ROUND];
};

/* After sink and context were set.  False: no memory.  Ends with deflater_end(). */
bool deflater_begin(struct deflater *deflater, enum deflater_form form, struct error *err);
void deflater_write(struct deflater *deflater, const void *bytes, size_t size);
void deflater_end(struct deflater *deflater);

#endif
