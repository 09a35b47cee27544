/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * find.h - which profile a person means by a file, a pid, a folder, or nothing.
 */
#ifndef PMEM_PROFILE_FIND_H
#define PMEM_PROFILE_FIND_H
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "profile/profile.h"

/* The path of the profile (to be freed) that name means:
 *   a file        that file;
 *   a pid         the profile that the process has mapped (/proc/PID/maps, reached through /proc/PID/map_files or
 *                 /proc/PID/root if its path does not lead there); of one that has ended, the newest *.prof in the
 *                 current folder that says it is of this pid, else pmem.PID.bundle there;
 *   a folder      the newest *.prof or *.bundle in it, by the end of its last change;
 *   NULL          the newest in the current folder.
 * False: there is none; the message says where one would be and how to make one. */
bool find_profile(const char *name, char **path, struct error *err);

/* The same, but bundles are passed over: for who makes them. */
bool find_unbundled(const char *name, char **path, struct error *err);

/* Opens the profile that name means. */
bool find_and_open(const char *name, struct profile **profile, struct error *err);

/* Calls visit() for each profile (*.prof) in a folder; changed_ns is the end of its last change, CLOCK_REALTIME.  False: the folder
 * cannot be read. */
bool find_each(const char *folder,
	       void (*visit)(const char *path, const struct format_header *header,
			     uint64_t changed_ns, void *context),
	       void *context, struct error *err);

/* To be freed, each and the array. */
struct find_paths {
	char **items;
	unsigned count;
};

/* All profiles of one `pmem run` (header.run_id) in a folder, by start. */
bool find_run(const char *folder, unsigned long long run_id, struct find_paths *paths,
	      struct error *err);

struct find_running {
	uint32_t pid;
	char *path; /* of its profile */
};

/* All processes that run, are recorded and can be read, by pid: to be freed by find_running_free().  False: no memory, or no /proc. */
bool find_running(struct find_running **found, unsigned *count, struct error *err);
void find_running_free(struct find_running *found, unsigned count);

#endif
