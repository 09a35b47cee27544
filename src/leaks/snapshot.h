/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * snapshot.h - a process as it is at one moment, to be looked at while it goes on.
 *
 * The snapshot is a child that the process is made to fork: it has a copy of the memory, is stopped from its birth on and never runs.  It sends
 * no SIGCHLD and the process's wait() does not see it.  If this process dies the kernel kills it, or it ends by itself.
 */
#ifndef PMEM_LEAKS_SNAPSHOT_H
#define PMEM_LEAKS_SNAPSHOT_H
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "leaks/inject.h"
#include "leaks/stop.h"
#include "profile/profile.h"

/* May lie in memory shared by processes, so that another one can release it. */
struct snapshot {
	pid_t pid;		     /* of the process */
	struct inject_born child;    /* none at first */
	struct format_errand errand; /* of the process */
	char profile[PATH_MAX];
};

/* The beginning, with the profile of the process.  False: no snapshot can be made of it. */
bool snapshot_begin(struct snapshot *snapshot, pid_t pid, const struct profile *profile,
		    struct error *err);

/* Roughly how long the process will be stopped. */
uint64_t snapshot_estimate_ns(pid_t pid);

/* After snapshot_begin(): stops the process, makes the snapshot and lets the process go on; *stop has the threads' registers. */
bool snapshot_take(struct snapshot *snapshot, struct stop *stop, struct error *err);

/* Kills the child, and has the process reap it, for which one of its threads is stopped for a moment; also from another process than that
 * which made it, if that has ended.  False: the process keeps a zombie, which only wait(2) with __WALL or __WCLONE sees. */
bool snapshot_release(struct snapshot *snapshot, struct error *err);

#endif
