/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * overwrite.c - see overwrite.h.
 */
#include "cmd/overwrite.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "core/format.h"
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

static bool is_profile(const char *path)
{
	char magic[sizeof(FORMAT_MAGIC) - 1];
	struct stat status;
	bool same = false;
	FILE *file;

	if (!is_regular(path, &status))
		return false;
	file = fopen(path, "re");
	if (!file)
		return false;
	same = fread(magic, sizeof(magic), 1, file) == 1 &&
	       memcmp(magic, FORMAT_MAGIC, sizeof(magic)) == 0;
	fclose(file);
	return same;
}

bool overwrite_with_export(const char *path, struct error *err)
{
	return !is_profile(path) || error_set(err, "%s: is a profile: not overwritten", path);
}
