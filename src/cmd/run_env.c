/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * run_env.c - finds libpmem.so, sets LD_PRELOAD and PMEM_*.
 */
#include "cmd/run_env.h"

#include <ctype.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#ifndef PMEM_LIBDIR
#error "PMEM_LIBDIR is the folder that libpmem.so is installed in"
#endif

static const char library_name[] = "/libpmem.so";

/* "" if that cannot be known. */
static void path_beside_executable(char path[PATH_MAX])
{
	ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - sizeof(library_name));
	char *slash;

	path[length > 0 ? length : 0] = 0;
	slash = strrchr(path, '/');
	if (slash)
		strcpy(slash, library_name);
}

/* LD_PRELOAD is not relative to where pmem was started if the program changes its folder and executes others. */
static bool make_absolute(const char *path, char **absolute, struct error *err)
{
	char folder[PATH_MAX];

	if (path[0] != '/' && !getcwd(folder, sizeof(folder)))
		return error_set_errno(err, "current folder");
	if (path[0] == '/')
		*absolute = strdup(path);
	else if (asprintf(absolute, "%s/%s", folder, path) < 0)
		*absolute = NULL;
	return *absolute || error_set(err, "no memory");
}

static bool can_be_preloaded(const char *path)
{
	for (; *path; path++)
		if (isspace((unsigned char)*path) || *path == ':' || *path == '$')
			return false;
	return true;
}

static bool accept_library(const char *path, char **accepted, struct error *err)
{
	char *absolute;

	if (!make_absolute(path, &absolute, err))
		return false;
	if (!can_be_preloaded(absolute)) {
		error_set(err,
			  "%s: cannot be preloaded, because its path has a blank, a colon or a $; "
			  "copy or link it to "
			  "another place and name that in PMEM_LIB",
			  absolute);
		free(absolute);
		return false;
	}
	*accepted = absolute;
	return true;
}

bool run_env_library(char **path, struct error *err)
{
	const char *installed = PMEM_LIBDIR "/libpmem.so", *named = getenv("PMEM_LIB");
	char beside[PATH_MAX];

	if (named && *named) {
		if (access(named, R_OK) != 0)
			return error_set_errno(err, "PMEM_LIB=%s", named);
		return accept_library(named, path, err);
	}
	path_beside_executable(beside);
	if (access(beside, R_OK) == 0)
		return accept_library(beside, path, err);
	if (access(installed, R_OK) == 0)
		return accept_library(installed, path, err);
	return error_set(
		err, "libpmem.so was not found: PMEM_LIB is not set, and there is no %s and no %s",
		beside, installed);
}

/* value NULL: the variable stays as it is. */
static bool set(const char *name, const char *value)
{
	return !value || setenv(name, value, 1) == 0;
}

static bool set_preload(const struct run_env *env)
{
	const char *before = getenv("LD_PRELOAD");
	const char *more = env->libstdcxx ? ":libstdc++.so.6" : "";
	char *value;
	bool done;

	if (asprintf(&value, "%s%s%s%s", env->library, more, before && *before ? ":" : "",
		     before ? before : "") < 0)
		return false;
	done = set("LD_PRELOAD", value);
	free(value);
	return done;
}

bool run_env_set(const struct run_env *env, struct error *err)
{
	char id[17];

	snprintf(id, sizeof(id), "%016" PRIx64, env->run_id);
	if (set_preload(env) && set("PMEM_OUT", env->output) && set("PMEM_RUN_ID", id) &&
	    set("PMEM_LOG", env->no_log ? "0" : NULL) && set("PMEM_ONLY", env->only) &&
	    set("PMEM_SAMPLE", env->sample) && set("PMEM_MAX_OVERHEAD", env->overhead) &&
	    set("PMEM_CHILDREN", env->no_children ? "0" : NULL))
		return true;
	return error_set_errno(err, "environment");
}

bool run_env_new_id(uint64_t *run_id, struct error *err)
{
	uint64_t id;

	do {
		if (getrandom(&id, sizeof(id), 0) != sizeof(id))
			return error_set_errno(err, "getrandom");
	} while (!id);
	*run_id = id;
	return true;
}
