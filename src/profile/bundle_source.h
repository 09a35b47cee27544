/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bundle_source.h - the source lines around places, for a bundle.
 */
#ifndef PMEM_PROFILE_BUNDLE_SOURCE_H
#define PMEM_PROFILE_BUNDLE_SOURCE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/bundle_text.h"

/* Lines that were asked for. */
struct bundle_source {
	struct bundle_source_line {
		const char *file; /* not owned; the same file may come as several pointers */
		uint32_t line;
	} * items;
	size_t count;
	size_t room;
	bool failed; /* no memory */
};

/* Asks for the lines around a place; file must stay. */
void bundle_source_add(struct bundle_source *source, const char *file, uint32_t line);

/* Writes the section, as far as the files can be read.  Returns the number of lines. */
uint64_t bundle_source_write(struct bundle_source *source, struct bundle_text *text,
			     struct bundle_bytes *section);
void bundle_source_free(struct bundle_source *source);

#endif
