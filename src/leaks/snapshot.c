/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * snapshot.c - see snapshot.h.
 */
#include "leaks/snapshot.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "leaks/inject.h"
#include "leaks/refusal.h"
#include "profile/running.h"

enum {
	REAP_ATTEMPTS = 50, /* a process that is killed takes its time to give back its memory */
	KIB = 1024,
	/* Measured (bench/leaks.sh): what fork(2) takes for each KiB of page tables, and a stop for each thread. */
	TABLE_KIB_NS = 8500,
	THREAD_NS = 30000,
	BASE_NS = 300000,
};

#define CHILD_NS UINT64_C(10000000000)

uint64_t snapshot_estimate_ns(pid_t pid)
{
	return BASE_NS + running_status((uint32_t)pid, "VmPTE", 0) * TABLE_KIB_NS +
	       running_status((uint32_t)pid, "Threads", 1) * THREAD_NS;
}

static bool explain_fork(pid_t pid, int64_t result, struct error *err)
{
	errno = (int)-result;
	if (result == -EAGAIN || result == -ENOMEM)
		return error_set_errno(
			err,
			"process %d cannot be copied: a limit on processes or memory "
			"(RLIMIT_NPROC, pids.max, vm.overcommit_memory) forbids it to "
			"fork; raise it, or use pmem leaks --at-exit",
			(int)pid);
	return error_set_errno(err, "process %d cannot be copied", (int)pid);
}

/* From here on the child dies with us. */
static bool hold_child(pid_t child, struct error *err)
{
	int status;

	if (stop_wait(child, &status, stop_now_ns() + CHILD_NS) == child && WIFSTOPPED(status) &&
	    ptrace(PTRACE_SETOPTIONS, child, NULL, (long)PTRACE_O_EXITKILL) == 0)
		return true;
	return error_set(err, "the copy of the process has ended");
}

static bool make_child(struct snapshot *snapshot, const struct stop *stop, struct error *err)
{
	/* clone(0): a fork whose end is told to nobody. */
	struct inject call = {.code = snapshot->code, .number = SYS_clone};
	const struct stop_thread *thread = inject_choose(stop);
	bool done;

	if (!thread)
		return error_set(err, "process %d has ended meanwhile", (int)stop->pid);
	done = inject(thread, &call, err);
	if (call.born) {
		snapshot->child_inside = (pid_t)call.result;
		snapshot->child = call.born;
		done = hold_child(call.born, err) && done;
	}
	if (done && call.result < 0)
		return explain_fork(stop->pid, call.result, err);
	return done;
}

bool snapshot_take(struct snapshot *snapshot, struct stop *stop, pid_t pid, struct error *err)
{
	struct error second;
	bool done;

	snapshot->pid = pid;
	snapshot->child = 0;
	if (!refusal_check(pid, err))
		return false;
	snapshot->code = inject_find_code((pid_t)running_thread((uint32_t)pid));
	if (!snapshot->code)
		return refusal_explain(pid, errno ? errno : EPERM, err);
	if (!stop_begin(stop, pid, err))
		return false;
	done = make_child(snapshot, stop, err);
	stop_end(stop);
	if (!done && snapshot->child)
		snapshot_release(snapshot, &second);
	return done;
}

/* --- its end --------------------------------------------------------------------------------- */

/* One call of wait4() by the process: 0 if the child is not dead yet. */
static bool reap_once(const struct snapshot *snapshot, int64_t *result, struct error *err)
{
	struct inject call = {.code = snapshot->code,
			      .number = SYS_wait4,
			      .arguments = {(uint64_t)snapshot->child_inside, 0, __WALL | WNOHANG}};
	const struct stop_thread *thread;
	struct stop stop = {.pid = 0};
	bool done;

	if (!stop_begin_one(&stop, snapshot->pid, err)) {
		stop_free(&stop);
		return false;
	}
	thread = inject_choose(&stop);
	done = thread && inject(thread, &call, err);
	stop_end(&stop);
	stop_free(&stop);
	*result = call.result;
	return done;
}

/* Waits for the child's death, if it is ours to wait for. */
static void kill_child(pid_t child)
{
	int status;

	kill(child, SIGKILL);
	while (stop_wait(child, &status, stop_now_ns() + CHILD_NS) == child && WIFSTOPPED(status))
		;
}

bool snapshot_release(struct snapshot *snapshot, struct error *err)
{
	const struct timespec pause = {0, 10000000};
	int64_t result = 0;

	if (!snapshot->child)
		return true;
	kill_child(snapshot->child);
	for (int i = 0; i < REAP_ATTEMPTS; i++) {
		if (kill(snapshot->pid, 0) != 0 && errno == ESRCH)
			break;
		if (!reap_once(snapshot, &result, err))
			return false;
		if (result != 0)
			break;
		nanosleep(&pause, NULL);
	}
	snapshot->child = 0;
	return true;
}
