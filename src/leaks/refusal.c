/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * refusal.c - see refusal.h.
 */
#include "leaks/refusal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profile/running.h"

enum { SECCOMP_STRICT = 1, SECCOMP_FILTER = 2 };

/* kernel.yama.ptrace_scope; 0 where there is no Yama. */
static int ptrace_scope(void)
{
	FILE *file = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
	int scope = 0;

	if (!file)
		return 0;
	if (fscanf(file, "%d", &scope) != 1)
		scope = 0;
	fclose(file);
	return scope;
}

static bool explain_permission(pid_t pid, struct error *err)
{
	uint64_t tracer = running_status((uint32_t)pid, "TracerPid", 0);
	uint64_t user = running_status((uint32_t)pid, "Uid", 0);
	int scope = ptrace_scope();

	if (tracer)
		return error_set(err,
				 "process %d is traced by process %" PRIu64
				 " (a debugger, strace, or another pmem leaks): end that first",
				 (int)pid, tracer);
	if (geteuid() != 0 && user != geteuid())
		return error_set(err,
				 "process %d is of another user (%" PRIu64
				 "): run pmem leaks as root, or as that user",
				 (int)pid, user);
	if (scope >= 3)
		return error_set(err,
				 "process %d: kernel.yama.ptrace_scope is 3: nobody may look "
				 "into processes until the machine starts anew without it",
				 (int)pid);
	if (scope > 0 && geteuid() != 0)
		return error_set(
			err,
			"process %d may not be stopped (kernel.yama.ptrace_scope is %d): run "
			"pmem leaks as root, or start the program with pmem leaks --at-exit",
			(int)pid, scope);
	return error_set(
		err,
		"process %d may not be stopped: it holds privileges that pmem does not have, "
		"or is of another container: run pmem leaks as root there (with "
		"CAP_SYS_PTRACE)",
		(int)pid);
}

bool refusal_explain(pid_t pid, int reason, struct error *err)
{
	if (reason == EPERM || reason == EACCES)
		return explain_permission(pid, err);
	if (reason == ESRCH || reason == ENOENT)
		return error_set(err, "process %d has ended meanwhile", (int)pid);
	errno = reason;
	return error_set_errno(err, "process %d: it cannot be stopped", (int)pid);
}

/* A container's filter is on us as well, and lets programs fork; one more than we have is the program's own. */
static bool has_own_sandbox(pid_t pid)
{
	uint64_t mode = running_status((uint32_t)pid, "Seccomp", 0);
	uint64_t filters = running_status((uint32_t)pid, "Seccomp_filters", UINT64_MAX);

	if (mode == SECCOMP_STRICT)
		return true;
	return mode == SECCOMP_FILTER &&
	       (filters == UINT64_MAX ||
		filters > running_status((uint32_t)getpid(), "Seccomp_filters", UINT64_MAX));
}

bool refusal_check(pid_t pid, struct error *err)
{
	if (running_status((uint32_t)pid, "TracerPid", 0))
		return explain_permission(pid, err);
	if (has_own_sandbox(pid))
		return error_set(
			err,
			"process %d is in a sandbox of its own (seccomp), which may kill it "
			"for the fork that pmem leaks needs: run the program with pmem leaks "
			"--at-exit, which needs none",
			(int)pid);
	return true;
}
