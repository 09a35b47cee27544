/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * firefox_tables.h - the tables of a thread in Firefox Profiler's processed format: strings, functions, frames, stacks.
 *
 * All are numbered before anything is written, for the format has columns: each field of a table is an array.
 */
#ifndef PMEM_EXPORT_FIREFOX_TABLES_H
#define PMEM_EXPORT_FIREFOX_TABLES_H
#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "export/frames.h"
#include "export/strings.h"

struct firefox_function {
	uint32_t name;	 /* number of a string */
	uint32_t file;	 /* number of a string + 1; 0 = unknown */
	uint32_t module; /* 0 = none */
};

struct firefox_tables {
	const struct profile *profile;
	struct frames frames;
	struct strings strings;
	struct strings keys;		    /* of functions */
	struct firefox_function *functions; /* by number of the key */
	uint32_t *function_of; /* by frame; one more stands for a call stack without a frame */
	uint32_t *nodes;       /* frames_nodes() */
	uint32_t node_count;
	uint32_t *stack_of; /* by node: number of its innermost frame's entry in the table of stacks; [0]: the entry of a
			     * call stack without a frame */
	uint32_t stack_count;	 /* entries */
	uint32_t *library_of;	 /* by module: its number; UINT32_MAX = none */
	uint32_t *library_names; /* by its number: a string */
	uint32_t library_count;
};

/* False: no memory. */
bool firefox_tables_open(struct firefox_tables *tables, const struct export_source *source,
			 struct error *err);
void firefox_tables_close(struct firefox_tables *tables);

/* Write their parts of the document, keys and all: "libs" of the profile; of a thread the tables, and last the strings. */
void firefox_tables_put_libraries(const struct firefox_tables *tables, struct json *json);
void firefox_tables_put(const struct firefox_tables *tables, struct json *json);
void firefox_tables_put_strings(const struct firefox_tables *tables, struct json *json);

#endif
