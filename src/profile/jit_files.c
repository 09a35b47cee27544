/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * jit_files.c - see jit_files.h.
 *
 * perf-PID.map lies in /tmp.  jit-PID.dump lies in /tmp too (CPython), in the folder where the process began (V8), or in a
 * folder of its own below $JITDUMPDIR/.debug/jit or $HOME/.debug/jit (LLVM, the JVM's agent).  Of a running process the /tmp
 * of its own root is looked at first.
 */
#include "profile/jit_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbol/jitdump.h"
#include "symbol/perf_map.h"

enum { PATH_SIZE = 4096, FOLDERS_MAX = 10000 };

#define SECOND_NS UINT64_C(1000000000)
#define BEFORE_NS SECOND_NS	  /* clocks differ a little */
#define AFTER_NS (30 * SECOND_NS) /* what a killed process did after its last sign of life */

/* Where to look, and what for. */
struct search {
	uint32_t pid;
	bool is_live;
	const char *directory;
	/* True: found, look no further. */
	bool (*visit)(const char *path, const struct search *search);
	/* For look_into(): */
	const struct profile *profile;
	struct jit_names *names;
	bool (*read)(int fd, struct jit_names *names);
	bool *no_memory;
};

/* --- places ---------------------------------------------------------------------------------- */

static bool visit_file(const struct search *search, const char *folder, const char *format)
{
	char path[PATH_SIZE];
	char name[64];

	snprintf(name, sizeof(name), format, search->pid);
	return snprintf(path, sizeof(path), "%s/%s", folder, name) < PATH_SIZE &&
	       search->visit(path, search);
}

/* The file in any of the folders in PARENT/.debug/jit. */
static bool visit_folders(const struct search *search, const char *parent)
{
	char folder[PATH_SIZE], child[PATH_SIZE];
	struct dirent *entry;
	int left = FOLDERS_MAX;
	bool done = false;
	DIR *dir;

	if (!parent || snprintf(folder, sizeof(folder), "%s/.debug/jit", parent) >= PATH_SIZE)
		return false;
	dir = opendir(folder);
	while (dir && !done && left-- > 0 && (entry = readdir(dir)))
		if (entry->d_name[0] != '.' &&
		    snprintf(child, sizeof(child), "%s/%s", folder, entry->d_name) < PATH_SIZE)
			done = visit_file(search, child, "jit-%" PRIu32 ".dump");
	if (dir)
		closedir(dir);
	return done;
}

static bool visit_temporary(const struct search *search, const char *format)
{
	char folder[64];

	snprintf(folder, sizeof(folder), "/proc/%" PRIu32 "/root/tmp", search->pid);
	return (search->is_live && visit_file(search, folder, format)) ||
	       visit_file(search, "/tmp", format);
}

static bool visit_maps(const struct search *search)
{
	return visit_temporary(search, "perf-%" PRIu32 ".map");
}

static bool visit_dumps(const struct search *search)
{
	const char *format = "jit-%" PRIu32 ".dump";

	return visit_temporary(search, format) ||
	       (search->directory[0] && visit_file(search, search->directory, format)) ||
	       visit_folders(search, getenv("JITDUMPDIR")) || visit_folders(search, getenv("HOME"));
}

/* --- files ----------------------------------------------------------------------------------- */

/* Links in /tmp are not followed: anyone may put them there. */
static int open_map(const char *path)
{
	return open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
}

static bool has_owner(const struct stat *status, const struct profile *profile)
{
	struct stat other;

	return status->st_uid == geteuid() || status->st_uid == 0 ||
	       (stat(profile->path, &other) == 0 && status->st_uid == other.st_uid);
}

/* A file of that name may be what another process with this id has left, or has begun since. */
static bool has_time(const struct stat *status, const struct profile *profile)
{
	uint64_t changed = (uint64_t)status->st_mtim.tv_sec * SECOND_NS +
			   (uint64_t)status->st_mtim.tv_nsec;
	uint64_t start = profile->header.start_realtime_ns;

	if (changed < start && start - changed > BEFORE_NS)
		return false;
	return profile->is_live || changed < start ||
	       changed - start <= profile->duration_ns + AFTER_NS;
}

static bool look_into(const char *path, const struct search *search)
{
	size_t found = search->names->found;
	int fd = open_map(path);
	struct stat status;

	if (fd < 0)
		return false;
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
	    has_owner(&status, search->profile) && has_time(&status, search->profile) &&
	    !search->read(fd, search->names))
		*search->no_memory = true;
	close(fd);
	return *search->no_memory || search->names->found > found;
}

bool jit_files_read(const struct profile *profile, struct jit_names *names)
{
	bool no_memory = false;
	struct search search = {.pid = profile->header.pid,
				.is_live = profile->is_live,
				.directory = profile->directory,
				.visit = look_into,
				.profile = profile,
				.names = names,
				.no_memory = &no_memory};

	search.read = perf_map_read;
	visit_maps(&search);
	/* A log has lines: what it says wins. */
	search.read = jitdump_read;
	if (!no_memory)
		visit_dumps(&search);
	return !no_memory;
}

static bool is_there(const char *path, const struct search *search)
{
	(void)search;
	return access(path, R_OK) == 0;
}

bool jit_files_exist(uint32_t pid, const char *directory)
{
	struct search search = {.pid = pid, .directory = directory, .visit = is_there};

	return visit_maps(&search) || visit_dumps(&search);
}
