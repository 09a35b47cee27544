/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * overview.h - what `pmem` alone and `pmem help` print.
 */
#ifndef PMEM_CMD_OVERVIEW_H
#define PMEM_CMD_OVERVIEW_H
#include <stdio.h>

/* Examples and the list of commands; less than a screen. */
void overview_print(FILE *file);

#endif
