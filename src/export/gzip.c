/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gzip.c - writes a gzip file to a stream as it goes.
 *
 * The file's time stays 0: the same profile gives the same bytes.
 */
#include "export/gzip.h"

static void put(void *file, const unsigned char *bytes, size_t size)
{
	fwrite(bytes, 1, size, file);
}

bool gzip_begin(struct gzip *gzip, FILE *file, struct error *err)
{
	gzip->deflater.sink = put;
	gzip->deflater.context = file;
	return deflater_begin(&gzip->deflater, DEFLATER_GZIP, err);
}

void gzip_write(struct gzip *gzip, const void *bytes, size_t size)
{
	deflater_write(&gzip->deflater, bytes, size);
}

void gzip_end(struct gzip *gzip)
{
	deflater_end(&gzip->deflater);
}
