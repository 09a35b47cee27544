/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lock.c - the spin locks of lock.h.
 *
 * lock_take() and lock_try() acquire what the previous holder wrote before lock_drop() released it.
 * Only the calling thread ever stores its own lock_self() into a lock, so a relaxed read is enough
 * to tell whether it is the holder.
 *
 * Why nobody waits for ever.  Whoever waits as long as it takes waits for a lock further down than all that its thread holds, handlers
 * and what they interrupted taken together: then so does the holder, if it waits, and there is no circle.  What peak.c waits for
 * beside locks, the end of another thread's rising, is waited for with a bound.
 */
#include "libpmem/lock.h"

#include <time.h>

#include "arch/arch.h"
#include "libpmem/sys.h"

enum {
	ROUNDS_PER_YIELD = 200,
	YIELDS_MAX = 10,
	OUT_OF_ORDER = YIELDS_MAX *
		       ROUNDS_PER_YIELD, /* rounds: longer than most holders take that run */
	NAP_NS = 50000, /* doubled after every so many, so often: a thousand threads that wake up all the time keep the holder from running */
	NAPS = 8,
	DOUBLINGS = 6,
	PATIENCE = 3000 * ROUNDS_PER_YIELD,	     /* rounds: ten seconds of naps, */
	PATIENCE_SANDBOX = 60000 * ROUNDS_PER_YIELD, /* of pauses half a second */
};

/* Its address names the thread; the content is never used.  initial-exec: no call into the loader's
 * TLS allocator, which calls malloc. */
static __thread char self __attribute__((tls_model("initial-exec")));

/* The process's locks, from their first use on. */
static _Atomic(const struct lock *) known[LOCK_RANKS];

uintptr_t lock_self(void)
{
	return (uintptr_t)&self;
}

bool lock_mine(const struct lock *lock)
{
	return atomic_load_explicit(&lock->owner, memory_order_relaxed) == lock_self();
}

bool lock_is_stuck(const struct lock *lock)
{
	return atomic_load_explicit(&lock->stuck, memory_order_relaxed);
}

/* Another thread may hold the lock and wait for one that this one holds: but for one that is given up. */
static bool is_out_of_order(const struct lock *lock)
{
	const struct lock *further;
	int rank;

	for (rank = (int)lock->rank + 1; rank < LOCK_RANKS; rank++) {
		further = atomic_load_explicit(&known[rank], memory_order_relaxed);
		if (further && lock_mine(further) && !lock_is_stuck(further))
			return true;
	}
	return false;
}

bool lock_may_fail(const struct lock *lock)
{
	return lock_mine(lock) || lock_is_stuck(lock) || is_out_of_order(lock);
}

bool lock_try(struct lock *lock)
{
	uintptr_t nobody = 0;

	if (atomic_load_explicit(&known[lock->rank], memory_order_relaxed) != lock)
		atomic_store_explicit(&known[lock->rank], lock, memory_order_relaxed);
	return atomic_compare_exchange_strong_explicit(&lock->owner, &nobody, lock_self(),
						       memory_order_acquire, memory_order_relaxed);
}

static void take_nap(uint32_t naps)
{
	uint32_t doublings = naps / NAPS < DOUBLINGS ? naps / NAPS : DOUBLINGS;
	const struct timespec nap = {.tv_nsec = (long)NAP_NS << doublings};

	sys_call(SYS_nanosleep, (long)&nap, 0, 0, 0);
}

void lock_pause(uint32_t *rounds)
{
	uint32_t yields;

	arch_pause();
	if (++*rounds % ROUNDS_PER_YIELD || sys_sandboxed())
		return;
	yields = *rounds / ROUNDS_PER_YIELD;
	if (yields < YIELDS_MAX)
		sys_call(SYS_sched_yield, 0, 0, 0, 0);
	else
		take_nap(yields - YIELDS_MAX);
}

bool lock_waited_long(uint32_t rounds)
{
	return rounds >= (sys_sandboxed() ? PATIENCE_SANDBOX : PATIENCE);
}

bool lock_take(struct lock *lock)
{
	uint32_t rounds = 0, since = 0; /* since: when the holder became it */
	uintptr_t holder = 0, now;

	if (lock_mine(lock))
		return false;
	while (!lock_try(lock)) {
		/* Only read while somebody holds it: the cache line stays shared. */
		while ((now = atomic_load_explicit(&lock->owner, memory_order_relaxed)) != 0) {
			if (now != holder)
				since = rounds;
			holder = now;
			if (lock_is_stuck(lock) || (rounds >= OUT_OF_ORDER && is_out_of_order(lock)))
				return false;
			lock_pause(&rounds);
			if (lock_waited_long(rounds - since))
				atomic_store_explicit(&lock->stuck, true, memory_order_relaxed);
		}
	}
	return true;
}

void lock_drop(struct lock *lock)
{
	atomic_store_explicit(&lock->stuck, false, memory_order_relaxed);
	atomic_store_explicit(&lock->owner, 0, memory_order_release);
}

void lock_reset(struct lock *lock)
{
	atomic_store_explicit(&lock->stuck, false, memory_order_relaxed);
	atomic_store_explicit(&lock->owner, 0, memory_order_relaxed);
}
