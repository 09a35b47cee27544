/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * run_variables.h - the variables PMEM_* of the environment that mean something, and a word about those that do not.
 *
 * The recorder reads its settings in a layer that the tool does not see; a unit test compares the two.
 */
#ifndef PMEM_CMD_RUN_VARIABLES_H
#define PMEM_CMD_RUN_VARIABLES_H
#include <stdio.h>

/* All that the recorder and the tool read; NULL after the last. */
extern const char *const run_variables[];

/* The known name that a misspelled one is likely to mean; NULL: it is like none. */
const char *run_variables_nearest(const char *name);

/* Says of each unknown PMEM_* in environment (of NAME=value, NULL after the last) that it has no effect. */
void run_variables_warn(char *const *environment, FILE *file);

#endif
