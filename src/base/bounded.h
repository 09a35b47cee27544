/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bounded.h - a stream that writes into memory, up to a limit.
 */
#ifndef PMEM_BASE_BOUNDED_H
#define PMEM_BASE_BOUNDED_H
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct bounded {
	FILE *file; /* to write to */
	char *bytes;
	size_t size;
	size_t room;
	size_t limit;
};

/* False: no memory. */
bool bounded_open(struct bounded *bounded, size_t limit);

/* Closes the stream; bytes[size], to be freed, is what was written.  False: it was more than the limit, or than there is memory, and
 * bytes is NULL. */
bool bounded_close(struct bounded *bounded);

#endif
