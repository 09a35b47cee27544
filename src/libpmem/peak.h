/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * peak.h - the process's live total and its peak, without a shared counter on every event.
 *
 * Escrow: each thread has a window within which its own balance moves without synchronizing.  The
 * slow path settles the balance under LOCK_PEAK, and shrinks other windows through membarrier(2)
 * when the total may pass the reported peak.  With E = max(8 KiB, 1/1024 of the peak) and n threads a
 * window is w = E / 2n wide on either side: the reported peak lies in [true, true + E].  With one thread
 * it is exact.  Far below the peak windows are as wide as there is room.  Where membarrier is refused
 * they stay at w for good, and with one thread every event takes the slow path.
 *
 * True means: a block counts from the end of its peak_grow() to the beginning of the one that takes it off.
 */
#ifndef PMEM_LIBPMEM_PEAK_H
#define PMEM_LIBPMEM_PEAK_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct peak_window {
	_Atomic int64_t
		balance; /* bytes allocated - freed by this thread since it last settled; owner writes */
	_Atomic int64_t high; /* balance > high, or < low: peak_settle(); written under lock */
	_Atomic int64_t low;
	int64_t granted; /* under lock: what high was set to; only a revoked window's high differs */
	struct peak_window *next; /* all windows; immutable once registered */
	_Atomic uint32_t in_use;  /* written under lock; 0: its thread is gone, balance settled */
	uint32_t registered;	  /* owner only */
	_Atomic uint32_t alone;	  /* written under lock: exclusive mode, see peak.c */
	_Atomic uint32_t rising;  /* owner writes: inside its exclusive section */
	_Atomic uintptr_t owner;  /* owner writes: its lock_self() */
};

/* Registers with membarrier; call in the constructor (a system call). */
void peak_init(void);

/* A thread takes part (window zeroed, or left before) / leaves: settles, and no longer counts as one
 * of the n.  The first event after it left enters again.  Its memory is never given back. */
void peak_enter(struct peak_window *window);
void peak_leave(struct peak_window *window);

/* The program is about to restrict its system calls: from now on membarrier is not called. */
void peak_seal(void);

/* The slow path.  Does nothing when a signal handler interrupted its own thread's settling: the balance
 * waits for the window's next event (peak_live_bytes() counts it all the same). */
void peak_settle(struct peak_window *window);

/* After the counter of the call stack was changed: size bytes were allocated, or freed.  True: call
 * peak_settle() next.
 *
 * The balance is stored before the bounds are read: the other side, in peak.c, stores a bound, calls
 * membarrier(2), which is a full barrier in this thread too, and reads the balance. */
static inline bool peak_grow_fast(struct peak_window *window, size_t size)
{
	int64_t balance = __atomic_load_n((int64_t *)&window->balance, __ATOMIC_RELAXED) +
			  (int64_t)size;

	__atomic_store_n((int64_t *)&window->balance, balance, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return balance > __atomic_load_n((int64_t *)&window->high, __ATOMIC_RELAXED);
}

static inline bool peak_shrink_fast(struct peak_window *window, size_t size)
{
	int64_t balance = __atomic_load_n((int64_t *)&window->balance, __ATOMIC_RELAXED) -
			  (int64_t)size;

	__atomic_store_n((int64_t *)&window->balance, balance, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return balance < __atomic_load_n((int64_t *)&window->low, __ATOMIC_RELAXED);
}

/* Whether an event that left the fast path did so for the window's sake (a revoked one is left by every event). */
static inline bool peak_is_outside(const struct peak_window *window)
{
	int64_t balance = __atomic_load_n((const int64_t *)&window->balance, __ATOMIC_RELAXED);

	return balance > __atomic_load_n((const int64_t *)&window->high, __ATOMIC_RELAXED) ||
	       balance < __atomic_load_n((const int64_t *)&window->low, __ATOMIC_RELAXED);
}

static inline void peak_grow(struct peak_window *window, size_t size)
{
	if (peak_grow_fast(window, size))
		peak_settle(window);
}

static inline void peak_shrink(struct peak_window *window, size_t size)
{
	if (peak_shrink_fast(window, size))
		peak_settle(window);
}

/* Grows with every new peak, with n > 1 threads with every E / 4 of it; from 1, and after 2^32 - 2 from
 * 1 again: never one of counters.h's special values. */
extern _Atomic uint32_t peak_epoch_now __attribute__((visibility("hidden")));

static inline uint32_t peak_epoch(void)
{
	return __atomic_load_n((uint32_t *)&peak_epoch_now, __ATOMIC_RELAXED);
}

/* The largest live total so far, in [true, true + E]. */
uint64_t peak_bytes(void);

/* The live total now: exact when no other thread is at work. */
uint64_t peak_live_bytes(void);

/* Begins at zero without windows: the parent's must not be used any more. */
void peak_fork_child(void);

#endif
