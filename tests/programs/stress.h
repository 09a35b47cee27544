/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stress.h - what the parts of stress.c share: blocks that know where they come from, and the parts' threads.
 *
 * Every block comes from one of a few sites, each a function of its own; it carries its site and size, so that whoever
 * frees it, wherever, tells the truth about the right site.  Counters are atomic: handlers and threads that end in any way
 * count too.
 */
#ifndef PMEM_TESTS_STRESS_H
#define PMEM_TESTS_STRESS_H
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum site {
	AT_PLAIN,
	AT_ZEROED,
	AT_ALIGNED,
	AT_GROWN,   /* realloc() */
	AT_SHORT,   /* in threads that live for a moment */
	AT_KEY,	    /* in destructors of pthread keys */
	AT_HANDLER, /* in signal handlers */
	AT_THROW,   /* freed while an exception passes */
	AT_JUMP,    /* below frames that siglongjmp() or longjmp() leaves */
	AT_FIBER,   /* in coroutines */
	AT_PLUGIN,  /* in a library that comes and goes */
	SITES,
};

enum { SIZE_MIN = 16, SIZE_MAX_OF_BLOCKS = 6000, WORKERS = 3 };

/* --- stress_truth.c: blocks ------------------------------------------------------------------- */

/* A new block of AT_PLAIN, AT_ZEROED, AT_ALIGNED or one of the sites named after places. */
void *stress_alloc(enum site site, size_t size);

/* Counts a block that site allocated by itself, and prepares it for stress_free(). */
void *stress_adopt(enum site site, void *block, size_t size);

void *stress_grow(void *block, size_t size);
void stress_free(void *block); /* or NULL */

/* Leaves block, or NULL, in a place that all threads know; returns what another one had left there. */
void *stress_swap(void *block, unsigned place);

/* The sites' sums as members of a JSON object, on standard output. */
void stress_print_sites(void);

/* --- stress_threads.c: threads that allocate -------------------------------------------------- */

unsigned stress_random(unsigned *seed);
void *stress_work(void *number);  /* all that one thread can do alone, at many depths */
void *stress_churn(void *unused); /* threads that end soon, in several ways */
void *stress_coroutines(void *unused);

/* --- stress_throw.cpp: exceptions ------------------------------------------------------------- */

/* Throws through depth frames that hold a block each. */
void stress_throw(int depth);

/* --- stress_signals.c: a storm of signals ----------------------------------------------------- */

void stress_signals_init(void);
void stress_use_other_stack(void); /* for this thread's signals */
void stress_block_signals(void);   /* in this thread, which has a small stack */
void stress_timer_start(void);
void stress_timer_stop(void);
void *stress_storm(void *threads);  /* until the end: signals to WORKERS threads */
unsigned long stress_signals(void); /* that were handled */

/* --- stress_processes.c: children and libraries ----------------------------------------------- */

struct children {
	const char *program;	      /* to execute with the argument "child" */
	unsigned per_second;	      /* at most */
	unsigned long forked, others; /* so many there were */
};

void *stress_children(void *children);
void *stress_plugins(void *path);
/* What every child does. */
void stress_be_child(void);

/* --- stress.c --------------------------------------------------------------------------------- */

bool stress_is_over(void);
bool stress_is_calm(void); /* nothing that makes more and more call stacks, or glibc's heap grow */
/* Says what was wrong, and ends the process with code 1. */
void stress_fail(const char *what) __attribute__((noreturn));

#ifdef __cplusplus
}
#endif
#endif
