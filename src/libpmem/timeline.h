/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * timeline.h - the process's memory over time: points, and samples of single call stacks.
 *
 * There is no helper thread: a point is taken by whichever thread next comes by when one is due, so a program that
 * makes no events leaves a gap.  Whoever ends one takes a point of the moment at which it began, first: all that
 * happened until then is still to be seen.  After a point the counters of all call stacks are walked, in slices of
 * TIMELINE_SLICE_NS, each by whichever thread next comes by, as long as all this takes no more than
 * 1/TIMELINE_SHARE of the time since start, or TIMELINE_CREDIT_NS if that is more.  All under LOCK_TIMELINE, which is
 * only ever tried: nobody waits but timeline_final().
 */
#ifndef PMEM_LIBPMEM_TIMELINE_H
#define PMEM_LIBPMEM_TIMELINE_H
#include <stdbool.h>
#include <stdint.h>

enum {
	TIMELINE_SLICE_NS = 2000000,
	TIMELINE_SHARE = 200,
	TIMELINE_CREDIT_NS = 10000000,
	TIMELINE_FINAL_NS = 20000000,
};

/* A call stack is worth a sample if it holds so much: TIMELINE_LEAST bytes, or this part of the live total. */
enum { TIMELINE_LEAST = 1024, TIMELINE_PART = 16384 };

/* Once, while there is one thread: after settings_read(), the store, and the header's start_monotonic_ns. */
void timeline_init(void);

/* Takes a point if one is due, and goes on with the walk.  Called now and then, at moments that are slow anyway; any
 * thread, also inside a signal handler. */
void timeline_check(void);

/* An allocation that was counted already. */
struct timeline_event {
	uint32_t stack_id; /* 0: none was */
	uint64_t bytes;
};

/* No thread called timeline_check() for longer than points are apart. */
bool timeline_was_silent(void);

/* If so: a point of the latest such call, or just after it if that took one and lacks much, with what is counted now, but for *counted.  timeline_check()
 * does that by itself; this is for before a large event is counted. */
void timeline_look_back(const struct timeline_event *counted);

/* A point, and a walk of no more than TIMELINE_FINAL_NS.  What another thread is at is waited for, for as long. */
void timeline_final(void);

/* In a forked child, after store_fork_child() and the header's start_monotonic_ns. */
void timeline_fork_child(void);

#endif
