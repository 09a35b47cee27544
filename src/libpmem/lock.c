/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lock.c - the spin locks of lock.h.
 *
 * lock_take() and lock_try() acquire what the previous holder wrote before lock_drop() released it.
 * Only the calling thread ever stores its own lock_self() into a lock, so a relaxed read is enough
 * to tell whether it is the holder.
 */
#include "libpmem/lock.h"

#include <time.h>

#include "arch/arch.h"
#include "libpmem/sys.h"

enum {
	ROUNDS_PER_YIELD = 200,
	YIELDS_MAX = 50,
	PATIENCE = 60000 *
		   ROUNDS_PER_YIELD, /* rounds: ten seconds of naps; in a sandbox half a second of pauses */
};

/* Its address names the thread; the content is never used.  initial-exec: no call into the loader's
 * TLS allocator, which calls malloc. */
static __thread char self __attribute__((tls_model("initial-exec")));

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

bool lock_try(struct lock *lock)
{
	uintptr_t nobody = 0;

	return atomic_compare_exchange_strong_explicit(&lock->owner, &nobody, lock_self(),
						       memory_order_acquire, memory_order_relaxed);
}

void lock_pause(uint32_t *rounds)
{
	static const struct timespec nap = {.tv_nsec = 50000};

	arch_pause();
	if (++*rounds % ROUNDS_PER_YIELD || sys_sandboxed())
		return;
	if (*rounds / ROUNDS_PER_YIELD < YIELDS_MAX)
		sys_call(SYS_sched_yield, 0, 0, 0, 0);
	else
		sys_call(SYS_nanosleep, (long)&nap, 0, 0, 0);
}

bool lock_waited_long(uint32_t rounds)
{
	return rounds >= PATIENCE;
}

bool lock_take(struct lock *lock)
{
	uint32_t rounds = 0;

	if (lock_mine(lock))
		return false;
	while (!lock_try(lock)) {
		/* Only read while somebody holds it: the cache line stays shared. */
		while (atomic_load_explicit(&lock->owner, memory_order_relaxed) != 0) {
			if (lock_is_stuck(lock))
				return false;
			lock_pause(&rounds);
			if (lock_waited_long(rounds))
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
