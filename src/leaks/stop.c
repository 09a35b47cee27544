/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stop.c - see stop.h.
 *
 * PTRACE_SEIZE, not PTRACE_ATTACH: no SIGSTOP that the program or its parent could see.  A signal that is about to be delivered is
 * delivered, and the thread stops right behind it.  A thread that is stopped creates no other: when the list of tasks has nothing new,
 * all are known.
 */
#include "leaks/stop.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"
#include "leaks/refusal.h"

enum {
	ATTEMPTS = 5,	/* at processes with a thread that cannot be stopped now */
	CANDIDATES = 4, /* of which one shall stop */
	MORE_MAX = 64 * 1024,
	EVENT_STOP = 128,	  /* PTRACE_EVENT_STOP */
	RESTART_NO_HANDLER = 514, /* ERESTARTNOHAND, include/linux/errno.h in the kernel */
};

enum which {
	WHICH_ALL,
	WHICH_ONE, /* any */
};

/* For one attempt, and between two. */
#define PATIENCE_NS UINT64_C(100000000)
#define PAUSE_NS 50000000L

uint64_t stop_now_ns(void)
{
	return clock_monotonic_ns();
}

bool stop_is_event(int status)
{
	return WIFSTOPPED(status) && status >> 16 == EVENT_STOP;
}

pid_t stop_wait(pid_t tid, int *status, uint64_t deadline_ns)
{
	sigset_t child;
	pid_t got;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	while ((got = waitpid(tid, status, __WALL | WNOHANG)) == 0) {
		uint64_t now = stop_now_ns();
		struct timespec left;

		if (now >= deadline_ns)
			return 0;
		left.tv_sec = (time_t)((deadline_ns - now) / 1000000000);
		left.tv_nsec = (long)((deadline_ns - now) % 1000000000);
		sigtimedwait(&child, NULL, &left);
	}
	return got;
}

bool stop_is_zombie(pid_t pid, pid_t tid)
{
	char path[64], line[512];
	const char *rest;
	size_t size;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)pid, (int)tid);
	file = fopen(path, "re");
	if (!file)
		return true;
	size = fread(line, 1, sizeof(line) - 1, file);
	fclose(file);
	line[size] = '\0';
	rest = strrchr(line, ')');
	return !rest || rest[1] != ' ' || rest[2] == 'Z' || rest[2] == 'X';
}

/* --- the list of threads --------------------------------------------------------------------- */

static struct stop_thread *find(struct stop *stop, pid_t tid)
{
	for (uint32_t i = 0; i < stop->count; i++)
		if (stop->threads[i].tid == tid)
			return &stop->threads[i];
	return NULL;
}

static struct stop_thread *add(struct stop *stop, pid_t tid)
{
	struct stop_thread *threads = stop->threads;

	if (stop->count == stop->room) {
		stop->room = stop->room ? 2 * stop->room : 16;
		threads = realloc(threads, stop->room * sizeof(*threads));
		if (!threads)
			return NULL;
		stop->threads = threads;
	}
	threads[stop->count] = (struct stop_thread){.tid = tid};
	return &threads[stop->count++];
}

/* Returns false with a message; true too if the thread has ended. */
static bool seize(struct stop *stop, pid_t tid, struct error *err)
{
	int reason;

	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) != 0) {
		reason = errno;
		if (reason == ESRCH || stop_is_zombie(stop->pid, tid))
			return true;
		return refusal_explain(stop->pid, reason, err);
	}
	if (add(stop, tid))
		return true;
	ptrace(PTRACE_DETACH, tid, NULL, NULL);
	return error_set(err, "no memory for the threads of process %d", (int)stop->pid);
}

/* Seizes what is new in /proc/PID/task, and counts it; at most limit threads. */
static bool seize_new(struct stop *stop, uint32_t limit, uint32_t *added, struct error *err)
{
	char path[64];
	struct dirent *entry;
	uint32_t before = stop->count;
	bool ok = true;
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)stop->pid);
	folder = opendir(path);
	if (!folder)
		return refusal_explain(stop->pid, errno, err);
	while (ok && stop->count < limit && (entry = readdir(folder))) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (tid > 0 && !find(stop, tid))
			ok = seize(stop, tid, err);
	}
	closedir(folder);
	*added = stop->count - before;
	return ok;
}

/* --- stopping -------------------------------------------------------------------------------- */

static bool read_general(struct stop_thread *thread)
{
	struct iovec part = {&thread->registers, sizeof(thread->registers)};

	return ptrace(PTRACE_GETREGSET, thread->tid, NT_PRSTATUS, &part) == 0 &&
	       part.iov_len == sizeof(thread->registers);
}

/* System calls that the kernel ends with EINTR for any stop (signal(7), "by stop signals"), before they have done anything. */
static bool can_begin_anew(int64_t call)
{
	static const short calls[] = {
		SYS_epoll_wait,	     SYS_epoll_pwait, SYS_semop,   SYS_semtimedop,
		SYS_rt_sigtimedwait, SYS_msgrcv,      SYS_msgsnd,  SYS_read,
		SYS_readv,	     SYS_write,	      SYS_writev,  SYS_recvfrom,
		SYS_recvmsg,	     SYS_recvmmsg,    SYS_sendto,  SYS_sendmsg,
		SYS_sendmmsg,	     SYS_accept,      SYS_accept4, SYS_io_getevents,
#ifdef SYS_epoll_pwait2
		SYS_epoll_pwait2,
#endif
#ifdef SYS_io_uring_enter
		SYS_io_uring_enter,
#endif
	};

	for (unsigned i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (call == calls[i])
			return true;
	return false;
}

/* The program must not see that: the kernel begins the call anew, unless there is a signal with a handler. */
static void hide_interrupt(struct stop_thread *thread)
{
	struct iovec part = {&thread->registers, sizeof(thread->registers)};

	if (thread->state != STOP_STOPPED || arch_registers_result(&thread->registers) != -EINTR ||
	    !can_begin_anew(arch_registers_interrupted(&thread->registers)))
		return;
	arch_registers_set_result(&thread->registers, -RESTART_NO_HANDLER);
	ptrace(PTRACE_SETREGSET, thread->tid, NT_PRSTATUS, &part);
}

/* A CPU need not have all sets. */
static bool read_more(struct stop_thread *thread)
{
	static const unsigned sets[] = ARCH_REGISTER_SETS;
	char *bytes = malloc(MORE_MAX), *kept;
	size_t size = 0;

	if (!bytes)
		return false;
	for (unsigned i = 0; sets[i]; i++) {
		struct iovec part = {bytes + size, MORE_MAX - size};

		if (ptrace(PTRACE_GETREGSET, thread->tid, (void *)(uintptr_t)sets[i], &part) == 0)
			size += part.iov_len & ~(size_t)(sizeof(uint64_t) - 1);
	}
	kept = realloc(bytes, size ? size : 1);
	thread->more = (uint64_t *)(void *)(kept ? kept : bytes);
	thread->more_count = size / sizeof(uint64_t);
	return true;
}

/* The thread, seen in a stop or at its end. */
static void note(struct stop_thread *thread, int status)
{
	if (!WIFSTOPPED(status)) {
		thread->state = STOP_GONE;
	} else if (stop_is_event(status)) {
		/* Here, as it may be let go without having been looked at. */
		thread->state = read_general(thread) ? STOP_STOPPED : STOP_GONE;
		hide_interrupt(thread);
	} else {
		/* A signal: it is delivered; the stop is still to come. */
		ptrace(PTRACE_CONT, thread->tid, NULL, (void *)(uintptr_t)WSTOPSIG(status));
	}
}

/* The first thread in a state. */
static struct stop_thread *first_of(struct stop *stop, enum stop_state state)
{
	for (uint32_t i = 0; i < stop->count; i++)
		if (stop->threads[i].state == state)
			return &stop->threads[i];
	return NULL;
}

/* Waits for those that were interrupted: all, or the first.  False: one does not stop. */
static bool wait_for(struct stop *stop, enum which which, uint64_t deadline_ns)
{
	struct stop_thread *thread;
	int status;

	while (first_of(stop, STOP_SEIZED)) {
		pid_t tid;

		if (which == WHICH_ONE && first_of(stop, STOP_STOPPED))
			break;
		tid = stop_wait(-1, &status, deadline_ns);
		if (tid <= 0)
			return false;
		thread = find(stop, tid);
		if (thread)
			note(thread, status);
	}
	return true;
}

static bool explain_thread(const struct stop *stop, const struct stop_thread *thread,
			   struct error *err)
{
	return error_set(err,
			 "process %d: its thread %d does not stop: it is inside the kernel and "
			 "cannot be interrupted (state D in ps: waiting for a disk, or between "
			 "vfork and exec); the process goes on as before: try again",
			 (int)stop->pid, (int)thread->tid);
}

static void interrupt(const struct stop *stop, uint32_t from)
{
	for (uint32_t i = from; i < stop->count; i++)
		ptrace(PTRACE_INTERRUPT, stop->threads[i].tid, NULL, NULL);
}

static bool read_all(struct stop *stop, struct error *err)
{
	uint32_t known = 0;

	for (uint32_t i = 0; i < stop->count; i++) {
		struct stop_thread *thread = &stop->threads[i];

		if (thread->state != STOP_STOPPED)
			continue;
		if (!read_more(thread))
			return error_set(err, "no memory for the threads' registers");
		known++;
	}
	return known > 0 || error_set(err, "process %d has ended meanwhile", (int)stop->pid);
}

/* *again: it may succeed later. */
static bool attempt(struct stop *stop, enum which which, bool *again, struct error *err)
{
	uint64_t deadline_ns = stop_now_ns() + PATIENCE_NS;
	uint32_t limit = which == WHICH_ONE ? stop->count + CANDIDATES : UINT32_MAX;
	uint32_t from = 0, added;

	*again = false;
	if (!seize_new(stop, limit, &added, err))
		return false;
	stop->began_ns = stop_now_ns();
	do {
		interrupt(stop, from);
		from = stop->count;
		if (!wait_for(stop, which, deadline_ns)) {
			*again = true;
			return explain_thread(stop, first_of(stop, STOP_SEIZED), err);
		}
		if (which == WHICH_ALL && !seize_new(stop, limit, &added, err))
			return false;
	} while (which == WHICH_ALL && added);
	return read_all(stop, err);
}

static bool begin(struct stop *stop, pid_t pid, enum which which, struct error *err)
{
	const struct timespec pause = {0, PAUSE_NS};
	bool again = true;

	stop->pid = pid;
	stop->is_whole = which == WHICH_ALL;
	for (int i = 0; i < ATTEMPTS && again; i++) {
		if (i > 0)
			nanosleep(&pause, NULL);
		if (attempt(stop, which, &again, err))
			return true;
		stop_end(stop);
		stop_forget(stop);
	}
	return false;
}

bool stop_begin(struct stop *stop, pid_t pid, struct error *err)
{
	return begin(stop, pid, WHICH_ALL, err);
}

bool stop_begin_one(struct stop *stop, pid_t pid, struct error *err)
{
	return begin(stop, pid, WHICH_ONE, err);
}

bool stop_add_stopped(struct stop *stop, pid_t tid)
{
	struct stop_thread *thread = add(stop, tid);

	if (!thread)
		return false;
	thread->state = STOP_STOPPED;
	return read_general(thread) && read_more(thread);
}

/* --- going on -------------------------------------------------------------------------------- */

/* Only a thread that is stopped can be let go.  One that is inside the kernel still is let go by the end of this process. */
static void let_go(struct stop_thread *thread)
{
	uint64_t deadline_ns = stop_now_ns() + PATIENCE_NS;
	int status;

	while (thread->state == STOP_SEIZED && stop_wait(thread->tid, &status, deadline_ns) > 0)
		note(thread, status);
	if (thread->state == STOP_SEIZED)
		return;
	if (thread->state == STOP_STOPPED)
		ptrace(PTRACE_DETACH, thread->tid, NULL, NULL);
	thread->state = STOP_GONE;
}

void stop_end(struct stop *stop)
{
	for (uint32_t i = 0; i < stop->count; i++)
		if (stop->threads[i].state == STOP_STOPPED)
			let_go(&stop->threads[i]);
	if (stop->began_ns)
		stop->paused_ns += stop_now_ns() - stop->began_ns;
	stop->began_ns = 0;
	for (uint32_t i = 0; i < stop->count; i++)
		if (stop->threads[i].state == STOP_SEIZED)
			let_go(&stop->threads[i]);
}

/* What stays are threads that did not stop yet, and could not be let go. */
void stop_forget(struct stop *stop)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < stop->count; i++) {
		if (stop->threads[i].state == STOP_SEIZED) {
			stop->threads[kept++] = stop->threads[i];
			continue;
		}
		free(stop->threads[i].more);
	}
	stop->count = kept;
}

void stop_free(struct stop *stop)
{
	for (uint32_t i = 0; i < stop->count; i++)
		free(stop->threads[i].more);
	free(stop->threads);
	*stop = (struct stop){0};
}
