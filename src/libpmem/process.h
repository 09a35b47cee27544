/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * process.h - the recorder's life in a process: start, fork, sandbox, end.
 *
 * Every event first looks at a word in a page that the kernel wipes in a forked child
 * (MADV_WIPEONFORK), so that fork(), _Fork() and raw clone() are all noticed, at the child's first
 * event.  A vfork() child shares the page and is taken for its parent, whose memory it uses.
 */
#ifndef PMEM_LIBPMEM_PROCESS_H
#define PMEM_LIBPMEM_PROCESS_H
#include <stdbool.h>
#include <stdint.h>

#include "arch/errand.h"

/* The word: 0 = this process has not begun to record, else an odd number that changes whenever a cache
 * may have become wrong (modules_suspect()).  A thread's caches are good while the number is theirs. */
union process_page {
	_Atomic uint32_t mark;
	struct {
		char before[2048]; /* in a cache line of its own */
		struct arch_errand memory;
	} errand;	  /* written by `pmem leaks` only */
	char bytes[4096]; /* the page has nothing else */
};
extern union process_page process_page __attribute__((visibility("hidden")));

static inline uint32_t process_mark_now(void)
{
	return __atomic_load_n((uint32_t *)&process_page.mark, __ATOMIC_ACQUIRE);
}

/* True if this process has begun to record.  False: process_begin() decides. */
static inline bool process_records(void)
{
	return process_mark_now() != 0;
}

/* Changes the number of a process that records. */
void process_change_mark(void);

/* Begins to record, in a new process image or in a forked child, unless it is switched off here or
 * being begun by this very call chain.  True: events are recorded from now on. */
bool process_begin(void);

/* The end of the process by a call that runs no handlers, or the last of them: the final snapshot.
 * Does nothing in a vfork() child. */
void process_end(void);

/* False in a vfork() child, or another one that shares our memory: what we know is its parent's, who enters nothing.  A system
 * call. */
bool process_is_recorded(void);

/* The program is about to enter a sandbox (no_new_privs, which precedes every filter, or seccomp): from now on
 * only memory calls, write and exit.  False: it is in one already, or nothing is recorded.  If the call
 * then failed: process_leave_sandbox(). */
bool process_enter_sandbox(void);
void process_leave_sandbox(void);

/* Strict seccomp forbids even memory calls and the clock: the final snapshot, and recording stops. */
void process_end_before_strict(void);

/* Stops recording for good, after one of our own invariants broke. */
void process_stop(void);

#endif
