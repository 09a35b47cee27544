/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unwind_calls.h - a random program: a tree of calls of functions whose frames differ.
 *
 * Of fixed and of varying size, with and without a frame pointer, realigned, huge, of the C library, left by
 * longjmp(), without call frame information.  Every function calls observe() a few times.
 */
#ifndef PMEM_TESTS_UNIT_UNWIND_CALLS_H
#define PMEM_TESTS_UNIT_UNWIND_CALLS_H

/* How many of the functions a thread's program is made of. */
enum calls_kinds {
	CALLS_ON_FIBERS = 14, /* none that is huge or remembers where to jump */
	CALLS_WITH_CFI = 17,
	CALLS_ALL = 18, /* and code without call frame information */
};

extern __thread enum calls_kinds calls_kinds;

/* Calls still to be made, and what is called now and then on the way; NULL = nothing. */
extern __thread unsigned calls_left;
extern __thread void (*calls_visit)(void);

/* Runs programs of calls calls, at most depth functions deep. */
void calls_run(unsigned calls, unsigned depth);

#endif
