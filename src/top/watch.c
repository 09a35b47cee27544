/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * watch.c - one recorded process, whose profile is opened again and again.
 */
#include "top/watch.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "profile/running.h"

void watch_begin(struct watch *watch, char *path, const struct symbols_options *options)
{
	*watch = (struct watch){.path = path, .options = *options};
	watch->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

void watch_end(struct watch *watch)
{
	names_free(watch->names);
	profile_close(watch->profile);
	if (watch->fd >= 0)
		close(watch->fd);
	free(watch->path);
	*watch = (struct watch){.fd = -1};
}

bool watch_is_over(const struct watch *watch)
{
	return watch->profile && !watch->profile->is_live;
}

/* The second field of /proc/PID/statm, in pages (proc(5)); 0: there is no such process. */
static uint64_t rss_of(uint32_t pid)
{
	char path[64];
	uint64_t pages = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/statm", running_thread(pid));
	file = fopen(path, "re");
	if (!file)
		return 0;
	if (fscanf(file, "%*u %" SCNu64, &pages) != 1)
		pages = 0;
	fclose(file);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* The file that the path leads to, else the one that it led to. */
static bool open_again(const struct watch *watch, struct profile **profile, struct error *err)
{
	char path[64];
	struct error ignored;

	if (profile_open(watch->path, profile, err))
		return true;
	if (watch->fd < 0 || !watch->profile)
		return false;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", watch->fd);
	return profile_open(path, profile, &ignored);
}

static bool is_same_process(const struct profile *left, const struct profile *right)
{
	return left->header.pid == right->header.pid && left->header.image == right->header.image &&
	       left->header.start_realtime_ns == right->header.start_realtime_ns;
}

/* Opens it, once more if it ended meanwhile: the first may have been read before the end. */
static bool read_profile(struct watch *watch, struct profile **profile, struct error *err)
{
	struct profile *last;
	struct error ignored;

	watch->time_ns = clock_monotonic_ns();
	if (!open_again(watch, profile, err))
		return false;
	if (!(*profile)->is_live && open_again(watch, &last, &ignored)) {
		profile_close(*profile);
		*profile = last;
	}
	if (watch->profile && !is_same_process(watch->profile, *profile)) {
		profile_close(*profile);
		return error_set(err, "%s: is the profile of another process by now", watch->path);
	}
	watch->rss_bytes = (*profile)->is_live ? rss_of((*profile)->header.pid) : 0;
	return true;
}

static bool find_names(struct watch *watch, const struct profile *profile, struct error *err)
{
	if (watch->names && names_follow(watch->names, profile))
		return true;
	names_free(watch->names);
	watch->names = names_new_with(profile, &watch->options);
	return watch->names || error_set(err, "%s: no memory for names", watch->path);
}

bool watch_read(struct watch *watch, struct top *top, struct error *err)
{
	struct profile *former = watch->profile, *profile;
	struct top_reading reading;
	bool done;

	if (!read_profile(watch, &profile, err))
		return false;
	watch->profile = profile;
	done = find_names(watch, profile, err);
	if (done) {
		reading = (struct top_reading){profile, watch->names, watch->time_ns,
					       watch->rss_bytes};
		done = top_update(top, &reading, err);
	}
	profile_close(former);
	return done;
}
