/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * thread.h - what the recorder keeps for each thread.
 *
 * Made at a thread's first event; at its end the whole struct is handed to a later thread, with its
 * counters and caches: a counter is never added up and cleared.  Structs are never unmapped.  While
 * its owner records an event it is busy; a signal handler's event then uses nested, a struct of its
 * own.
 */
#ifndef PMEM_LIBPMEM_THREAD_H
#define PMEM_LIBPMEM_THREAD_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "config.h"
#include "libpmem/counters.h"
#include "libpmem/governor.h"
#include "libpmem/peak.h"
#include "libpmem/process.h"
#include "libpmem/recent_sizes.h"
#include "libpmem/stack_cache.h"
#include "libpmem/unwind.h"

struct thread {
	uint32_t ready; /* owner only: idle, or THREAD_BUSY */
	uint32_t mark; /* owner only: value of process_mark_now() that the caches below are good for */
	uint32_t idle;	     /* owner only: what ready is between events: mark, or THREAD_SAMPLES */
	uint32_t generation; /* owner only: modules_generation() at the last flush of the caches */
	int64_t churn_left;  /* owner only: bytes until snapshot_check() */
	uintptr_t last_alloc; /* owner only: block of this thread's latest event, if that allocated it */
	int64_t churn_grant; /* owner only: bytes granted since churn_tell(); less churn_left: moved */
	uint64_t churn_reserve; /* owner only: what the grant may grow by within this tick of the clock: */
	uint64_t churn_tick_ns; /* owner only */
	struct stack_cache stacks;
	struct counters counters;
	struct peak_window peak;
	struct unwind unwind;
	struct governor governor;
	struct recent_sizes recent_sizes;
	struct thread *nested;	      /* owner only: for an event that interrupts this struct's */
	struct thread *next;	      /* all threads; immutable once published */
	_Atomic pid_t tid;	      /* 0 = free for the next thread */
	uint32_t level;		      /* immutable: 0; n for the nth nested struct */
	struct format_thread *record; /* immutable: what the profile says of it */
	uint32_t borrowed; /* owner only: nested, or taken for one event after the thread's end */
	uint32_t exit_rounds; /* owner only: how often the key's destructor ran */
	uintptr_t entered;    /* owner only: frame address at the latest event of a nested struct */
	uint32_t look_left; /* owner only: allocations off the fast path until one looks at the clock */
	uint32_t look_every; /* owner only: how many there were to be this time */
	uint64_t look_ns;    /* owner only: what the clock said */
#if PMEM_VERIFY
	uintptr_t *verify_buffer; /* owner only: of verify.c; NULL until the first event */
#endif
};

/* In ready: an event of this thread is being recorded; the first look at an event is sample.h's.  In mark: the caches are
 * good for nothing yet.  Even and not 0, so none is ever process_mark_now(). */
#define THREAD_BUSY 2u
#define THREAD_NEW 4u
#define THREAD_SAMPLES 6u

/* The calling thread's struct; before its first event one that is always busy.  Use thread_enter(). */
extern __thread struct thread *thread_current
	__attribute__((visibility("hidden"), tls_model("initial-exec")));

/* Creates the key that tells of thread ends; once.  Safe before libc's constructors. */
void thread_init(void);

/* In a resolver of an IFUNC the loader has not written thread-local data's first values yet, and will: until then every
 * event takes a struct and gives it back.  Does nothing at any other time. */
void thread_before_tls(void);

/* The newest of all structs (also free and nested ones); acquire.  Go on by ->next. */
struct thread *thread_first(void);

/* The slow path of thread_enter(): first event of a process or thread, changed modules, or an
 * interrupted recorder. */
struct thread *thread_enter_slow(void);

/* Ends an event of a struct that is not the thread's usual one. */
void thread_leave_slow(struct thread *thread);

/* Adds one side of the counters [first, end), all of one chunk, of all threads to totals[]: read is counters_read_frees, and
 * then counters_read_allocs.  Returns true if any thread has them. */
static inline bool thread_read_counters(uint32_t first, uint32_t end,
					void (*read)(const struct counters *, uint32_t,
						     struct counter_totals *),
					struct counter_totals *totals)
{
	const struct thread *thread;
	bool any = false;
	uint32_t id;

	for (thread = thread_first(); thread; thread = thread->next) {
		if (!counters_has_chunk(&thread->counters, first))
			continue;
		for (id = first; id < end; id++)
			read(&thread->counters, id, &totals[id - first]);
		any = true;
	}
	return any;
}

/* Live bytes of a call stack, over all threads: at least 0, exact when quiet. */
uint64_t thread_live_bytes(uint32_t stack_id);

/* A struct for the event at hand, busy until thread_leave(), if the thread's own one is idle and its
 * caches are good; else NULL: thread_enter_slow(). */
static inline struct thread *thread_enter_fast(void)
{
	struct thread *thread = thread_current;

	if (__builtin_expect(thread->ready != process_mark_now(), 0))
		return NULL;
	thread->ready = THREAD_BUSY;
	/* A signal handler sees busy before anything that follows. */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return thread;
}

/* As above, or whatever else it takes; NULL if this process does not record. */
static inline struct thread *thread_enter(void)
{
	struct thread *thread = thread_enter_fast();

	return __builtin_expect(thread != NULL, 1) ? thread : thread_enter_slow();
}

/* After thread_enter_fast(). */
static inline void thread_leave_fast(struct thread *thread)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	thread->ready = thread->idle;
}

static inline void thread_leave(struct thread *thread)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (__builtin_expect(thread->borrowed, 0))
		thread_leave_slow(thread);
	else
		thread->ready = thread->idle;
}

/* Before the final snapshot: running threads' names, for the profile. */
void thread_record_names(void);

/* True in a signal handler that interrupted an event of its own thread. */
bool thread_is_interrupted(void);

/* In a forked child: no structs; the parent's stay mapped. */
void thread_fork_child(void);

#endif
