/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gzip.c - writes a gzip file to a stream as it goes, by zlib.
 *
 * deflate() cannot fail once it was set up: it only reports that it has no more to do.  The file's time stays 0: the same profile gives the same
 * bytes.
 */
#include "export/gzip.h"

#include <limits.h>
#include <stdint.h>

/* zlib.h, deflateInit2(): 15 bits of window, 16 more for a gzip header; memory level 8 is the default. */
enum { WINDOW_BITS = 15 + 16, MEMORY_LEVEL = 8 };

bool gzip_begin(struct gzip *gzip, FILE *file, struct error *err)
{
	gzip->file = file;
	gzip->stream = (z_stream){0};
	if (deflateInit2(&gzip->stream, Z_BEST_SPEED, Z_DEFLATED, WINDOW_BITS, MEMORY_LEVEL,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return error_set(err, "no memory to compress");
	return true;
}

/* flush: Z_NO_FLUSH or Z_FINISH. */
static void put(struct gzip *gzip, int flush)
{
	z_stream *stream = &gzip->stream;

	do {
		stream->next_out = gzip->out;
		stream->avail_out = sizeof(gzip->out);
		deflate(stream, flush);
		fwrite(gzip->out, 1, sizeof(gzip->out) - stream->avail_out, gzip->file);
	} while (stream->avail_out == 0);
}

void gzip_write(struct gzip *gzip, const void *bytes, size_t size)
{
	/* The field of zlib is not const where its build does not say so; it only reads. */
	gzip->stream.next_in = (unsigned char *)(uintptr_t)bytes;
	while (size > 0) {
		size_t part = size < UINT_MAX ? size : UINT_MAX;

		gzip->stream.avail_in = (unsigned)part;
		put(gzip, Z_NO_FLUSH);
		size -= part;
	}
}

void gzip_end(struct gzip *gzip)
{
	gzip->stream.avail_in = 0;
	put(gzip, Z_FINISH);
	deflateEnd(&gzip->stream);
}
