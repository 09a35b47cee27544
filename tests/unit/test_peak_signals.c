/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_peak_signals.c - windows of signal handlers, which may have interrupted their own thread anywhere in
 * peak.c, while another thread comes and goes.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "libpmem/peak.h"

enum { STEPS = 3000000, HANDLED = 1500, SIZE = 24, OTHER_SIZE = 300 };

static struct peak_window grower;
static struct peak_window other;
static struct peak_window nested;
static _Atomic bool stop;
static _Atomic long handled;

static bool stopped(void)
{
	return atomic_load_explicit(&stop, memory_order_acquire);
}

/* Leaves the total as it was. */
static void enter_and_leave(struct peak_window *window)
{
	peak_enter(window);
	peak_grow(window, OTHER_SIZE);
	peak_shrink(window, OTHER_SIZE);
	peak_leave(window);
}

/* As an event in a handler does: with a window of its own. */
static void on_signal(int signal)
{
	(void)signal;
	enter_and_leave(&nested);
	atomic_fetch_add_explicit(&handled, 1, memory_order_relaxed);
}

static void *come_and_go(void *unused)
{
	while (!stopped()) {
		enter_and_leave(&other);
		sched_yield();
	}
	return unused;
}

static void *send_signals(void *target)
{
	while (!stopped()) {
		long before = atomic_load_explicit(&handled, memory_order_relaxed);

		pthread_kill(*(pthread_t *)target, SIGUSR1);
		while (atomic_load_explicit(&handled, memory_order_relaxed) == before && !stopped())
			sched_yield();
	}
	return NULL;
}

static void handlers_neither_deadlock_nor_damage(void **state)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	pthread_t self = pthread_self();
	pthread_t threads[2];
	int64_t total = 0;
	uint64_t below = 0;

	(void)state;
	peak_init();
	peak_enter(&grower);
	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	assert_int_equal(pthread_create(&threads[0], NULL, send_signals, &self), 0);
	assert_int_equal(pthread_create(&threads[1], NULL, come_and_go, NULL), 0);
	while (total < (int64_t)STEPS * SIZE ||
	       atomic_load_explicit(&handled, memory_order_relaxed) < HANDLED) {
		peak_grow(&grower, SIZE);
		total += SIZE;
		below += (int64_t)peak_bytes() < total;
	}
	atomic_store_explicit(&stop, true, memory_order_release);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	assert_int_equal(below, 0);
	assert_int_equal(peak_live_bytes(), total);
	/* E, and one event of each window on its way. */
	assert_true((int64_t)peak_bytes() <= total + total / 1024 + SIZE + 2 * OTHER_SIZE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(handlers_neither_deadlock_nor_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
