/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * snapshot.h - writes the state of all call stacks to the log, when churn says so and at the end.
 *
 * A snapshot is written in slices, each by whichever thread next passes its byte check, under
 * LOCK_SNAPSHOT, which is only ever tried: nobody waits.  A slice ends after the step that takes
 * it beyond SNAPSHOT_SLICE_NS.  Steps take microseconds, but for two: the index of one module's
 * names, and the live table's resident size.  Format and bounds: doc/LOG.md.
 */
#ifndef PMEM_LIBPMEM_SNAPSHOT_H
#define PMEM_LIBPMEM_SNAPSHOT_H
#include <stdbool.h>
#include <stdint.h>

#include "libpmem/thread.h"

enum { SNAPSHOT_SLICE_NS = 2000000, SNAPSHOT_FINAL_WAIT_NS = 100000000 };

void snapshot_init(void);

/* thread->churn_left is used up: adds what was to the process's churn, grants more, and begins or
 * goes on with a snapshot if one is due.  The caller has entered the thread. */
void snapshot_check(struct thread *thread);

/* What is looked at now and then, inside an event: the timeline, and whether it is time for last words.  These are said, and a snapshot
 * is begun. */
void snapshot_look(void);

/* The final snapshot; at most once in a process, and only if any event was recorded or lost.
 * Waits up to SNAPSHOT_FINAL_WAIT_NS for a slice of another thread. */
void snapshot_final(void);

/* Before the program enters a sandbox: opens the log, notes it there, and reads what names need. */
void snapshot_enter_sandbox(void);

/* A snapshot like the final one, after which others may follow. */
void snapshot_now(void);

/* Makes the file of the log, unless somebody is at it. */
void snapshot_open_log(void);

void snapshot_fork_child(void);

#endif
