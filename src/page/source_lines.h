/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * source_lines.h - the source lines around places, for a page's script: as much as is worth its bytes.
 *
 * As columns: "source_text", all lines, each with its end; and of each run of lines that follow one another "source_file", "source_first"
 * and "source_count".  A line is in one run at most.  All text is UTF-8 without control characters: a tab is
 * four blanks.
 */
#ifndef PMEM_PAGE_SOURCE_LINES_H
#define PMEM_PAGE_SOURCE_LINES_H
#include <stdbool.h>
#include <stdint.h>

#include "page/columns.h"
#include "profile/profile.h"

enum {
	SOURCE_LINES_AROUND = 3,
	SOURCE_LINES_WIDTH = 240,	/* bytes; longer lines are cut, and end with an ellipsis */
	SOURCE_LINES_TEXT = 384 * 1024, /* bytes of all lines together */
};

struct source_lines_place {
	const char *file;
	uint32_t number; /* of the file, as the script knows it */
	uint32_t line;	 /* not 0 */
};

/* Whose lines they are: those that came with one of the profiles are taken first.  If all names of one came with it, its files
 * are those of another machine, and no file is read here. */
struct source_lines_from {
	const struct profile *const *profiles;
	unsigned count;
};

/* Adds the columns.  The most important place comes first: if there is too much, the files that come last are missing.  places
 * is used up.  False: no memory. */
bool source_lines_columns(const struct source_lines_from *from, struct source_lines_place *places,
			  uint32_t count, struct columns *columns);

#endif
