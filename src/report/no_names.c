/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * no_names.c - see no_names.h.
 */
#include "report/no_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/bundle.h"
#include "profile/given_names.h"

/* True if "x.bundle" lies beside the profile "x.prof". */
static bool has_bundle_beside(const struct profile *profile)
{
	size_t length = strlen(profile->path);
	char *path;
	bool is_there;

	if (length < 5 || strcmp(profile->path + length - 5, ".prof") != 0 ||
	    asprintf(&path, "%.*s.bundle", (int)(length - 5), profile->path) < 0)
		return false;
	is_there = bundle_is_at(path);
	free(path);
	return is_there;
}

const char *no_names_advice(const struct profile *profile, const char *problem)
{
	if (has_bundle_beside(profile))
		return "The bundle beside the profile may have them: name that file instead";
	if (strstr(problem, ": was replaced since"))
		return "Keep the old file and pass --sysroot, or run pmem bundle before you "
		       "rebuild";
	if (strstr(problem, ": is stripped"))
		return "Pass --debug-dir with the folder of its debug file, or see "
		       "doc/HOWTO-symbols.md";
	return "Pass --sysroot or --debug-dir, or see doc/HOWTO-symbols.md";
}

bool no_names_has_compiled(const struct profile *profile)
{
	for (uint32_t i = 0; i < profile->location_count; i++)
		if (!profile->locations[i].special && profile->locations[i].module == 0)
			return true;
	return false;
}
