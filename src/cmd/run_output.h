/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * run_output.h - where the profiles of a run go.
 *
 * The pattern is what the recorder expands for each process image: %p process id, %h host, %e program, %t start, %% a percent
 * sign.  The recorder never overwrites; it numbers.  So what -o names must be out of the way before.
 */
#ifndef PMEM_CMD_RUN_OUTPUT_H
#define PMEM_CMD_RUN_OUTPUT_H
#include <stdbool.h>

#include "base/error.h"

struct run_output {
	char *pattern; /* absolute; only the part behind the last slash is a pattern; ends in .prof */
	char *folder; /* the rest */
	char *moved;  /* what an older profile of that name is called now; NULL = there was none */
};

/* Checks that profiles can be written where name (NULL: the current folder, pmem.%p.prof) says, and moves an older profile that
 * is in the way to NAME.old.  The texts are to be freed by run_output_free(). */
bool run_output_prepare(const char *name, struct run_output *output, struct error *err);
void run_output_free(struct run_output *output);

#endif
