/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * churn.c - bytes allocated and freed since the last snapshot began.
 *
 * Called in any thread, without a lock.  A thread's churn_left and churn_grant are written by
 * itself only; others read them as hints.
 */
#include "libpmem/churn.h"

#include <stdatomic.h>

#include "libpmem/settings.h"
#include "libpmem/sys.h"

enum {
	LIMIT_MIN = 4096,    /* least of a grant, while more than one thread has a part in it */
	RECOUNT_CHECKS = 16, /* calls between two counts of the threads */
};

static _Atomic uint64_t churn; /* as told so far */
static _Atomic uint32_t threads = 1;
static _Atomic uint32_t checks;

static uint64_t untold_by(const struct thread *thread)
{
	int64_t grant = __atomic_load_n(&thread->churn_grant, __ATOMIC_RELAXED);

	return (uint64_t)(grant - __atomic_load_n(&thread->churn_left, __ATOMIC_RELAXED));
}

void churn_tell(const struct thread *thread)
{
	uint32_t count = atomic_fetch_add_explicit(&checks, 1, memory_order_relaxed);

	atomic_fetch_add_explicit(&churn, untold_by(thread), memory_order_relaxed);
	if (thread->churn_grant == 0 || count % RECOUNT_CHECKS == 0)
		churn_count_threads();
}

void churn_tell_all(void)
{
	const struct thread *thread;
	uint64_t sum = 0;

	for (thread = thread_first(); thread; thread = thread->next)
		sum += untold_by(thread);
	atomic_fetch_add_explicit(&churn, sum, memory_order_relaxed);
}

uint64_t churn_told(void)
{
	return atomic_load_explicit(&churn, memory_order_relaxed);
}

uint64_t churn_take(void)
{
	return atomic_exchange_explicit(&churn, 0, memory_order_relaxed);
}

static uint64_t least_of(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void grant(struct thread *thread, uint64_t size)
{
	uint64_t first = least_of(size, CHURN_GRANT_MAX);

	thread->churn_grant = thread->churn_left = (int64_t)first;
	thread->churn_reserve = least_of(size - first, CHURN_RESERVE_MAX);
	if (thread->churn_reserve)
		thread->churn_tick_ns = sys_monotonic_coarse_ns();
}

bool churn_more(struct thread *thread)
{
	int64_t more = (int64_t)least_of(thread->churn_reserve, CHURN_GRANT_MAX);

	/* A large block may have used up more than that. */
	if (!more || thread->churn_left + more <= 0 ||
	    sys_monotonic_coarse_ns() != thread->churn_tick_ns)
		return false;
	thread->churn_reserve -= (uint64_t)more;
	thread->churn_grant += more;
	thread->churn_left += more;
	return true;
}

void churn_grant_next(struct thread *thread)
{
	uint64_t told = churn_told();
	uint32_t count = atomic_load_explicit(&threads, memory_order_relaxed);
	uint64_t left = told < settings.churn_thresh ? settings.churn_thresh - told : 0;
	uint64_t least = LIMIT_MIN;

	if (left == 0) {
		left = settings.churn_thresh / (2 * (uint64_t)count);
		least = CHURN_GRANT_MAX; /* a snapshot is due but may not be taken */
	} else if (count > 1) {
		left /= 2 * (uint64_t)count;
	} else {
		least = 0;
	}
	grant(thread, left > least ? left : least);
}

void churn_grant_least(struct thread *thread)
{
	grant(thread, LIMIT_MIN);
}

void churn_grant_all(struct thread *thread)
{
	grant(thread, CHURN_GRANT_MAX + CHURN_RESERVE_MAX);
}

void churn_count_threads(void)
{
	const struct thread *thread;
	uint32_t count = 0;

	for (thread = thread_first(); thread; thread = thread->next)
		if (atomic_load_explicit(&thread->tid, memory_order_relaxed) != 0)
			count++;
	atomic_store_explicit(&threads, count ? count : 1, memory_order_relaxed);
}

void churn_fork_child(void)
{
	atomic_store_explicit(&churn, 0, memory_order_relaxed);
	atomic_store_explicit(&threads, 1, memory_order_relaxed);
}
