/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * run_output.c - patterns, folders, and older profiles.
 *
 * libpmem/place.c expands the pattern: only in the last part of the path; .prof is added to a name without it.
 */
#include "cmd/run_output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/format.h"

enum { NAME_LIMIT = 200 };

static const char default_name[] = "pmem.%p.prof";
static const char log_start[] = "# pmem log of ";
static const char profile_end[] = ".prof";

/* Percent signs that are doubled become one, in place. */
static void unescape_percent(char *text)
{
	char *to = text;

	for (; *text; text++) {
		*to++ = *text;
		if (text[0] == '%' && text[1] == '%')
			text++;
	}
	*to = 0;
}

/* The first percent sign that stands for something, NULL if there is none. */
static const char *find_specifier(const char *pattern)
{
	while ((pattern = strchr(pattern, '%')) && pattern[1] == '%')
		pattern += 2;
	return pattern;
}

static bool check_specifiers(const char *name, struct error *err)
{
	const char *at;

	for (at = name; (at = find_specifier(at)); at += 2) {
		if (!at[1])
			return error_set(err, "-o %s: a percent sign at the end; %%%% means one",
					 name);
		if (!strchr("phet", at[1]))
			return error_set(err,
					 "-o %s: %%%c is not known; %%p %%h %%e %%t and %%%% are",
					 name, at[1]);
	}
	return true;
}

static bool ends_in_prof(const char *name)
{
	size_t length = strlen(name), end = sizeof(profile_end) - 1;

	return length > end && strcmp(name + length - end, profile_end) == 0;
}

/* The recorder takes all before the last slash as it is, and what is behind it for the pattern. */
static bool make_pattern(const char *name, char **pattern, struct error *err)
{
	const char *end = ends_in_prof(name) ? "" : profile_end;
	char folder[PATH_MAX];
	int length;

	if (name[0] == '/')
		length = asprintf(pattern, "%s%s", name, end);
	else if (!getcwd(folder, sizeof(folder)))
		return error_set_errno(err, "current folder");
	else
		length = asprintf(pattern, "%s/%s%s", strcmp(folder, "/") == 0 ? "" : folder, name,
				  end);
	if (length >= 0)
		return true;
	*pattern = NULL;
	return error_set(err, "no memory");
}

static bool make_folder(const char *pattern, char **folder, struct error *err)
{
	size_t length = (size_t)(strrchr(pattern, '/') - pattern);

	*folder = strndup(pattern, length ? length : 1);
	return *folder || error_set(err, "no memory");
}

/* What the recorder has room for. */
static bool check_length(const char *pattern, const char *file, struct error *err)
{
	if (strlen(file) > NAME_LIMIT)
		return error_set(err, "-o: the file's name is longer than %d bytes", NAME_LIMIT);
	return strlen(pattern) < PATH_MAX ||
	       error_set(err, "-o: the path is longer than %d bytes", PATH_MAX);
}

static bool check_folder(const char *folder, struct error *err)
{
	struct stat st;

	if (stat(folder, &st) != 0)
		return error_set_errno(err, "%s: profiles cannot be written there", folder);
	if (!S_ISDIR(st.st_mode)) {
		errno = ENOTDIR;
		return error_set_errno(err, "%s: profiles cannot be written there", folder);
	}
	if (faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) != 0)
		return error_set_errno(
			err, "%s: profiles cannot be written there; -o FILE names another place",
			folder);
	return true;
}

static bool begins_with(const char *path, const char *start, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	char bytes[32];
	struct stat st;
	bool does;

	if (fd < 0)
		return false;
	does = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && size <= sizeof(bytes) &&
	       pread(fd, bytes, size, 0) == (ssize_t)size && memcmp(bytes, start, size) == 0;
	close(fd);
	return does;
}

static bool is_profile(const char *path)
{
	return begins_with(path, FORMAT_MAGIC, strlen(FORMAT_MAGIC));
}

static bool is_log(const char *path)
{
	return begins_with(path, log_start, strlen(log_start));
}

static bool exists(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

/* The log of the profile at path, which ends in .prof, to be freed. */
static char *log_name(const char *path, const char *suffix)
{
	size_t length = strlen(path) - (sizeof(profile_end) - 1);
	char *name;

	return asprintf(&name, "%.*s.log%s", (int)length, path, suffix) < 0 ? NULL : name;
}

/* The log goes with its profile, or the names would no longer match.  Only the profile matters: no failure. */
static void move_log(const char *path)
{
	char *from = log_name(path, ""), *to = log_name(path, ".old");

	if (from && to && is_log(from) && (!exists(to) || is_log(to)))
		(void)!rename(from, to);
	free(from);
	free(to);
}

static bool move_older(const char *path, struct run_output *output, struct error *err)
{
	struct stat st;

	if (lstat(path, &st) != 0)
		return true;
	if (!is_profile(path))
		return error_set(err, "%s: exists and is no profile of pmem: not overwritten", path);
	if (asprintf(&output->moved, "%s.old", path) < 0) {
		output->moved = NULL;
		return error_set(err, "no memory");
	}
	if (exists(output->moved) && !is_profile(output->moved))
		return error_set(
			err, "%s: exists, and cannot be moved to %s, which is no profile of pmem",
			path, output->moved);
	if (rename(path, output->moved) != 0)
		return error_set_errno(err, "%s: cannot be moved to %s", path, output->moved);
	move_log(path);
	return true;
}

/* An older profile whose whole name is known: no percent sign stands for anything. */
static bool make_room(const char *folder, const char *file, struct run_output *output,
		      struct error *err)
{
	char *path, *plain = strdup(file);
	bool done;

	if (!plain)
		return error_set(err, "no memory");
	unescape_percent(plain);
	if (asprintf(&path, "%s/%s", strcmp(folder, "/") == 0 ? "" : folder, plain) < 0)
		path = NULL;
	free(plain);
	if (!path)
		return error_set(err, "no memory");
	done = move_older(path, output, err);
	free(path);
	return done;
}

static bool is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool prepare(const char *name, struct run_output *output, struct error *err)
{
	const char *file = strrchr(name, '/') ? strrchr(name, '/') + 1 : name;

	if (!name[0])
		return error_set(err, "-o: the file's name is empty");
	if (!file[0] || is_folder(name))
		return error_set(err, "-o %s: is a folder; -o %s%spmem.%%p.prof writes there", name,
				 name, file[0] ? "/" : "");
	if (!check_specifiers(file, err) || !make_pattern(name, &output->pattern, err) ||
	    !make_folder(output->pattern, &output->folder, err) ||
	    !check_length(output->pattern, file, err) || !check_folder(output->folder, err))
		return false;
	file = strrchr(output->pattern, '/') + 1;
	if (find_specifier(file))
		return true; /* the recorder takes the next free number */
	return make_room(output->folder, file, output, err);
}

bool run_output_prepare(const char *name, struct run_output *output, struct error *err)
{
	*output = (struct run_output){NULL, NULL, NULL};
	if (prepare(name ? name : default_name, output, err))
		return true;
	run_output_free(output);
	return false;
}

void run_output_free(struct run_output *output)
{
	free(output->pattern);
	free(output->folder);
	free(output->moved);
	*output = (struct run_output){NULL, NULL, NULL};
}
