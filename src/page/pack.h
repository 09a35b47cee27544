/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pack.h - compresses bytes (RFC 1950) and writes them to a stream as Base64 (RFC 4648), as they come.
 *
 * What a page can hold and a browser can take apart without help.
 */
#ifndef PMEM_PAGE_PACK_H
#define PMEM_PAGE_PACK_H
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/deflater.h"

struct pack {
	FILE *file;
	struct deflater deflater;
	char text[DEFLATER_ROUND / 3 * 4];
};

/* False: no memory.  Ends with pack_end(). */
bool pack_begin(struct pack *pack, FILE *file, struct error *err);

/* Errors of the file are the caller's to see. */
void pack_write(struct pack *pack, const void *bytes, size_t size);
void pack_end(struct pack *pack);

#endif
