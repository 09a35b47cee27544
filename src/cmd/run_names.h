/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * run_names.h - keeps the names of code compiled at run time: the maps that tell them lie in /tmp, and do not stay.
 */
#ifndef PMEM_CMD_RUN_NAMES_H
#define PMEM_CMD_RUN_NAMES_H
#include <stdint.h>
#include <sys/types.h>

/* Adds them to the profiles of the ended processes of a run, which lie in folder.  What cannot be added is left alone:
 * reports look for the maps themselves. */
void run_names_keep(const char *folder, uint64_t run_id, pid_t main_pid);

#endif
