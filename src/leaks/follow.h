/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * follow.h - follows a program that this process started to its end, and stops it there before its memory goes.
 *
 * The program is traced, but runs freely: it is stopped where a thread begins or ends, and for signals, which are passed on.  If this
 * process dies, the program goes on without it.
 */
#ifndef PMEM_LEAKS_FOLLOW_H
#define PMEM_LEAKS_FOLLOW_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "leaks/stop.h"

struct follow {
	/* Called once, when the program is about to end by itself: by exit, or a return from main.  stop has its threads. */
	void (*at_end)(void *context, const struct stop *stop);
	void *context;
	/* Zero at first: */
	pid_t pid;
	bool done; /* at_end() was called */
	struct stop held;
};

/* Begins with a child that has not executed its program yet. */
bool follow_begin(struct follow *follow, pid_t pid, struct error *err);

/* Deals with all that has happened, as waitpid(pid, status, WNOHANG | WUNTRACED) would tell it: returns the program's process id if it has
 * ended, or was stopped, else 0. */
pid_t follow_look(struct follow *follow, int *status);

#endif
