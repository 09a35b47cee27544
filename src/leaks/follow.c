/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * follow.c - see follow.h.
 *
 * A thread that ends is stopped in PTRACE_EVENT_EXIT, where its registers and all memory are there still.  If the process as a whole ends, all
 * its threads come there, one after another, and are kept until the last one has.
 */
#include "leaks/follow.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "arch/registers.h"
#include "leaks/refusal.h"
#include "profile/running.h"

/* Threads that end for another one's exec come before anything says so: they are kept for so long only. */
#define DOUBT_NS UINT64_C(300000000)
/* All others come at once, but for those that are inside the kernel. */
#define END_NS UINT64_C(3000000000)

bool follow_begin(struct follow *follow, pid_t pid, struct error *err)
{
	const long options = PTRACE_O_TRACEEXIT | PTRACE_O_TRACECLONE;

	follow->pid = pid;
	follow->held.pid = pid;
	return ptrace(PTRACE_SEIZE, pid, NULL, options) == 0 || refusal_explain(pid, errno, err);
}

static void go_on(pid_t tid, int number)
{
	ptrace(PTRACE_CONT, tid, NULL, (void *)(uintptr_t)number);
}

/* --- the end --------------------------------------------------------------------------------- */

static bool is_held(const struct follow *follow, pid_t tid)
{
	for (uint32_t i = 0; i < follow->held.count; i++)
		if (follow->held.threads[i].tid == tid)
			return true;
	return false;
}

/* Threads of the program that are neither held nor gone. */
static unsigned count_others(const struct follow *follow)
{
	char path[64];
	unsigned count = 0;
	struct dirent *entry;
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)follow->pid);
	folder = opendir(path);
	while (folder && (entry = readdir(folder))) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

		count += tid > 0 && !is_held(follow, tid) && !stop_is_zombie(follow->pid, tid);
	}
	if (folder)
		closedir(folder);
	return count;
}

/* How a thread that is stopped at its end came there. */
enum ending {
	ENDING_THREAD,	/* alone */
	ENDING_PROCESS, /* it ends the process */
	ENDING_DOUBT,	/* another one ends it, or executes a program */
	ENDING_KILLED,	/* a signal ends the process */
};

static enum ending ending_of(const struct follow *follow, pid_t tid)
{
	const struct stop_thread *thread = &follow->held.threads[follow->held.count - 1];
	int64_t call = arch_registers_interrupted(&thread->registers);
	unsigned long code = 0;

	ptrace(PTRACE_GETEVENTMSG, tid, NULL, &code);
	if (code & 127)
		return ENDING_KILLED;
	if (call == SYS_exit_group)
		return ENDING_PROCESS;
	if (call == SYS_exit)
		return count_others(follow) ? ENDING_THREAD : ENDING_PROCESS;
	return ENDING_DOUBT;
}

static void release_held(struct follow *follow)
{
	for (uint32_t i = 0; i < follow->held.count; i++)
		go_on(follow->held.threads[i].tid, 0);
	stop_free(&follow->held);
	follow->held.pid = follow->pid;
}

/* A thread at its end: kept, or sent on.  *ends: it is known now that the process ends. */
static void hold(struct follow *follow, pid_t tid, bool *ends)
{
	if (follow->done || !stop_add_stopped(&follow->held, tid)) {
		go_on(tid, 0);
		return;
	}
	switch (ending_of(follow, tid)) {
	case ENDING_PROCESS:
		*ends = true;
		return;
	case ENDING_DOUBT:
		return;
	case ENDING_THREAD:
		if (*ends)
			return;
		break;
	case ENDING_KILLED:
		follow->done = true;
		break;
	}
	free(follow->held.threads[--follow->held.count].more);
	go_on(tid, 0);
}

/* --- events ---------------------------------------------------------------------------------- */

static bool is_stop_signal(int number)
{
	return number == SIGSTOP || number == SIGTSTP || number == SIGTTIN || number == SIGTTOU;
}

/* A stop of a thread that is not at its end.  True: the program was stopped by a signal, and that is news. */
static bool pass(struct follow *follow, pid_t tid, int status)
{
	int number = WSTOPSIG(status);

	if (stop_is_event(status) && is_stop_signal(number)) {
		ptrace(PTRACE_LISTEN, tid, NULL, NULL);
		return tid == follow->pid;
	}
	/* A child that was made by a raw clone(2) is followed as a thread would be: it is let go. */
	if (stop_is_event(status) && tid != follow->pid &&
	    running_status((uint32_t)tid, "Tgid", 0) != (uint64_t)follow->pid)
		ptrace(PTRACE_DETACH, tid, NULL, NULL);
	else
		go_on(tid, status >> 16 ? 0 : number);
	return false;
}

/* Takes one event.  Returns the program's id if it has ended or was stopped. */
static pid_t take(struct follow *follow, pid_t tid, int *status, bool *ends)
{
	if (!WIFSTOPPED(*status))
		return tid == follow->pid ? tid : 0;
	if (*status >> 16 == PTRACE_EVENT_EXIT) {
		hold(follow, tid, ends);
		return 0;
	}
	if (!pass(follow, tid, *status))
		return 0;
	*status &= 0xffff;
	return tid;
}

/* Some threads are held: waits until all are, or it turns out that the process goes on. */
static pid_t collect(struct follow *follow, int *status, bool ends)
{
	uint64_t began_ns = stop_now_ns();
	pid_t told = 0;

	while (follow->held.count && !told && (!ends || count_others(follow))) {
		pid_t tid = stop_wait(-1, status, began_ns + (ends ? END_NS : DOUBT_NS));

		if (tid <= 0)
			break;
		told = take(follow, tid, status, &ends);
	}
	if (ends && follow->held.count && !follow->done) {
		follow->done = true;
		follow->at_end(follow->context, &follow->held);
	}
	release_held(follow);
	return told;
}

pid_t follow_look(struct follow *follow, int *status)
{
	pid_t tid, told = 0;
	bool ends = false;

	while (!told && (tid = waitpid(-1, status, __WALL | WNOHANG)) > 0) {
		told = take(follow, tid, status, &ends);
		if (follow->held.count)
			told = collect(follow, status, ends);
		ends = false;
	}
	return told;
}
