/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * governor.h - PMEM_MAX_OVERHEAD: how many of the call stacks that are not remembered a thread may still capture.
 *
 * A walk over the stack is what costs most by far, and all that can be left out: what follows it, to count the event and
 * to keep the block, makes the figures exact.  So a thread has an account of time for its walks: it gets a share of the CPU time that
 * it uses, and pays what its walks take.  While the account is overdrawn one call stack in so many is captured; the
 * others are charged to the caller alone, below the node [not taken], and counted as FORMAT_LOSS_NOT_TAKEN.  The same
 * for calls that map memory, except where only the whole call stack tells that they are not the allocator's (mappings.c).
 */
#ifndef PMEM_LIBPMEM_GOVERNOR_H
#define PMEM_LIBPMEM_GOVERNOR_H
#include <stdbool.h>
#include <stdint.h>

#include "libpmem/settings.h"

enum {
	GOVERNOR_CREDIT_NS = 25000000, /* that an account holds at most, and at first: programs start with call stacks that are all new */
	GOVERNOR_LOOK = 256, /* call stacks between two looks at the clocks */
	GOVERNOR_EVERY_MAX = 1024,
};

/* Of one thread; all zero at first. */
struct governor {
	uint64_t ticks;	  /* arch_ticks() at the latest look; 0 = none yet */
	uint64_t time_ns; /* CLOCK_MONOTONIC then */
	uint64_t cpu_ns;  /* CPU time of the thread then */
	uint64_t spent;	  /* ticks in walks since then */
	int64_t overdrawn_ns; /* what the account has, less than GOVERNOR_CREDIT_NS: that minus the balance */
	uint32_t seen;	/* call stacks that were not remembered */
	uint32_t every; /* the base-2 logarithm of how many of these are for one that is captured */
};

static inline bool governor_is_on(void)
{
	return settings.max_overhead != 0;
}

/* Before each call stack that is not remembered, while the governor is on.  True: it is to be captured, between
 * governor_begin() and governor_end(). */
bool governor_takes(struct governor *governor);
uint64_t governor_begin(void);
void governor_end(struct governor *governor, uint64_t begin);

/* The account of a thread that used cpu_ns since the last look, walk_ns of them for walks, with share in tenths of a percent;
 * sets every.  Apart from the clocks, for tests. */
void governor_settle(struct governor *governor, uint64_t cpu_ns, uint64_t walk_ns, uint64_t share);

/* Another thread takes the struct over. */
void governor_reset(struct governor *governor);

#endif
