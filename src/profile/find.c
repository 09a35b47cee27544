/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * find.c - see find.h.
 *
 * What a folder means is chosen by name and first bytes: a stray file that looks like a profile must not be taken for
 * the newest one.  Of a process only shared mappings are looked at.
 */
#include "profile/find.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/format.h"
#include "profile/bundle.h"
#include "profile/no_profile.h"
#include "profile/running.h"

static const char how_to[] = "make one with: pmem run -- PROGRAM";

struct candidate {
	struct format_header header;
	uint64_t changed_ns; /* CLOCK_REALTIME */
};

/* The larger: writing through a mapping does not always change the file's own time. */
static uint64_t last_change(const struct format_header *header, const struct stat *status)
{
	uint64_t file_ns = (uint64_t)status->st_mtim.tv_sec * 1000000000 +
			   (uint64_t)status->st_mtim.tv_nsec;
	uint64_t end_ns = atomic_load_explicit(&header->end_ns, memory_order_relaxed);
	uint64_t update_ns = atomic_load_explicit(&header->update_ns, memory_order_relaxed);
	uint64_t written_ns = header->start_realtime_ns + (end_ns > update_ns ? end_ns : update_ns);

	return header->byte_order == FORMAT_BYTE_ORDER && written_ns > file_ns ? written_ns
									       : file_ns;
}

/* The beginning of a regular file at path (in folder): true if size bytes of it could be read. */
static bool read_head(int folder, const char *path, void *bytes, size_t size, struct stat *status)
{
	int fd = openat(folder, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	bool done;

	if (fd < 0)
		return false;
	done = fstat(fd, status) == 0 && S_ISREG(status->st_mode) &&
	       pread(fd, bytes, size, 0) == (ssize_t)size;
	close(fd);
	return done;
}

/* False: the file is no profile, or cannot be read. */
static bool look_at(int folder, const char *path, struct candidate *candidate)
{
	struct format_header *header = &candidate->header;
	struct stat status;

	if (!read_head(folder, path, header, sizeof(*header), &status) ||
	    memcmp(header->magic, FORMAT_MAGIC, sizeof(header->magic)) != 0)
		return false;
	candidate->changed_ns = last_change(header, &status);
	return true;
}

/* As above; whose it is stays unknown. */
static bool look_at_bundle(int folder, const char *path, struct candidate *candidate)
{
	struct bundle_header header;
	struct stat status;

	if (!read_head(folder, path, &header, sizeof(header), &status) ||
	    !bundle_begins(&header, sizeof(header)))
		return false;
	candidate->changed_ns = (uint64_t)status.st_mtim.tv_sec * 1000000000 +
				(uint64_t)status.st_mtim.tv_nsec;
	return true;
}

static bool may_be_regular(const struct dirent *entry)
{
	return entry->d_type == DT_REG || entry->d_type == DT_LNK || entry->d_type == DT_UNKNOWN;
}

/* "name" in folder; "" is the current one.  NULL: no memory. */
static char *join(const char *folder, const char *name)
{
	size_t size = strlen(folder);
	const char *slash = size == 0 || folder[size - 1] == '/' ? "" : "/";
	char *path;

	return asprintf(&path, "%s%s%s", folder, slash, name) < 0 ? NULL : path;
}

static DIR *open_folder(const char *folder, struct error *err)
{
	DIR *dir = opendir(folder[0] ? folder : ".");

	if (!dir)
		error_set_errno(err, "%s", folder[0] ? folder : "the current folder");
	return dir;
}

/* --- folders --------------------------------------------------------------------------------- */

struct kind {
	const char *suffix;
	bool (*look_at)(int folder, const char *path, struct candidate *candidate);
};

static const struct kind profiles = {".prof", look_at};
static const struct kind bundles = {".bundle", look_at_bundle};

static bool has_suffix(const char *name, const char *suffix)
{
	size_t length = strlen(name);

	return length > strlen(suffix) && strcmp(name + length - strlen(suffix), suffix) == 0;
}

/* What is looked for in a folder, and found so far. */
struct newest {
	DIR *dir;
	const char *folder;
	uint32_t pid; /* 0 = any process's */
	char *path;   /* NULL = nothing yet */
	uint64_t changed_ns;
};

static void look_for(struct newest *newest, const struct kind *kind)
{
	struct candidate candidate;
	struct dirent *entry;

	rewinddir(newest->dir);
	while ((entry = readdir(newest->dir)) != NULL) {
		if (!may_be_regular(entry) || !has_suffix(entry->d_name, kind->suffix) ||
		    !kind->look_at(dirfd(newest->dir), entry->d_name, &candidate) ||
		    (newest->pid && candidate.header.pid != newest->pid) ||
		    (newest->path && candidate.changed_ns <= newest->changed_ns))
			continue;
		free(newest->path);
		newest->path = join(newest->folder, entry->d_name);
		newest->changed_ns = candidate.changed_ns;
	}
}

/* Profiles, and bundles if they are asked for.  Of the same age the profile is taken: it says more. */
static bool find_newest(const char *folder, const struct kind *more, char **path, struct error *err)
{
	struct newest newest = {.dir = open_folder(folder, err), .folder = folder};

	if (!newest.dir)
		return false;
	look_for(&newest, &profiles);
	if (more)
		look_for(&newest, more);
	closedir(newest.dir);
	if (newest.path)
		*path = newest.path;
	else if (folder[0])
		error_set(err, "%s: no profile (*.prof) in this folder; %s", folder, how_to);
	else
		error_set(err, "no profile (*.prof) in this folder; %s", how_to);
	return newest.path != NULL;
}

bool find_each(const char *folder,
	       void (*visit)(const char *path, const struct format_header *header,
			     uint64_t changed_ns, void *context),
	       void *context, struct error *err)
{
	DIR *dir = open_folder(folder, err);
	struct candidate candidate;
	struct dirent *entry;

	if (!dir)
		return false;
	while ((entry = readdir(dir)) != NULL) {
		char *path;

		if (!may_be_regular(entry) || !has_suffix(entry->d_name, profiles.suffix) ||
		    !look_at(dirfd(dir), entry->d_name, &candidate))
			continue;
		path = join(folder, entry->d_name);
		if (path)
			visit(path, &candidate.header, candidate.changed_ns, context);
		free(path);
	}
	closedir(dir);
	return true;
}

struct run {
	char *path;
	uint64_t start_ns;
};

static int compare_runs(const void *a, const void *b)
{
	const struct run *left = a;
	const struct run *right = b;

	if (left->start_ns != right->start_ns)
		return left->start_ns < right->start_ns ? -1 : 1;
	return strcmp(left->path, right->path);
}

static bool add_run(struct run **runs, unsigned *count, const struct run *run)
{
	struct run *grown = run->path ? realloc(*runs, (*count + 1) * sizeof(*grown)) : NULL;

	if (!grown)
		return false;
	*runs = grown;
	grown[(*count)++] = *run;
	return true;
}

/* Collects the profiles of a run.  False: no memory. */
static bool collect(DIR *dir, const char *folder, uint64_t run_id, struct run **runs,
		    unsigned *count)
{
	struct candidate candidate;
	struct dirent *entry;

	while ((entry = readdir(dir)) != NULL) {
		struct run run;

		if (!may_be_regular(entry) || !look_at(dirfd(dir), entry->d_name, &candidate) ||
		    candidate.header.run_id != run_id)
			continue;
		run = (struct run){.path = join(folder, entry->d_name),
				   .start_ns = candidate.header.start_realtime_ns};
		if (!add_run(runs, count, &run)) {
			free(run.path);
			return false;
		}
	}
	return true;
}

bool find_run(const char *folder, unsigned long long run_id, struct find_paths *paths,
	      struct error *err)
{
	DIR *dir = open_folder(folder, err);
	struct run *runs = NULL;
	unsigned found = 0;
	char **sorted;
	bool done;

	if (!dir)
		return false;
	done = collect(dir, folder, run_id, &runs, &found);
	closedir(dir);
	sorted = done ? calloc((size_t)found + 1, sizeof(*sorted)) : NULL;
	if (sorted && found > 0)
		qsort(runs, found, sizeof(*runs), compare_runs);
	for (unsigned i = 0; i < found; i++) {
		if (sorted)
			sorted[i] = runs[i].path;
		else
			free(runs[i].path);
	}
	free(runs);
	if (!sorted)
		return error_set(err, "%s: no memory", folder);
	*paths = (struct find_paths){sorted, found};
	return true;
}

/* --- processes ------------------------------------------------------------------------------- */

struct search {
	uint32_t pid;
	uint64_t start_ticks;
	unsigned long inode; /* looked at already */
	char *path;
	char *unreadable; /* what is mapped and called as profiles are, but cannot be opened; NULL = nothing */
	int reason; /* errno of that */
};

/* A forked process can have its parent's profile mapped too; and a path can lead to another file than in the
 * process's own root. */
static bool is_its_own(const struct search *search, const char *path)
{
	struct candidate candidate;

	return look_at(AT_FDCWD, path, &candidate) &&
	       (candidate.header.start_ticks == 0 ||
		candidate.header.start_ticks == search->start_ticks);
}

static bool try_path(struct search *search, char *path)
{
	if (path && is_its_own(search, path)) {
		search->path = path;
		return true;
	}
	free(path);
	return false;
}

static void note_unreadable(struct search *search, const char *path)
{
	static const char deleted[] = " (deleted)";
	size_t length = strlen(path), more = sizeof(deleted) - 1;
	char *name = strdup(path);
	int fd;

	if (name && length > more && strcmp(name + length - more, deleted) == 0)
		name[length - more] = '\0';
	if (!name || search->unreadable || !has_suffix(name, profiles.suffix)) {
		free(name);
		return;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd >= 0) {
		close(fd);
		free(name);
		return;
	}
	search->reason = errno;
	search->unreadable = name;
}

/* The path as it is; below the process's root; the mapping itself, which also reaches a deleted file. */
static bool look_at_mapping(const struct running_mapping *mapping, void *argument)
{
	struct search *search = argument;
	char *path;

	if (mapping->inode == search->inode || mapping->path[0] != '/')
		return true;
	search->inode = mapping->inode;
	if (try_path(search, strdup(mapping->path)))
		return false;
	if (asprintf(&path, "/proc/%" PRIu32 "/root%s", running_thread(search->pid),
		     mapping->path) > 0 &&
	    try_path(search, path))
		return false;
	if (asprintf(&path, "/proc/%" PRIu32 "/map_files/%lx-%lx", running_thread(search->pid),
		     mapping->start, mapping->end) > 0 &&
	    try_path(search, path))
		return false;
	note_unreadable(search, mapping->path);
	return true;
}

/* The bundle that `pmem bundle` makes of the process's profile, by its name; NULL: not there. */
static char *find_bundle(uint32_t pid)
{
	char *path;

	if (asprintf(&path, "pmem.%" PRIu32 ".bundle", pid) < 0)
		return NULL;
	if (bundle_is_at(path))
		return path;
	free(path);
	return NULL;
}

/* The process has ended; what it left may lie here.  more NULL: without its bundle. */
static bool find_ended(uint32_t pid, const struct kind *more, char **path, struct error *err)
{
	struct newest newest = {.dir = opendir("."), .folder = "", .pid = pid};

	if (newest.dir) {
		look_for(&newest, &profiles);
		closedir(newest.dir);
	}
	if (!newest.path && more)
		newest.path = find_bundle(pid);
	if (!newest.path)
		return no_profile_left(pid, err);
	*path = newest.path;
	return true;
}

static bool find_process(uint32_t pid, const struct kind *more, char **path, struct error *err)
{
	struct search search = {.pid = pid, .start_ticks = running_start_ticks(pid)};

	if (search.start_ticks == 0)
		return find_ended(pid, more, path, err);
	if (!running_each_shared(pid, look_at_mapping, &search))
		return no_profile_shown(pid, errno, err);
	if (!search.path)
		no_profile_mapped(pid, search.unreadable, search.reason, err);
	free(search.unreadable);
	if (search.path)
		*path = search.path;
	return search.path != NULL;
}

/* Of one that is recorded; NULL: it is not, or cannot be read. */
static char *find_recorded(uint32_t pid)
{
	struct search search = {.pid = pid, .start_ticks = running_start_ticks(pid)};

	if (search.start_ticks == 0 || !running_each_shared(pid, look_at_mapping, &search))
		search.path = NULL;
	free(search.unreadable);
	return search.path;
}

static int by_pid(const void *left, const void *right)
{
	const struct find_running *a = left, *b = right;

	return (a->pid > b->pid) - (a->pid < b->pid);
}

/* Takes path over.  False: no memory. */
static bool add_running(struct find_running **found, unsigned *count, uint32_t pid, char *path)
{
	struct find_running *grown = realloc(*found, (*count + 1) * sizeof(*grown));

	if (!grown) {
		free(path);
		return false;
	}
	*found = grown;
	grown[(*count)++] = (struct find_running){pid, path};
	return true;
}

bool find_running(struct find_running **found, unsigned *count, struct error *err)
{
	DIR *dir = open_folder("/proc", err);
	struct dirent *entry;
	bool done = true;

	if (!dir)
		return false;
	*found = NULL;
	*count = 0;
	while (done && (entry = readdir(dir)) != NULL) {
		unsigned long pid = strtoul(entry->d_name, NULL, 10);
		char *path = pid > 0 && pid <= INT32_MAX ? find_recorded((uint32_t)pid) : NULL;

		done = !path || add_running(found, count, (uint32_t)pid, path);
	}
	closedir(dir);
	if (!done) {
		find_running_free(*found, *count);
		return error_set(err, "no memory for the list of processes");
	}
	if (*count > 0)
		qsort(*found, *count, sizeof(**found), by_pid);
	return true;
}

void find_running_free(struct find_running *found, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		free(found[i].path);
	free(found);
}

/* --------------------------------------------------------------------------------------------- */

/* False: name is no pid. */
static bool parse_pid(const char *name, uint32_t *pid)
{
	unsigned long value;
	char *end;

	if (!isdigit((unsigned char)name[0]))
		return false;
	errno = 0;
	value = strtoul(name, &end, 10);
	if (errno != 0 || *end != '\0' || value == 0 || value > INT32_MAX)
		return false;
	*pid = (uint32_t)value;
	return true;
}

static bool find(const char *name, const struct kind *more, char **path, struct error *err)
{
	struct stat status;
	uint32_t pid;

	if (!name)
		return find_newest("", more, path, err);
	if (stat(name, &status) != 0) {
		int error = errno;

		if (error == ENOENT && parse_pid(name, &pid))
			return find_process(pid, more, path, err);
		errno = error;
		return error_set_errno(err, "%s", name);
	}
	if (S_ISDIR(status.st_mode))
		return find_newest(name, more, path, err);
	*path = strdup(name);
	return *path != NULL || error_set(err, "%s: no memory", name);
}

bool find_profile(const char *name, char **path, struct error *err)
{
	return find(name, &bundles, path, err);
}

bool find_unbundled(const char *name, char **path, struct error *err)
{
	return find(name, NULL, path, err);
}

bool find_and_open(const char *name, struct profile **profile, struct error *err)
{
	char *path;
	bool ok;

	if (!find_profile(name, &path, err))
		return false;
	ok = profile_open(path, profile, err);
	free(path);
	return ok;
}
