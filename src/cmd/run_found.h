/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * run_found.h - the profiles that one run left.
 *
 * Only their headers are read here: a build leaves thousands, and the summary shows six.
 */
#ifndef PMEM_CMD_RUN_FOUND_H
#define PMEM_CMD_RUN_FOUND_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct run_found_profile {
	char *path;
	uint32_t pid;
	uint64_t peak_bytes;
};

struct run_found {
	struct run_found_profile *
		profiles; /* [count]; the started process's last image first, if it is there; the rest by peak */
	unsigned count;
	bool has_main;
};

/* The profiles of run_id in folder, and, where the recorder had to go there, in $TMPDIR; main_pid is the started process.
 * False: none, because folder cannot be read. */
bool run_found_collect(const char *folder, uint64_t run_id, pid_t main_pid, struct run_found *found,
		       struct error *err);
void run_found_free(struct run_found *found);

#endif
