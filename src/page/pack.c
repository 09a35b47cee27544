/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pack.c - zlib's output, in Base64.
 *
 * deflate() fills a whole round before any of it is written, so that only the last one needs padding.
 */
#include "page/pack.h"

#include <limits.h>
#include <stdint.h>

bool pack_begin(struct pack *pack, FILE *file, struct error *err)
{
	pack->file = file;
	pack->stream = (z_stream){0};
	if (deflateInit(&pack->stream, Z_DEFAULT_COMPRESSION) != Z_OK)
		return error_set(err, "no memory to compress");
	pack->stream.next_out = pack->bytes;
	pack->stream.avail_out = PACK_ROUND;
	return true;
}

/* Of the three bytes at from, size are there. */
static void put_group(const unsigned char *from, size_t size, char *to)
{
	static const char
		digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	uint32_t group = (uint32_t)from[0] << 16;

	if (size > 1)
		group |= (uint32_t)from[1] << 8;
	if (size > 2)
		group |= from[2];
	to[0] = digits[group >> 18];
	to[1] = digits[group >> 12 & 63];
	to[2] = size > 1 ? digits[group >> 6 & 63] : '=';
	to[3] = size > 2 ? digits[group & 63] : '=';
}

static void put_round(struct pack *pack)
{
	size_t size = PACK_ROUND - pack->stream.avail_out, at, length = 0;

	for (at = 0; at < size; at += 3, length += 4)
		put_group(pack->bytes + at, size - at, pack->text + length);
	fwrite(pack->text, 1, length, pack->file);
	pack->stream.next_out = pack->bytes;
	pack->stream.avail_out = PACK_ROUND;
}

/* flush: Z_NO_FLUSH or Z_FINISH. */
static void feed(struct pack *pack, int flush)
{
	bool is_full;

	do {
		deflate(&pack->stream, flush);
		is_full = pack->stream.avail_out == 0;
		if (is_full)
			put_round(pack);
	} while (is_full);
}

void pack_write(struct pack *pack, const void *bytes, size_t size)
{
	/* The field of zlib is not const where its build does not say so; it only reads. */
	pack->stream.next_in = (unsigned char *)(uintptr_t)bytes;
	while (size > 0) {
		size_t part = size < UINT_MAX ? size : UINT_MAX;

		pack->stream.avail_in = (unsigned)part;
		feed(pack, Z_NO_FLUSH);
		size -= part;
	}
}

void pack_end(struct pack *pack)
{
	pack->stream.avail_in = 0;
	feed(pack, Z_FINISH);
	put_round(pack);
	deflateEnd(&pack->stream);
}
