/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stack.h - one call stack on the screen.
 */
#ifndef PMEM_REPORT_STACK_H
#define PMEM_REPORT_STACK_H
#include "report/name.h"
#include "report/report.h"

/* A function, and how often it calls itself in a row. */
struct stack_line {
	struct name name;
	uint32_t place; /* of its location: tells functions apart */
	uint32_t times;
};

struct stack_lines {
	struct stack_line *items; /* innermost first */
	uint32_t count;
	uint32_t hidden; /* frames */
	bool all;	 /* hide none */
};

/* The functions of a call stack.  Those of libraries and runtimes are hidden, but with all_frames in the options, or if there are no
 * others.  To be freed by stack_lines_free().  False: no memory. */
bool stack_lines_find(const struct report *report, uint32_t stack, struct stack_lines *lines);
void stack_lines_free(struct stack_lines *lines);

/* Prints the frames of a call stack from its site outwards, at most lines lines (0 = no limit): one for each function,
 * recursion folded.  Frames of libraries and runtimes are left out and counted, but with --all-frames. */
void stack_print(const struct report *report, uint32_t stack, unsigned lines);

#endif
