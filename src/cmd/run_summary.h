/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * run_summary.h - what `pmem run` says at the end.
 */
#ifndef PMEM_CMD_RUN_SUMMARY_H
#define PMEM_CMD_RUN_SUMMARY_H
#include <stdint.h>
#include <stdio.h>

#include "cmd/run_child.h"

struct run_summary {
	const char *program; /* as given */
	const char *folder;  /* of the profiles */
	const char *moved;   /* an older profile's new name; NULL = none */
	const char *only;    /* NULL = all */
	uint64_t run_id;
	const struct run_child *child;
};

/* At most 15 lines: the started process first (its last image, if it executed others), then the other processes. */
void run_summary_print(const struct run_summary *summary, FILE *file);

#endif
