/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * refusal.h - why a process may not be stopped, or must not be: and what to do.
 */
#ifndef PMEM_LEAKS_REFUSAL_H
#define PMEM_LEAKS_REFUSAL_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/* Of a ptrace(2) or a file of /proc that failed for the reason (errno).  Always returns false. */
bool refusal_explain(pid_t pid, int reason, struct error *err);

/* Before anything is done: false if there is a sandbox of the process's own that may kill it for a fork, or a debugger. */
bool refusal_check(pid_t pid, struct error *err);

#endif
