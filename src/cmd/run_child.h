/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * run_child.h - runs a program so that its parent, its terminal and its users do not notice who is in between.
 */
#ifndef PMEM_CMD_RUN_CHILD_H
#define PMEM_CMD_RUN_CHILD_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/* Somebody who traces the program. */
struct run_child_watch {
	/* The child waits meanwhile: it has not executed the program yet. */
	void (*begin)(void *context, pid_t pid);
	/* In place of waitpid(pid, status, WNOHANG | WUNTRACED). */
	pid_t (*look)(void *context, int *status);
	void *context;
};

struct run_child {
	const struct run_child_watch *watch; /* NULL = nobody; set by the caller */
	pid_t pid;
	int status; /* as of waitpid(2) */
	uint64_t duration_ns;
};

/* Executes the file at path with argv and this process's environment, and waits for its end.  Signals sent to this
 * process meanwhile are passed on (those of the terminal reach the program itself); a stopped program stops this process
 * too.  Afterwards this process has the signal mask and actions it had before.
 * Returns 0, or CMD_RUN_FAILED, CMD_RUN_CANNOT or CMD_RUN_NOT_FOUND. */
int run_child(const char *path, char **argv, struct run_child *child, struct error *err);

/* Ends as the program did: returns its exit code, or kills this process by the same signal, without a core file. */
int run_child_exit_code(const struct run_child *child);

#endif
