/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frames.h - what formats print for a profile's locations: functions, inlined ones too, numbered and named.
 *
 * All names and files are UTF-8 without control characters (clean.h).
 */
#ifndef PMEM_EXPORT_FRAMES_H
#define PMEM_EXPORT_FRAMES_H
#include <stdbool.h>
#include <stdint.h>

#include "export/export.h"

/* Stands for the frames of a call stack that has none. */
#define FRAMES_NONE "[unknown]"

struct frame {
	uint32_t location;
	bool is_named;	  /* false: name is "libx.so+0x1f" */
	const char *name; /* never empty */
	const char *file; /* source; NULL = unknown */
	uint32_t line;	  /* 0 = unknown */
	const struct symbol *symbol;
};

struct frames {
	const struct profile *profile;
	struct frame *items;
	uint32_t count;
	uint32_t *first; /* by location, and one more for the end: its frames, the innermost first */
	const char **modules; /* by index: path; code outside of all files: "[anonymous]" */
	char **texts;	      /* owned: all names, files and paths */
	uint32_t text_count;
};

/* reserved: as for clean_text().  False: no memory. */
bool frames_open(struct frames *frames, const struct export_source *source, const char *reserved,
		 struct error *err);
void frames_close(struct frames *frames);

/* Last part of a path. */
const char *frames_base_name(const char *path);

/* The locations of a call stack, the innermost first; reused for many.  Zeroed at first. */
struct path {
	uint32_t *locations;
	uint32_t count;
	uint32_t capacity;
};

/* False: no memory. */
bool path_read(struct path *path, const struct profile *profile, uint32_t node);
void path_free(struct path *path);

/* The nodes that call stacks lead through, each after its parent, without the root: array of *count, to be freed; NULL: no memory. */
uint32_t *frames_nodes(const struct profile *profile, uint32_t *count);

#endif
