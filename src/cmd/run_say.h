/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * run_say.h - a sentence of `pmem run` in lines of 80 columns, unless a word is longer.
 */
#ifndef PMEM_CMD_RUN_SAY_H
#define PMEM_CMD_RUN_SAY_H
#include <stdio.h>

/* "pmem: ..." and further lines below its first word.  text may be from untrusted files. */
void run_say(FILE *file, const char *text);

#endif
