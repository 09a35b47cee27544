/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * thread.h - what the recorder keeps for each thread.
 *
 * Made at a thread's first event; at its end the whole struct is handed to a later thread, with its
 * counters and caches: a counter is never added up and cleared.  Structs are never unmapped.  While
 * its owner records an event busy is set; a signal handler's event then uses nested, a struct of its
 * own.
 */
#ifndef PMEM_LIBPMEM_THREAD_H
#define PMEM_LIBPMEM_THREAD_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "libpmem/counters.h"
#include "libpmem/peak.h"
#include "libpmem/process.h"
#include "libpmem/stack_cache.h"
#include "libpmem/unwind.h"

struct thread {
	uint32_t busy;		 /* owner only: enum thread_busy */
	uint32_t epoch;		 /* owner only: modules_epoch that the caches below are good for */
	uint64_t churn;		 /* owner only: bytes since the thread last told snapshot.c */
	uint64_t churn_limit;	 /* owner only: tell it at this many */
	uintptr_t last_alloc;	 /* owner only: block of this thread's latest event, if that allocated it */
	uint64_t random;	 /* owner only: state of the lifetime sampler */
	uint32_t sample_left;	 /* owner only: allocations until the next lifetime sample */
	uint32_t generation;	 /* owner only: modules_generation() at the last flush of the caches */
	struct stack_cache stacks;
	struct counters counters;
	struct peak_window peak;
	struct unwind unwind;
	struct thread *nested;	 /* owner only: for an event that interrupts this struct's */
	struct thread *next;	 /* all threads; immutable once published */
	_Atomic pid_t tid;	 /* 0 = free for the next thread */
	uint32_t level;		 /* immutable: 0; n for the nth nested struct */
	uint32_t exit_rounds;	 /* owner only: how often the key's destructor ran */
};

enum thread_busy {
	THREAD_IDLE = 0,
	THREAD_BUSY = 1,
	THREAD_LATE = 2, /* borrowed for one event, after the thread's end was noticed */
};

/* The calling thread's struct; NULL before its first event.  Use thread_enter(). */
extern __thread struct thread *thread_current
	__attribute__((visibility("hidden"), tls_model("initial-exec")));

/* Creates the key that tells of thread ends; once.  Safe before libc's constructors. */
void thread_init(void);

/* The newest of all structs (also free and nested ones); acquire.  Go on by ->next. */
struct thread *thread_first(void);

/* The slow path of thread_enter(): first event of a process or thread, or an interrupted recorder. */
struct thread *thread_enter_slow(void);

/* Gives a borrowed struct back. */
void thread_leave_late(struct thread *thread);

/* A struct for the event at hand, busy until thread_leave(); NULL if this process does not record. */
static inline struct thread *thread_enter(void)
{
	struct thread *thread = thread_current;

	if (__builtin_expect(!thread || thread->busy || !process_records(), 0))
		return thread_enter_slow();
	thread->busy = THREAD_BUSY;
	/* A signal handler sees busy before anything that follows. */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return thread;
}

static inline void thread_leave(struct thread *thread)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (__builtin_expect(thread->busy == THREAD_LATE, 0))
		thread_leave_late(thread);
	else
		thread->busy = THREAD_IDLE;
}

/* In a forked child: no structs; the parent's stay mapped. */
void thread_fork_child(void);

#endif
