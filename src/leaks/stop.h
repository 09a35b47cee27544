/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stop.h - stops all threads of a process by ptrace(2), and lets them go on as if nothing had been.
 *
 * A thread that waits in a system call goes on waiting: the kernel begins the call anew, or its rest, as after SIGCONT.  SIGCHLD
 * must be blocked in this process, which has no other children meanwhile.
 */
#ifndef PMEM_LEAKS_STOP_H
#define PMEM_LEAKS_STOP_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "arch/registers.h"
#include "base/error.h"

enum stop_state {
	STOP_SEIZED, /* it runs */
	STOP_STOPPED,
	STOP_GONE,
};

struct stop_thread {
	pid_t tid;
	enum stop_state state;
	struct arch_registers registers;
	uint64_t *more; /* the other registers that may hold pointers */
	size_t more_count;
};

struct stop {
	pid_t pid;
	struct stop_thread *threads;
	uint32_t count;
	uint32_t room;
	bool is_whole;	    /* all threads are stopped, not one */
	uint64_t paused_ns; /* how long threads were stopped, also in vain */
	uint64_t began_ns;  /* of this stop; 0 = none */
};

/* Stops all threads, and reads their registers.  False: all go on, and the message says why. */
bool stop_begin(struct stop *stop, pid_t pid, struct error *err);

/* The same of one thread; the others are not touched. */
bool stop_begin_one(struct stop *stop, pid_t pid, struct error *err);

/* All go on; their registers stay known. */
void stop_end(struct stop *stop);

/* After stop_end(): forgets the threads, for another beginning. */
void stop_forget(struct stop *stop);
void stop_free(struct stop *stop);

/* Adds a thread that is stopped already; its registers are read.  False: no memory, or it has gone. */
bool stop_add_stopped(struct stop *stop, pid_t tid);

/* waitpid(tid, status, __WALL) until deadline_ns of stop_now_ns().  Returns the thread, 0 when it is too late, -1: there is none. */
pid_t stop_wait(pid_t tid, int *status, uint64_t deadline_ns);

/* True if a thread has ended.  A main thread that ended before the others stays as a zombie, which nobody can seize. */
bool stop_is_zombie(pid_t pid, pid_t tid);

/* CLOCK_MONOTONIC. */
uint64_t stop_now_ns(void);

/* True if the status is that of a thread that PTRACE_INTERRUPT or a stop of its whole process has stopped. */
bool stop_is_event(int status);

#endif
