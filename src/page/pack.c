/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pack.c - zlib's output, in Base64: a round is a multiple of three bytes, so that only the last one needs padding.
 */
#include "page/pack.h"

#include <assert.h>
#include <stdint.h>

static_assert(DEFLATER_ROUND % 3 == 0, "no padding inside");

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

static void put_round(void *context, const unsigned char *bytes, size_t size)
{
	struct pack *pack = context;
	size_t at, length = 0;

	for (at = 0; at < size; at += 3, length += 4)
		put_group(bytes + at, size - at, pack->text + length);
	fwrite(pack->text, 1, length, pack->file);
}

bool pack_begin(struct pack *pack, FILE *file, struct error *err)
{
	pack->file = file;
	pack->deflater.sink = put_round;
	pack->deflater.context = pack;
	return deflater_begin(&pack->deflater, DEFLATER_ZLIB, err);
}

void pack_write(struct pack *pack, const void *bytes, size_t size)
{
	deflater_write(&pack->deflater, bytes, size);
}

void pack_end(struct pack *pack)
{
	deflater_end(&pack->deflater);
}
