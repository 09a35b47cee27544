/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * snapshot.c - see snapshot.h.
 */
#include "leaks/snapshot.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "leaks/refusal.h"
#include "leaks/turn.h"
#include "profile/running.h"

enum {
	REAP_ATTEMPTS = 50, /* a process that is killed takes its time to give back its memory */
	STOP_ATTEMPTS = 20,
	PAUSE_NS = 10000000,
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

static bool explain_errand(pid_t pid, struct error *err)
{
	return error_set(err,
			 "process %d: a pmem leaks was killed while it had one of its threads "
			 "make a system call, and the thread is still on its way back: try again "
			 "when the process runs",
			 (int)pid);
}

static bool make_child(struct snapshot *snapshot, const struct stop *stop, struct error *err)
{
	/* clone(0): a fork whose end is told to nobody. */
	struct inject call = {
		.errand = &snapshot->errand, .number = SYS_clone, .born = &snapshot->child};
	const struct stop_thread *thread = inject_choose(stop);
	bool done;

	if (!thread)
		return error_set(err, "process %d has ended meanwhile", (int)stop->pid);
	done = inject(thread, &call, err);
	if (call.born->pid)
		done = hold_child(call.born->pid, err) && done;
	if (done && call.result < 0)
		return explain_fork(stop->pid, call.result, err);
	return done;
}

bool snapshot_begin(struct snapshot *snapshot, pid_t pid, const struct profile *profile,
		    struct error *err)
{
	const struct format_errand *errand = &profile->header.errand;

	*snapshot = (struct snapshot){.pid = pid, .errand = *errand};
	if (!errand->memory || errand->fork >= errand->end)
		return error_set(err, "%s: the recorder has no code that pmem leaks can use",
				 profile->path);
	if (strlen(profile->path) < sizeof(snapshot->profile))
		strcpy(snapshot->profile, profile->path);
	return true;
}

/* Stops all threads, at a moment at which none is on its way home. */
static bool stop_all(const struct snapshot *snapshot, struct stop *stop, struct error *err)
{
	const struct timespec pause = {0, PAUSE_NS};

	for (int i = 0; i < STOP_ATTEMPTS; i++) {
		if (!stop_begin(stop, snapshot->pid, err))
			return false;
		if (inject_may(stop, &snapshot->errand))
			return true;
		stop_end(stop);
		stop_forget(stop);
		nanosleep(&pause, NULL);
	}
	return explain_errand(snapshot->pid, err);
}

bool snapshot_take(struct snapshot *snapshot, struct stop *stop, struct error *err)
{
	struct error second;
	bool done;
	int turn;

	if (!turn_begin(snapshot->profile, &turn, err))
		return false;
	done = refusal_check(snapshot->pid, err) && stop_all(snapshot, stop, err);
	if (done) {
		done = make_child(snapshot, stop, err);
		stop_end(stop);
	}
	turn_end(turn);
	if (!done)
		snapshot_release(snapshot, &second);
	return done;
}

/* --- its end --------------------------------------------------------------------------------- */

/* True while the child is there, dead or not: it may have been reaped, and its number be another process's. */
static bool has_child(const struct snapshot *snapshot)
{
	char path[64], line[512];
	const char *rest;
	int parent = 0;
	size_t size;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)snapshot->child.pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	size = fread(line, 1, sizeof(line) - 1, file);
	fclose(file);
	line[size] = '\0';
	rest = strrchr(line, ')');
	return rest && sscanf(rest, ") %*c %d", &parent) == 1 && parent == snapshot->pid;
}

/* One thread is enough, if no other may be on its way home. */
static bool stop_some(const struct snapshot *snapshot, struct stop *stop, struct error *err)
{
	if (!stop_begin_one(stop, snapshot->pid, err))
		return false;
	if (inject_may(stop, &snapshot->errand))
		return true;
	stop_end(stop);
	stop_forget(stop);
	return stop_all(snapshot, stop, err);
}

/* One call of wait4() by the process: 0 if the child is not dead yet. */
static bool reap_once(const struct snapshot *snapshot, int64_t *result, struct error *err)
{
	struct inject call = {.errand = &snapshot->errand,
			      .number = SYS_wait4,
			      .arguments = {(uint64_t)snapshot->child.inside, 0, __WALL | WNOHANG}};
	const struct stop_thread *thread;
	struct stop stop = {.pid = 0};
	bool done = stop_some(snapshot, &stop, err);

	if (done) {
		thread = inject_choose(&stop);
		done = thread && inject(thread, &call, err);
		stop_end(&stop);
	}
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

/* Until the child has gone.  One whose number the process was not told yet is reaped by that very thread. */
static bool reap(const struct snapshot *snapshot, struct error *err)
{
	const struct timespec pause = {0, PAUSE_NS};
	int64_t result = 0;

	for (int i = 0; i < REAP_ATTEMPTS && result == 0 && has_child(snapshot); i++) {
		if (snapshot->child.inside > 0 && !reap_once(snapshot, &result, err))
			return false;
		if (result == 0)
			nanosleep(&pause, NULL);
	}
	return true;
}

bool snapshot_release(struct snapshot *snapshot, struct error *err)
{
	bool done;
	int turn;

	if (!snapshot->child.pid || !has_child(snapshot))
		return true;
	kill_child(snapshot->child.pid);
	if (!turn_begin(snapshot->profile, &turn, err))
		return false;
	done = reap(snapshot, err);
	turn_end(turn);
	if (done)
		snapshot->child = (struct inject_born){.pid = 0};
	return done;
}
