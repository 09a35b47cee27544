/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * snapshot.h - a process as it is at one moment, to be looked at while it goes on.
 *
 * The snapshot is a child that the process is made to fork: it has a copy of the memory, is stopped from its birth on and never runs.  It sends
 * no SIGCHLD and the process's wait() does not see it.  If this process dies the kernel kills it.
 */
#ifndef PMEM_LEAKS_SNAPSHOT_H
#define PMEM_LEAKS_SNAPSHOT_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "leaks/stop.h"

/* May lie in memory shared by processes, so that another one can release it. */
struct snapshot {
	pid_t pid;	    /* of the process */
	pid_t child;	    /* 0 = there is none */
	pid_t child_inside; /* its number in the process's PID namespace */
	uint64_t code;	    /* inject.h */
};

/* Roughly how long the process will be stopped. */
uint64_t snapshot_estimate_ns(pid_t pid);

/* Stops the process, makes the snapshot and lets the process go on; *stop has the threads' registers. */
bool snapshot_take(struct snapshot *snapshot, struct stop *stop, pid_t pid, struct error *err);

/* Kills the child, and has the process reap it, for which one of its threads is stopped for a moment; also from another process than that
 * which made it, if that has ended.  False: the process keeps a zombie, which only wait(2) with __WALL or __WCLONE sees. */
bool snapshot_release(struct snapshot *snapshot, struct error *err);

#endif
