/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * diff_moment.c - "FILE@TIME".
 */
#include "profile/diff_moment.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profile/diff.h"
#include "profile/find.h"
#include "profile/growth.h"
#include "profile/when.h"

static bool is_end(const char *time)
{
	return !time || strcmp(time, "end") == 0;
}

/* So that "box@example.prof", which is not there, is not taken for a time of the profile "box". */
static bool is_meant_as_time(const char *name, const char *time)
{
	return is_end(time) || time[0] == '-' || (time[0] >= '0' && time[0] <= '9') || !name[0] ||
	       access(name, F_OK) == 0;
}

static bool find(const char *text, const char *name, struct diff_moment *moment, struct error *err)
{
	const char *time = text + strlen(name) + 1;
	char *path;

	if (!is_meant_as_time(name, time)) {
		time = NULL;
		name = text;
	}
	if (!find_profile(name[0] ? name : NULL, &path, err))
		return false;
	*moment = (struct diff_moment){path, time};
	return true;
}

bool diff_moment_find(const char *text, struct diff_moment *moment, struct error *err)
{
	const char *at = strrchr(text, '@');
	char *name;
	bool ok;

	*moment = (struct diff_moment){0};
	if (!at || access(text, F_OK) == 0)
		return find_profile(text, &moment->path, err);
	name = strndup(text, (size_t)(at - text));
	if (!name)
		return error_set(err, "%s: no memory", text);
	ok = find(text, name, moment, err);
	free(name);
	return ok;
}

bool diff_moment_is_well_formed(const char *text)
{
	const char *at = strrchr(text, '@'), *time = at ? at + 1 : NULL;
	char *name;
	bool is_time;

	if (is_end(time) || when_is_time(time) || access(text, F_OK) == 0)
		return true;
	name = strndup(text, (size_t)(at - text));
	is_time = name && is_meant_as_time(name, time);
	free(name);
	return !is_time;
}

void diff_moment_free(struct diff_moment *moment)
{
	free(moment->path);
	moment->path = NULL;
}

bool diff_moment_is_one_file(const struct diff_moment *a, const struct diff_moment *b)
{
	struct stat first, second;

	return stat(a->path, &first) == 0 && stat(b->path, &second) == 0 &&
	       first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

bool diff_moment_time(const struct profile *profile, const char *time, uint64_t *time_ns,
		      struct error *err)
{
	struct error reason;

	if (is_end(time)) {
		*time_ns = DIFF_END;
		return true;
	}
	if (!when_parse(profile, time, time_ns, &reason))
		return error_set(err, "%s@%s", profile->path, reason.text);
	*time_ns = growth_moment(profile, *time_ns);
	return true;
}
