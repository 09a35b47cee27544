/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unwind_fixture.h - captures a call stack as the recorder does, and compares it with two other walks.
 *
 * The captured one goes through everything that the recorder remembers: the last call stack, the cache of whole
 * call stacks, the tree.  unwind_reference() remembers nothing; backtrace(3) shares nothing with us.
 */
#ifndef PMEM_TESTS_UNIT_UNWIND_FIXTURE_H
#define PMEM_TESTS_UNIT_UNWIND_FIXTURE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libpmem/stack_cache.h"
#include "libpmem/unwind.h"

enum {
	WALKER_DEPTH_MAX = 1 << 16,
	WALKER_NODES = 1 << 23,
};

/* What the comparisons of one thread need. */
struct walker {
	struct unwind unwind;
	struct unwind reference;
	struct stack_cache cache;
	uintptr_t *ours;  /* [WALKER_DEPTH_MAX]: return addresses, innermost first */
	uintptr_t *other; /* [WALKER_DEPTH_MAX] */
	size_t count;	  /* frames in ours */
	bool truncated;	  /* ours ends at [truncated] */
	uint32_t flags;	  /* of the call stack captured last; from the cache, UNWIND_UNCLEAN or 0 */

	uint64_t seed;
	unsigned compare_every;	  /* one call stack in so many with unwind_reference() ... */
	unsigned backtrace_every; /* ... and with backtrace(3) */
	bool no_cfi; /* backtrace(3) may end early: there is code without call frame information */
	bool shortened;		  /* ours may be the innermost frames only, below [truncated] */
	uint64_t captured, found; /* call stacks; those of them that came from the cache */
};

/* The calling thread's. */
extern __thread struct walker *walker;

/* Setup and teardown functions: modules and tree are empty; the calling thread has a walker. */
int walker_begin(void **state);
int walker_end(void **state);

/* Begins anew, with room for so many nodes: in one thread. */
void walker_forget(uint32_t nodes);

/* For a thread of a test's own. */
void walker_make(void);
void walker_drop(void);

/* A number below limit. */
uint32_t walker_random(uint32_t limit);

/* Takes the part of an allocating function: captures its caller's call stack and compares it. */
void observe(void);

#endif
