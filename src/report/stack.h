/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stack.h - one call stack on the screen.
 */
#ifndef PMEM_REPORT_STACK_H
#define PMEM_REPORT_STACK_H
#include "report/report.h"

/* Prints the frames of a call stack from its site outwards, at most lines lines (0 = no limit): one for each function,
 * recursion folded.  Frames of libraries and runtimes are left out and counted, but with --all-frames. */
void stack_print(const struct report *report, uint32_t stack, unsigned lines);

#endif
