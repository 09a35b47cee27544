/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * export.h - profiles in other formats.
 *
 * A format is a file src/export/NAME.c with export_NAME() and a row in the table of formats.c.
 */
#ifndef PMEM_EXPORT_EXPORT_H
#define PMEM_EXPORT_EXPORT_H
#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "profile/names.h"
#include "profile/profile.h"

struct export_source {
	const struct profile *profile;
	struct names *names;
};

struct export_format {
	const char *name;
	const char *summary; /* one line */
	/* Writes everything to file.  Errors of the file are the caller's to see. */
	bool (*write)(const struct export_source *source, FILE *file, struct error *err);
};

/* A row without name ends the table. */
extern const struct export_format export_formats[];

/* NULL: there is none of this name. */
const struct export_format *export_find(const char *name);

bool export_log(const struct export_source *source, FILE *file, struct error *err);

#endif
