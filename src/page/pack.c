/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pack.c - zlib's output, in Base64: a round is a multiple of three bytes, so that only the last one needs padding.
 */
#include "page/pack.h"

#include <assert.h>

#include "base/base64.h"

static_assert(DEFLATER_ROUND % 3 == 0, "no padding inside");

static void put_round(void *context, const unsigned char *bytes, size_t size)
{
	struct pack *pack = context;

	fwrite(pack->text, 1, base64_put(bytes, size, pack->text), pack->file);
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
