/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * leaks_live.c - `pmem leaks PID`.
 *
 * The work is done by a child of this process, the worker, which blocks signals while the program is stopped: whatever happens to the process that
 * was started by the user, also SIGKILL, the program goes on.  If the worker is killed, a thread of the program that makes a call for it comes back by
 * itself (arch/errand.h), the kernel kills the snapshot, and the process that was started has the program reap it.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/leaks_parts.h"
#include "cmd/run_child.h"
#include "leaks/snapshot.h"
#include "profile/find.h"
#include "profile/running.h"

static const int ending_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
static const int pausing_signals[] = {SIGTSTP, SIGTTIN, SIGTTOU, SIGPIPE};

enum { ENDING = 4, PAUSING = 4 };

/* Those that end this process, or stop it: not while a program waits for it. */
static void fill(sigset_t *set)
{
	sigemptyset(set);
	for (int i = 0; i < ENDING; i++)
		sigaddset(set, ending_signals[i]);
	for (int i = 0; i < PAUSING; i++)
		sigaddset(set, pausing_signals[i]);
}

static void block(void)
{
	sigset_t set;

	fill(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

static void unblock(void)
{
	sigset_t set;

	fill(&set);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

/* --- the worker ------------------------------------------------------------------------------ */

static void announce(const struct leaks_request *request, pid_t pid, uint64_t expected_ns)
{
	char text[UNITS_SIZE];

	if (request->quiet)
		return;
	fprintf(stderr, "pmem leaks: process %d will be stopped for about %s\n", (int)pid,
		units_duration(expected_ns, text));
}

/* What makes a search impossible is found before anything is done to the program. */
static bool begin(const char *name, struct snapshot *snapshot, struct error *err)
{
	pid_t pid = (pid_t)strtol(name, NULL, 10);
	struct profile *profile;
	bool ok;

	if (!find_and_open(name, &profile, err))
		return false;
	ok = profile->is_live ||
	     error_set(err, "process %s has ended, or is not recorded any more", name);
	ok = ok && leaks_can(profile, err) && snapshot_begin(snapshot, pid, profile, err);
	profile_close(profile);
	return ok;
}

static bool search(struct leaks_request *request, struct snapshot *snapshot,
		   struct leaks_found *found, struct error *err)
{
	pid_t pid = snapshot->pid;
	struct stop stop = {.pid = 0};
	struct leaks_source source = {.stop = &stop,
				      .original = (pid_t)running_thread((uint32_t)pid)};
	struct error second;
	bool ok;

	found->expected_ns = snapshot_estimate_ns(pid);
	announce(request, pid, found->expected_ns);
	block();
	ok = snapshot_take(snapshot, &stop, err);
	unblock();
	found->paused_ns = stop.paused_ns;
	source.pid = snapshot->child.pid;
	ok = ok && leaks_found_search(request, &source, found, err);
	block();
	if (!snapshot_release(snapshot, &second))
		fprintf(stderr, "pmem leaks: the snapshot stays as a zombie of process %d: %s\n",
			(int)pid, second.text);
	unblock();
	stop_free(&stop);
	return ok;
}

static int work(struct leaks_request *request, const char *name, struct snapshot *snapshot)
{
	struct leaks_found found = {.name = name};
	struct error err = {""};
	sigset_t child;
	int code;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	if (!begin(name, snapshot, &err) || !search(request, snapshot, &found, &err)) {
		leaks_found_free(&found);
		return cmd_fail("leaks", &err);
	}
	sigprocmask(SIG_UNBLOCK, &child, NULL);
	code = leaks_found_show(request, &found, &err) ? leaks_found_code(request, &found)
						       : cmd_fail("leaks", &err);
	leaks_found_free(&found);
	return code;
}

/* --- the process that the user started ------------------------------------------------------- */

/* Waits for the worker, and passes on what would end it. */
static int wait_for_worker(pid_t worker)
{
	sigset_t set;
	int status = 0, number;

	fill(&set);
	sigaddset(&set, SIGCHLD);
	while (waitpid(worker, &status, WNOHANG) != worker) {
		number = sigwaitinfo(&set, NULL);
		if (number > 0 && number != SIGCHLD)
			kill(worker, number);
	}
	return status;
}

static int end_as(int status, struct snapshot *snapshot)
{
	const struct run_child child = {.status = status};
	struct error err;

	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	if (!snapshot_release(snapshot, &err))
		cmd_fail("leaks", &err);
	return run_child_exit_code(&child);
}

int leaks_live(struct leaks_request *request, const char *name)
{
	struct snapshot *snapshot = mmap(NULL, sizeof(*snapshot), PROT_READ | PROT_WRITE,
					 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	const struct sigaction standard = {.sa_handler = SIG_DFL};
	struct error err;
	sigset_t child;
	pid_t worker;

	if (snapshot == MAP_FAILED) {
		error_set_errno(&err, "no memory");
		return cmd_fail("leaks", &err);
	}
	/* An ignored one would make wait fail. */
	sigaction(SIGCHLD, &standard, NULL);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	block();
	fflush(NULL);
	worker = fork();
	if (worker == 0) {
		unblock();
		exit(work(request, name, snapshot));
	}
	if (worker > 0)
		return end_as(wait_for_worker(worker), snapshot);
	error_set_errno(&err, "fork");
	return cmd_fail("leaks", &err);
}
