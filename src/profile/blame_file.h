/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * blame_file.h - rules of blame that the user has written (doc/BLAME.md, "Your own rules").
 */
#ifndef PMEM_PROFILE_BLAME_FILE_H
#define PMEM_PROFILE_BLAME_FILE_H
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "profile/blame.h"

enum { BLAME_FILE_SIZE_MAX = 1024 * 1024, BLAME_FILE_LINE_MAX = 4096 };

struct blame_file {
	struct blame_rule *rules;
	size_t count;
	char *text; /* what the rules' patterns lie in */
};

/* Reads size bytes; name is that of the file in messages: "blame:3: no rule: ...". */
bool blame_file_parse(const char *bytes, size_t size, const char *name, struct blame_file *file,
		      struct error *err);
bool blame_file_read(const char *path, struct blame_file *file, struct error *err);
void blame_file_free(struct blame_file *file);

/* Puts the user's rules into use until the program ends: those of the file given; or, with NULL, those that the environment says,
 * unless a file was given before.  False: it is not there although it was named, or it has a mistake. */
bool blame_file_use(const char *given, struct error *err);

#endif
