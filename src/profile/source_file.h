/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * source_file.h - reads source files line by line, forward.
 *
 * A profile may name any file: only regular ones that are no larger than source is are opened.
 */
#ifndef PMEM_PROFILE_SOURCE_FILE_H
#define PMEM_PROFILE_SOURCE_FILE_H
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Zeroed at first: no file. */
struct source_file {
	const char *path; /* not owned */
	FILE *file;	  /* NULL: cannot be read */
	uint32_t line;	  /* number of the line in text; 0: none was read yet */
	char *text;	  /* without its end; long lines are cut */
	size_t size;
	uint64_t read; /* bytes, of all files */
};

/* Goes to the beginning of a file, or stays where it is in that file.  path must stay. */
void source_file_open(struct source_file *source, const char *path);

/* Reads the next line.  False: there is none. */
bool source_file_next(struct source_file *source);
void source_file_close(struct source_file *source);

#endif
