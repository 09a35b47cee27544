/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * peak.c - settles windows and keeps the reported peak above every total that can occur.
 *
 * Invariant whenever the lock is free: base + sum of all granted <= reported.  A thread whose balance
 * passes its high does not return from peak_grow() before it settled, so base + sum of all balances,
 * the live total, stays <= reported.
 *
 * Bound: reported grows only when the total, as far as windows that are at most 2w wide tell, is within
 * them: each of the n - 1 others makes at most 2w of error, and the grower's new window adds w:
 * (2n - 1) * E / 2n < E.  Hence wider windows are revoked first: their high becomes REVOKED, so that
 * their owner's next event settles; after membarrier(2) their balance is known, and they get a narrow
 * window around it.  If membarrier fails their granted room stays in the sum until their owner settles:
 * the reported peak is then too high by no more than that room, never too low.
 *
 * Exclusive mode: the only window in use is [minus infinity, reported - base], and growing beyond it is a
 * new peak.  That happens at every allocation of a growing program, so its owner then does without the
 * lock: it sets rising, and if alone is still set, what is under lock is its own until it clears
 * rising.  Whoever wants to end that, under the lock, clears alone, calls membarrier, and waits for rising to
 * be 0: one of the two sees the other (Dekker).
 */
#include "libpmem/peak.h"

#include <stdatomic.h>

#include "libpmem/counters.h"
#include "libpmem/lock.h"
#include "libpmem/store.h"
#include "libpmem/sys.h"

enum {
	TOLERANCE_MIN = 8192,
	TOLERANCE_SHIFT = 10,
	EPOCHS_PER_TOLERANCE = 4,
	WIDE_FACTOR = 4,
	SPINS_PER_YIELD = 200,
	DRAIN_SPINS = 20000, /* takes longer than any CPU keeps a store to itself, by far */
};

/* Commands of membarrier(2) (linux/membarrier.h), whose header musl-gcc does not find. */
enum { BARRIER_PRIVATE = 1 << 3, BARRIER_REGISTER = 1 << 4 };

static const int64_t UNBOUNDED = INT64_MIN / 2; /* a low that no balance reaches */
static const int64_t REVOKED = INT64_MIN;	/* a high that every balance is above */

_Atomic uint32_t peak_epoch_now __attribute__((aligned(64))) = 1;

static struct {
	struct lock lock;
	/* under lock */
	int64_t base;			     /* settled bytes */
	int64_t granted;		     /* sum over all windows */
	int64_t widest;			     /* no window spans more than this */
	int64_t epoch_level;		     /* reported, when the epoch last grew */
	uint32_t users;			     /* windows in use */
	bool refused;			     /* membarrier failed, or must not be called */
	_Atomic int64_t reported;	     /* written under lock */
	_Atomic(struct peak_window *) alone; /* in exclusive mode, NULL = none; written under lock */
} state __attribute__((aligned(64))) = {.lock = {.rank = LOCK_PEAK}, .refused = true};

static _Atomic(struct peak_window *) windows;

static int64_t get(const _Atomic int64_t *value)
{
	return atomic_load_explicit(value, memory_order_relaxed);
}

static void set(_Atomic int64_t *to, int64_t value)
{
	atomic_store_explicit(to, value, memory_order_relaxed);
}

static int64_t tolerance(void)
{
	int64_t part = get(&state.reported) >> TOLERANCE_SHIFT;

	return part > TOLERANCE_MIN ? part : TOLERANCE_MIN;
}

/* w: a narrow window reaches so far up and down. */
static int64_t narrow(void)
{
	return tolerance() / (2 * (int64_t)state.users);
}

static struct peak_window *first_window(void)
{
	/* Acquire: pairs with the release in publish(). */
	return atomic_load_explicit(&windows, memory_order_acquire);
}

/* A struct thread, with its window, goes from one thread to the next. */
static void take_ownership(struct peak_window *window)
{
	atomic_store_explicit(&window->owner, lock_self(), memory_order_relaxed);
}

static void publish(struct peak_window *window)
{
	window->registered = 1;
	window->next = atomic_load_explicit(&windows, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(&windows, &window->next, window,
						      memory_order_release, memory_order_relaxed))
		;
}

static void next_epoch(void)
{
	uint32_t epoch = peak_epoch() + 1;

	state.epoch_level = get(&state.reported);
	if (epoch == FORMAT_EPOCH_WIDE)
		epoch = FORMAT_EPOCH_CHANGING + 1;
	/* Release: who reads the new epoch reads the new peak.  The profile's first: a kill in between leaves no share of an
	 * epoch that it does not know. */
	atomic_store_explicit(&store_head()->peak_epoch, epoch, memory_order_release);
	atomic_store_explicit(&peak_epoch_now, epoch, memory_order_release);
}

/* A new peak, higher by bytes. */
static void raise_peak(int64_t bytes)
{
	int64_t reported = get(&state.reported) + bytes;

	set(&state.reported, reported);
	/* For readers of the profile; before the epoch, as above. */
	atomic_store_explicit(&store_head()->peak_bytes, (uint64_t)reported, memory_order_relaxed);
	if (state.users <= 1 || reported - state.epoch_level >= tolerance() / EPOCHS_PER_TOLERANCE)
		next_epoch();
}

/* How far the window that was settled last may grow, given all others' room. */
static int64_t headroom(void)
{
	return get(&state.reported) - state.base - state.granted;
}

static void grant(struct peak_window *window, int64_t high, int64_t low)
{
	state.granted += high - window->granted;
	window->granted = high;
	if (high - low > state.widest)
		state.widest = high - low;
	set(&window->low, low);
	set(&window->high, high);
}

/* Moves the balance to base and takes the window's room away.  Returns true if it had passed its high. */
static bool collect(struct peak_window *window)
{
	int64_t balance = get(&window->balance);
	bool grew = balance > window->granted;

	set(&window->balance, 0);
	state.base += balance;
	grant(window, 0, 0);
	return grew;
}

/* Afterwards every thread of the process has seen the bounds stored before, and every balance stored
 * under older bounds can be read.  Returns false if the kernel refuses, or once did. */
static bool barrier(void)
{
	if (sys_sandboxed())
		state.refused = true;
	if (!state.refused && sys_call(SYS_membarrier, BARRIER_PRIVATE, 0, 0, 0) != 0)
		state.refused = true;
	return !state.refused;
}

/* Gives a revoked window, whose balance is known, room of 2w; never more upwards than it had. */
static void restrict_window(struct peak_window *window, int64_t w)
{
	int64_t high = get(&window->balance) + w;

	if (high > window->granted)
		high = window->granted;
	grant(window, high, high - 2 * w);
}

/* Makes windows wider than 2w that narrow; if membarrier is refused, at their next events. */
static void revoke(int64_t w)
{
	uint32_t revoked = 0;

	for (struct peak_window *window = first_window(); window; window = window->next) {
		if (window->granted - get(&window->low) <= 2 * w)
			continue;
		set(&window->high, REVOKED);
		revoked++;
	}
	if (revoked && !barrier())
		return;
	for (struct peak_window *window = first_window(); window; window = window->next)
		if (get(&window->high) == REVOKED)
			restrict_window(window, w);
	state.widest = 2 * w;
}

/* The only window in use: exact. */
static void grant_alone(struct peak_window *window)
{
	int64_t room = headroom();

	if (room < 0)
		raise_peak(-room);
	if (state.refused) {
		grant(window, 0, 0); /* it could not be revoked when a second thread enters */
		return;
	}
	grant(window, headroom(), UNBOUNDED);
	atomic_store_explicit(&state.alone, window, memory_order_release);
	/* Release: pairs with the acquire in rise_alone(). */
	atomic_store_explicit(&window->alone, 1, memory_order_release);
}

/* Waits until the thread that was alone is outside its section for good; or gone for good, in the midst of it. */
static void wait_for_rising(const struct peak_window *window)
{
	uint32_t spins = 0;

	if (!barrier())
		while (spins < DRAIN_SPINS) {
			arch_pause();
			spins++;
		}
	/* Acquire: pairs with the release in rise_alone(). */
	while (atomic_load_explicit(&window->rising, memory_order_acquire) &&
	       !lock_waited_long(spins))
		lock_pause(&spins);
}

static bool is_mine(const struct peak_window *window)
{
	return atomic_load_explicit(&window->owner, memory_order_relaxed) == lock_self();
}

static void end_alone(void)
{
	struct peak_window *window = atomic_load_explicit(&state.alone, memory_order_relaxed);

	if (!window)
		return;
	atomic_store_explicit(&window->alone, 0, memory_order_relaxed);
	if (!is_mine(window))
		wait_for_rising(window);
	atomic_store_explicit(&state.alone, NULL, memory_order_relaxed);
}

/* Takes the lock.  Returns false in a signal handler that interrupted its own thread under the lock, or in
 * its exclusive section: the holder of the lock may be waiting for the end of that; or, for a lock further down, as lock_take() does.
 * What is not settled then is settled at the window's next event. */
static bool take_lock(void)
{
	const struct peak_window *window = atomic_load_explicit(&state.alone, memory_order_acquire);

	if (window && atomic_load_explicit(&window->rising, memory_order_relaxed) && is_mine(window))
		return false;
	return lock_take(&state.lock);
}

/* In exclusive mode, a new peak without the lock.  Returns false in any other mode. */
static inline bool rise_alone(struct peak_window *window)
{
	uint32_t alone;
	int64_t more;

	atomic_store_explicit(&window->rising, 1, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst); /* and a membarrier in wait_for_rising() */
	alone = atomic_load_explicit(&window->alone, memory_order_acquire);
	if (alone) {
		more = get(&window->balance) - window->granted;
		if (more > 0) {
			grant(window, window->granted + more, UNBOUNDED);
			raise_peak(more);
		}
	}
	atomic_store_explicit(&window->rising, 0, memory_order_release);
	return alone != 0;
}

/* The window settled last had passed its high: others' room is taken, and then the peak rises, until
 * it has room of w. */
static void make_room(int64_t w)
{
	if (headroom() < w && state.widest > 2 * w)
		revoke(w);
	if (headroom() < w)
		raise_peak(w - headroom());
}

static void grant_shared(struct peak_window *window, int64_t w)
{
	int64_t share = headroom() / (state.users + 1);

	/* Nothing between narrow and far wider: revoking must be worth its membarrier. */
	if (state.refused || share < WIDE_FACTOR * w)
		grant(window, headroom() < w ? headroom() : w, -w);
	else
		grant(window, share, -share);
}

static void settle(struct peak_window *window)
{
	bool grew = collect(window);

	if (state.users == 1) {
		grant_alone(window);
		return;
	}
	if (grew)
		make_room(narrow());
	grant_shared(window, narrow());
}

static void enter(struct peak_window *window)
{
	if (atomic_load_explicit(&window->in_use, memory_order_relaxed))
		return;
	end_alone();
	atomic_store_explicit(&window->in_use, 1, memory_order_relaxed);
	state.users++;
}

static void leave(struct peak_window *window)
{
	if (!atomic_load_explicit(&window->in_use, memory_order_relaxed))
		return;
	end_alone();
	collect(window);
	if (headroom() < 0)
		raise_peak(-headroom());
	atomic_store_explicit(&window->in_use, 0, memory_order_relaxed);
	state.users--;
}

void peak_init(void)
{
	long result = sys_call(SYS_membarrier, BARRIER_REGISTER, 0, 0, 0);

	state.refused = result != 0;
	atomic_store_explicit(&store_head()->peak_epoch, peak_epoch(), memory_order_relaxed);
}

void peak_enter(struct peak_window *window)
{
	take_ownership(window);
	peak_settle(window);
}

void peak_leave(struct peak_window *window)
{
	if (!take_lock())
		return;
	leave(window);
	lock_drop(&state.lock);
}

__attribute__((noinline)) void peak_settle(struct peak_window *window)
{
	if (rise_alone(window))
		return;
	if (!window->registered)
		publish(window);
	take_ownership(window);
	if (!take_lock())
		return;
	enter(window);
	settle(window);
	lock_drop(&state.lock);
}

void peak_seal(void)
{
	if (!take_lock())
		return;
	end_alone();
	if (!state.refused && state.users > 0)
		revoke(narrow());
	state.refused = true;
	lock_drop(&state.lock);
}

uint64_t peak_bytes(void)
{
	return (uint64_t)get(&state.reported);
}

uint64_t peak_live_bytes(void)
{
	bool taken = take_lock();
	int64_t total = state.base;

	for (struct peak_window *window = first_window(); window; window = window->next)
		total += get(&window->balance);
	if (taken)
		lock_drop(&state.lock);
	return total > 0 ? (uint64_t)total : 0;
}

void peak_fork_child(void)
{
	lock_reset(&state.lock);
	state.base = 0;
	state.granted = 0;
	state.widest = 0;
	state.epoch_level = 0;
	state.users = 0;
	atomic_store_explicit(&state.alone, NULL, memory_order_relaxed);
	set(&state.reported, 0);
	atomic_store_explicit(&peak_epoch_now, 1, memory_order_relaxed);
	atomic_store_explicit(&store_head()->peak_epoch, 1, memory_order_relaxed);
	atomic_store_explicit(&windows, NULL, memory_order_relaxed);
	if (!state.refused && !sys_sandboxed())
		peak_init();
}
