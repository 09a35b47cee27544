/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lock.h - spin locks that know their owner.
 *
 * Never on the hot path.  A signal handler that interrupted its own thread inside a critical section
 * must not wait for it: lock_take() then returns false and the caller does without (each says how).  Nor must it wait for a lock
 * further up than that section's: its holder may be waiting for the section to end.  There it waits a moment only, some 100 us.
 * lock_take() also returns false when the holder does not come back: its thread ended, or left a handler that interrupted it by
 * siglongjmp(); or the disk that it writes to hangs, and the program must not.  That is known after some ten seconds, in a sandbox,
 * where nobody may sleep, after half a second.
 * After fork() the child resets every lock (x_fork_child() of its module); threads other than
 * the forking one do not exist there.
 */
#ifndef PMEM_LIBPMEM_LOCK_H
#define PMEM_LIBPMEM_LOCK_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Order in which locks are taken: a thread that holds one takes only ones further down.  There is one lock of each rank. */
enum lock_rank {
	LOCK_PROCESS,	 /* process.c: start, fork */
	LOCK_SNAPSHOT,	 /* snapshot.c: the running snapshot and the log; only ever tried */
	LOCK_TIMELINE,	 /* timeline.c: points, walks and samples; only ever tried */
	LOCK_LAST_WORDS, /* last_words.c: looks at the limits; only ever tried */
	LOCK_MODULES,	 /* modules.c: table of modules and regions */
	LOCK_TREE,	 /* tree.c: insertion of nodes */
	LOCK_PEAK,	 /* peak.c: windows of all threads */
	LOCK_RSS,	 /* rss.c: the kept descriptor; only ever tried */
	LOCK_MAPPINGS,	 /* mappings.c: the program's own mappings */
	LOCK_RANKS,
};

struct lock {
	_Atomic uintptr_t owner; /* lock_self() of the holder, 0 = free */
	enum lock_rank rank;	 /* immutable */
	_Atomic bool stuck;	 /* somebody waited for some seconds; until lock_drop() */
};

/* One round of waiting for another thread: pauses, then yields, then sleeps, since a real-time thread may be
 * waiting for one that it keeps from running.  *rounds counts, from 0. */
void lock_pause(uint32_t *rounds);

/* After so many rounds nobody should wait any longer. */
bool lock_waited_long(uint32_t rounds);

/* A number that no other living thread of this process has. */
uintptr_t lock_self(void);

/* Waits for the lock.  Returns false if this thread holds it already, if it is stuck, or if another thread holds it while this one
 * holds a lock further down, as it can be in a signal handler. */
bool lock_take(struct lock *lock);

/* False if lock_take() only waits until it has it. */
bool lock_may_fail(const struct lock *lock);

/* Returns false at once if any thread holds it. */
bool lock_try(struct lock *lock);

/* True if the calling thread holds it. */
bool lock_mine(const struct lock *lock);

/* True if nobody waits for it any more, since its holder does not come back. */
bool lock_is_stuck(const struct lock *lock);

void lock_drop(struct lock *lock);

/* Makes the lock free whoever held it; only in a forked child, while it has one thread. */
void lock_reset(struct lock *lock);

#endif
