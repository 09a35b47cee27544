/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gzip.h - writes a gzip file (RFC 1952) to a stream as it goes.
 */
#ifndef PMEM_EXPORT_GZIP_H
#define PMEM_EXPORT_GZIP_H
#include <stdbool.h>
#include <stdio.h>

#include "base/deflater.h"

struct gzip {
	struct deflater deflater;
};

/* False: no memory.  Ends with gzip_end(). */
bool gzip_begin(struct gzip *gzip, FILE *file, struct error *err);

/* Errors of the file are the caller's to see. */
void gzip_write(struct gzip *gzip, const void *bytes, size_t size);
void gzip_end(struct gzip *gzip);

#endif
