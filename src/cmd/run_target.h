/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * run_target.h - the program that `pmem run` starts: where it lies, and whether the loader will preload libpmem.so.
 */
#ifndef PMEM_CMD_RUN_TARGET_H
#define PMEM_CMD_RUN_TARGET_H
#include <limits.h>
#include <stdbool.h>

#include "base/error.h"

struct run_target {
	const char *name;    /* as given */
	char path[PATH_MAX]; /* what to execute */
	const char *library; /* libpmem.so */
};

/* Fills path from name as execvp(3) does.  Returns 0, CMD_RUN_CANNOT or CMD_RUN_NOT_FOUND. */
int run_target_find(struct run_target *target, struct error *err);

/* Returns 0 if the program can be recorded, or nothing speaks against it; else CMD_RUN_CANNOT (CMD_RUN_FAILED for a libpmem.so
 * that is none), and the message says why and what to do instead. */
int run_target_check(const struct run_target *target, struct error *err);

/* True for a C++ program over an allocator that is no part of the C library: those have their own operator new, which would not
 * reach our malloc(), so libstdc++'s must come before them. */
bool run_target_wants_libstdcxx(const struct run_target *target);

#endif
