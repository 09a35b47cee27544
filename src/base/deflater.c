/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * deflater.c - see deflater.h.
 *
 * deflate() cannot fail once it was set up: it only reports that it has no more to do.
 */
#include "base/deflater.h"

#include <limits.h>
#include <stdint.h>

/* zlib.h, deflateInit2(): 15 bits of window, 16 more for a gzip header; memory level 8 is the default. */
enum { ZLIB_WINDOW = 15, GZIP_WINDOW = 15 + 16, MEMORY_LEVEL = 8 };

static void begin_round(struct deflater *deflater)
{
	deflater->stream.next_out = deflater->round;
	deflater->stream.avail_out = DEFLATER_ROUND;
}

bool deflater_begin(struct deflater *deflater, enum deflater_form form, struct error *err)
{
	bool is_gzip = form == DEFLATER_GZIP;

	deflater->stream = (z_stream){0};
	if (deflateInit2(&deflater->stream, is_gzip ? Z_BEST_SPEED : Z_DEFAULT_COMPRESSION,
			 Z_DEFLATED, is_gzip ? GZIP_WINDOW : ZLIB_WINDOW, MEMORY_LEVEL,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return error_set(err, "no memory to compress");
	begin_round(deflater);
	return true;
}

/* flush: Z_NO_FLUSH or Z_FINISH. */
static void feed(struct deflater *deflater, int flush)
{
	bool is_full;

	do {
		deflate(&deflater->stream, flush);
		is_full = deflater->stream.avail_out == 0;
		if (is_full) {
			deflater->sink(deflater->context, deflater->round, DEFLATER_ROUND);
			begin_round(deflater);
		}
	} while (is_full);
}

void deflater_write(struct deflater *deflater, const void *bytes, size_t size)
{
	/* The field of zlib is not const where its build does not say so; it only reads. */
	deflater->stream.next_in = (unsigned char *)(uintptr_t)bytes;
	while (size > 0) {
		size_t part = size < UINT_MAX ? size : UINT_MAX;

		deflater->stream.avail_in = (unsigned)part;
		feed(deflater, Z_NO_FLUSH);
		size -= part;
	}
}

void deflater_end(struct deflater *deflater)
{
	deflater->stream.avail_in = 0;
	feed(deflater, Z_FINISH);
	deflater->sink(deflater->context, deflater->round,
		       DEFLATER_ROUND - deflater->stream.avail_out);
	deflateEnd(&deflater->stream);
}
