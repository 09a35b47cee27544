/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * churn.h - bytes allocated and freed since the last snapshot began.
 *
 * Each thread counts down churn_left by itself; when it is used up, it calls snapshot_check().  That gives more of the thread's
 * grant if churn_more() says so, else tells, and gives a new grant by one of the churn_grant_*() functions.
 */
#ifndef PMEM_LIBPMEM_CHURN_H
#define PMEM_LIBPMEM_CHURN_H
#include <stdbool.h>
#include <stdint.h>

#include "libpmem/thread.h"

enum {
	/* Bytes that a thread may move at most until it looks at the clock, however far the next snapshot is: the timeline
	 * depends on that. */
	CHURN_GRANT_MAX = 16384,
	CHURN_RESERVE_MAX = 1 << 20, /* bytes of a grant beyond that */
};

/* Gives the thread more of its grant, if there is more and the clock's tick (some milliseconds) is the one in which it was
 * granted. */
bool churn_more(struct thread *thread);

/* Adds what the thread did since its last grant to the process's churn. */
void churn_tell(const struct thread *thread);

/* Adds what all threads did since theirs, which they go on with: at the end, for the last
 * snapshot. */
void churn_tell_all(void);

/* The process's churn, as told so far. */
uint64_t churn_told(void);

/* The same, which begins at 0 again. */
uint64_t churn_take(void);

/* The thread's next call is due when the next snapshot can be: with one thread exactly then. */
void churn_grant_next(struct thread *thread);

/* The next call is due soon: a snapshot is in progress. */
void churn_grant_least(struct thread *thread);

/* No further call is needed. */
void churn_grant_all(struct thread *thread);

/* Counts the threads, among which what is left is divided. */
void churn_count_threads(void);

void churn_fork_child(void);

#endif
