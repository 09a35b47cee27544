/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * run_found.c - collects, and orders by what a person wants to see first.
 */
#include "cmd/run_found.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/format.h"
#include "profile/find.h"

/* What the order needs.  False: it is no profile. */
static bool read_header(struct run_found_profile *profile)
{
	int fd = open(profile->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct format_header header;
	bool done;

	if (fd < 0)
		return false;
	done = pread(fd, &header, sizeof(header), 0) == sizeof(header) &&
	       memcmp(header.magic, FORMAT_MAGIC, sizeof(header.magic)) == 0;
	close(fd);
	if (!done)
		return false;
	profile->pid = header.pid;
	profile->peak_bytes = atomic_load_explicit(&header.peak_bytes, memory_order_relaxed);
	return true;
}

/* Takes over the paths. */
static bool add(struct run_found *found, const struct find_paths *paths, struct error *err)
{
	size_t size = ((size_t)found->count + paths->count + 1) * sizeof(*found->profiles);
	struct run_found_profile *profiles = realloc(found->profiles, size);
	unsigned i;

	if (profiles)
		found->profiles = profiles;
	for (i = 0; i < paths->count; i++) {
		struct run_found_profile profile = {.path = paths->items[i]};

		if (profiles && read_header(&profile))
			profiles[found->count++] = profile;
		else
			free(paths->items[i]);
	}
	free(paths->items);
	return profiles || error_set(err, "no memory");
}

static bool collect_in(struct run_found *found, const char *folder, uint64_t run_id,
		       struct error *err)
{
	struct find_paths paths;

	return find_run(folder, run_id, &paths, err) && add(found, &paths, err);
}

static bool is_same_folder(const char *left, const char *right)
{
	struct stat a, b;

	return stat(left, &a) == 0 && stat(right, &b) == 0 && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

static void collect_in_temporary(struct run_found *found, const char *folder, uint64_t run_id)
{
	const char *temporary = getenv("TMPDIR");
	struct error ignored;

	if (temporary && *temporary && !is_same_folder(folder, temporary))
		collect_in(found, temporary, run_id, &ignored);
}

static int compare_peaks(const void *left, const void *right)
{
	const struct run_found_profile *a = left, *b = right;

	return (a->peak_bytes < b->peak_bytes) - (a->peak_bytes > b->peak_bytes);
}

static bool find_main(struct run_found *found, pid_t pid)
{
	struct run_found_profile main_profile;
	unsigned i = found->count;

	while (i && found->profiles[i - 1].pid != (uint32_t)pid)
		i--;
	if (!i)
		return false;
	main_profile = found->profiles[i - 1];
	memmove(found->profiles + 1, found->profiles, (i - 1) * sizeof(*found->profiles));
	found->profiles[0] = main_profile;
	return true;
}

bool run_found_collect(const char *folder, uint64_t run_id, pid_t main_pid, struct run_found *found,
		       struct error *err)
{
	unsigned first;
	bool done;

	*found = (struct run_found){NULL, 0, false};
	done = collect_in(found, folder, run_id, err);
	found->has_main = find_main(found, main_pid);
	if (!found->has_main) {
		collect_in_temporary(found, folder, run_id);
		found->has_main = find_main(found, main_pid);
	}
	first = found->has_main;
	if (found->count > first)
		qsort(found->profiles + first, found->count - first, sizeof(*found->profiles),
		      compare_peaks);
	return done || found->count;
}

void run_found_free(struct run_found *found)
{
	while (found->count)
		free(found->profiles[--found->count].path);
	free(found->profiles);
	*found = (struct run_found){NULL, 0, false};
}
