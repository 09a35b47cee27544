/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * no_profile.c - see no_profile.h.
 */
#include "profile/no_profile.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "profile/running.h"

/* What is there under the id, though no process that could be recorded.  True: nothing of that kind. */
static bool can_be_recorded(uint32_t pid, struct error *err)
{
	switch (running_kind(pid)) {
	case RUNNING_KERNEL:
		return error_set(err,
				 "process %" PRIu32
				 " is a thread of the kernel: it has no heap to record",
				 pid);
	case RUNNING_THREAD:
		return error_set(err,
				 "%" PRIu32 " is a thread of process %" PRIu64 ": name the process",
				 pid, running_status(pid, "Tgid", pid));
	case RUNNING_ZOMBIE:
		return error_set(err,
				 "process %" PRIu32
				 " has ended (its parent has not waited for it yet), and it left "
				 "no profile in this folder",
				 pid);
	default:
		return true;
	}
}

/* /proc may hide the processes of others (hidepid, proc(5)). */
static bool is_hidden(uint32_t pid)
{
	return running_kind(pid) == RUNNING_NOTHING && (kill((pid_t)pid, 0) == 0 || errno == EPERM);
}

bool no_profile_left(uint32_t pid, struct error *err)
{
	if (!can_be_recorded(pid, err))
		return false;
	if (is_hidden(pid))
		return error_set(
			err,
			"process %" PRIu32
			" runs, but /proc does not show it (hidepid): run pmem as its user "
			"or as root",
			pid);
	return error_set(err,
			 "%" PRIu32 ": there is no such file and no such process, and it left no "
			 "profile in this folder",
			 pid);
}

static bool refuse_access(uint32_t pid, struct error *err)
{
	uint64_t user = running_status(pid, "Uid", geteuid());

	if (geteuid() == 0)
		return error_set(err,
				 "process %" PRIu32
				 " may not be looked at, though pmem runs as root: it is of "
				 "another container or sandbox, or has privileges that pmem has "
				 "not (CAP_SYS_PTRACE)",
				 pid);
	if (user != geteuid())
		return error_set(err,
				 "process %" PRIu32 " is of another user (%" PRIu64
				 "): run pmem as that user or as root",
				 pid, user);
	return error_set(err,
			 "process %" PRIu32
			 " may not be looked at, though it is of the same user: it has privileges, "
			 "or has forbidden it (PR_SET_DUMPABLE); run pmem as root",
			 pid);
}

bool no_profile_shown(uint32_t pid, int reason, struct error *err)
{
	if (!can_be_recorded(pid, err))
		return false;
	if (reason == EACCES || reason == EPERM)
		return refuse_access(pid, err);
	if (reason == ENOENT || reason == ESRCH)
		return error_set(err, "process %" PRIu32 " has ended meanwhile", pid);
	return error_set(err, "process %" PRIu32 ": its memory map: %s", pid, strerror(reason));
}

bool no_profile_mapped(uint32_t pid, const char *unreadable, int reason, struct error *err)
{
	if (!can_be_recorded(pid, err))
		return false;
	if (unreadable)
		return error_set(err,
				 "process %" PRIu32
				 " seems to be recorded, but its profile cannot be read: %s: %s%s",
				 pid, unreadable, strerror(reason),
				 geteuid() == 0 ? "" : "; run pmem as its user or as root");
	return error_set(err,
			 "process %" PRIu32 " is not recorded by pmem: that begins with the "
			 "program's start: pmem run -- PROGRAM",
			 pid);
}
