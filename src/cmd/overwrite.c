/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * overwrite.c - see overwrite.h.
 */
#include "cmd/overwrite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/format.h"
#include "page/html.h"
#include "profile/bundle.h"

/* False: there is no such file, or it is no regular one. */
static bool is_regular(const char *path, struct stat *status)
{
	return stat(path, status) == 0 && S_ISREG(status->st_mode);
}

bool overwrite_with_bundle(const char *path, struct error *err)
{
	struct stat status;

	if (strcmp(path, "-") == 0 || !is_regular(path, &status) || status.st_size == 0 ||
	    bundle_is_at(path))
		return true;
	return error_set(err, "%s: is there, and no bundle; choose a name with -o", path);
}

/* True if it is a regular file whose first bytes are those of text. */
static bool begins_with(const char *path, const char *text)
{
	size_t size = strlen(text);
	struct stat status;
	bool same = false;
	char *bytes;
	FILE *file;

	if (!is_regular(path, &status))
		return false;
	file = fopen(path, "re");
	if (!file)
		return false;
	bytes = malloc(size);
	if (bytes)
		same = fread(bytes, size, 1, file) == 1 && memcmp(bytes, text, size) == 0;
	free(bytes);
	fclose(file);
	return same;
}

bool overwrite_with_page(const char *path, struct error *err)
{
	struct stat status;

	if (strcmp(path, "-") == 0 || !is_regular(path, &status) || status.st_size == 0 ||
	    begins_with(path, HTML_BEGINNING))
		return true;
	return error_set(err,
			 "%s: is there, and no page of pmem; choose another name with -o, or "
			 "replace it with --force",
			 path);
}

bool overwrite_with_export(const char *path, struct error *err)
{
	return !begins_with(path, FORMAT_MAGIC) ||
	       error_set(err, "%s: is a profile: not overwritten", path);
}
