/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_side_table.c - the lock-free side table: exact under growth, threads and signal handlers.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "libpmem/loss.h"
#include "libpmem/side_table.h"
#include "tests/unit/memory_limit.h"
#include "tests/unit/store_reset.h"

enum { MANY = 100000, THREADS = 8, HANDED_OVER = 64 };

/* What the tests store for an address, so that a wrong entry shows. */
static struct side_entry entry_of(uintptr_t addr)
{
	return (struct side_entry){.size = addr * 3 + 1, .birth_ns = addr ^ 0x5a5a5a5a};
}

static bool put(uintptr_t addr)
{
	const struct side_entry entry = entry_of(addr);

	return side_table_put(addr, &entry);
}

/* Takes addr and compares what comes out. */
static bool take(uintptr_t addr)
{
	const struct side_entry expected = entry_of(addr);
	struct side_entry entry = {0, 0};

	return side_table_take(addr, &entry) && entry.size == expected.size &&
	       entry.birth_ns == expected.birth_ns;
}

static uint32_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*state >> 33);
}

static int start_empty(void **state)
{
	(void)state;
	side_table_fork_child();
	store_reset();
	return side_table_count() != 0;
}

static void what_is_put_is_taken_once(void **state)
{
	struct side_entry entry = {11, 22};

	(void)state;
	assert_false(side_table_take(0x1000, &entry));
	assert_int_equal(entry.size, 11);
	assert_int_equal(entry.birth_ns, 22);
	assert_true(put(0x1000));
	assert_true(put(0x1010));
	assert_int_equal(side_table_count(), 2);
	assert_true(take(0x1000));
	assert_false(take(0x1000));
	assert_int_equal(side_table_count(), 1);
	assert_true(take(0x1010));
	assert_int_equal(side_table_count(), 0);
}

static void entries_of_any_value(void **state)
{
	const struct side_entry largest = {.size = UINT64_MAX, .birth_ns = UINT64_MAX};
	const struct side_entry zero = {0, 0};
	struct side_entry entry;

	(void)state;
	assert_true(side_table_put(0x7ffffffffff0, &largest));
	assert_true(side_table_put(0x20, &zero));
	assert_true(side_table_take(0x7ffffffffff0, &entry));
	assert_true(entry.size == UINT64_MAX && entry.birth_ns == UINT64_MAX);
	assert_true(side_table_take(0x20, &entry));
	assert_true(entry.size == 0 && entry.birth_ns == 0);
}

/* Runs before the others: they grow the table for good. */
static void grows_and_stays_exact(void **state)
{
	(void)state;
	assert_int_equal(side_table_size(), 0);
	for (uintptr_t i = 1; i <= MANY; i++)
		assert_true(put(i * 32));
	assert_int_equal(side_table_count(), MANY);
	/* 24 bytes an entry: neither a table that cannot hold them nor a wasteful one. */
	assert_in_range(side_table_size(), (size_t)MANY * 24, (size_t)MANY * 24 * 8);
	assert_false(take((MANY + 1) * (uintptr_t)32));
	for (uintptr_t i = 1; i <= MANY; i += 2)
		assert_true(take(i * 32));
	assert_int_equal(side_table_count(), MANY / 2);
	for (uintptr_t i = 1; i <= MANY; i++)
		assert_int_equal(take(i * 32), i % 2 == 0);
	assert_int_equal(side_table_count(), 0);
	assert_int_equal(loss_count(FORMAT_LOSS_MEMORY), 0);
}

static void churn_does_not_grow_it(void **state)
{
	size_t before;

	(void)state;
	for (uintptr_t i = 1; i <= 1000; i++)
		assert_true(put(i * 16));
	before = side_table_size();
	for (uintptr_t i = 1; i <= 500000; i++) {
		assert_true(take(i * 16));
		assert_true(put((i + 1000) * 16));
	}
	assert_int_equal(side_table_size(), before);
	assert_int_equal(side_table_count(), 1000);
}

static void exhausted_memory_is_told(void **state)
{
	struct rlimit before;
	uintptr_t count = 0;
	bool all_there = true;

	(void)state;
	before = memory_exhaust();
	while (count < 10 * MANY && put((count + 1) * 64))
		count++;
	memory_restore(before);
	assert_in_range(count, 1, 10 * MANY - 1);
	assert_int_equal(loss_count(FORMAT_LOSS_MEMORY), 1);
	assert_int_equal(side_table_count(), count);
	assert_false(take((count + 1) * 64));
	for (uintptr_t i = 1; i <= count; i++)
		all_there &= take(i * 64);
	assert_true(all_there);
	assert_true(put(64));
}

static _Atomic uint64_t wrong;
static _Atomic uintptr_t handed_over[HANDED_OVER];

/* Puts own addresses into the table and hands them to whoever comes next, who must find them. */
static void *hammer(void *index)
{
	uint64_t random = (uintptr_t)index + 1;
	uintptr_t next = ((uintptr_t)index + 1) << 32;

	for (int i = 0; i < 40000; i++) {
		uintptr_t own = next;
		uintptr_t other;

		next += 16 * (1 + next_random(&random) % 50);
		if (!put(own))
			atomic_fetch_add_explicit(&wrong, 1, memory_order_relaxed);
		other = atomic_exchange_explicit(&handed_over[next_random(&random) % HANDED_OVER],
						 own, memory_order_acq_rel);
		if (other != 0 && !take(other))
			atomic_fetch_add_explicit(&wrong, 1, memory_order_relaxed);
	}
	return NULL;
}

static void threads_lose_nothing(void **state)
{
	pthread_t threads[THREADS];
	uint64_t left = 0;

	(void)state;
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, hammer, (void *)i), 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(wrong, 0);
	for (int i = 0; i < HANDED_OVER; i++)
		left += handed_over[i] != 0;
	assert_int_equal(side_table_count(), left);
	for (int i = 0; i < HANDED_OVER; i++)
		assert_true(handed_over[i] == 0 || take(handed_over[i]));
	assert_int_equal(side_table_count(), 0);
}

enum { HANDLER_RUNS = 300, HANDLER_KEYS = 100 };

static volatile sig_atomic_t handler_runs;
static volatile sig_atomic_t handler_wrong;

/* Keeps HANDLER_KEYS addresses of its own in the table from one run to the next. */
static void put_and_take_in_handler(int number)
{
	uintptr_t run = (uintptr_t)handler_runs;

	(void)number;
	for (uintptr_t i = 0; i < HANDLER_KEYS; i++) {
		if (run > 0 && !take(((uintptr_t)1 << 40) + ((run - 1) * HANDLER_KEYS + i) * 16))
			handler_wrong++;
		if (!put(((uintptr_t)1 << 40) + (run * HANDLER_KEYS + i) * 16))
			handler_wrong++;
	}
	handler_runs++;
}

/* Puts and takes 50 addresses, in an order that leaves gaps. */
static uint64_t one_round(uintptr_t first)
{
	uint64_t bad = 0;

	for (uintptr_t i = 0; i < 50; i++)
		bad += !put((first + i) * 16);
	for (uintptr_t i = 0; i < 50; i++)
		bad += !take((first + i * 7 % 50) * 16);
	return bad;
}

static void handlers_may_interrupt_anything(void **state)
{
	const struct sigaction action = {.sa_handler = put_and_take_in_handler};
	const struct itimerval often = {{0, 100}, {0, 100}};
	const struct itimerval never = {{0, 0}, {0, 0}};
	struct sigaction before;
	uint64_t bad = 0;

	(void)state;
	assert_int_equal(sigaction(SIGALRM, &action, &before), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
	for (uintptr_t i = 0; handler_runs < HANDLER_RUNS && i < 2000000; i++)
		bad += one_round(1 + i * 50);
	setitimer(ITIMER_REAL, &never, NULL);
	sigaction(SIGALRM, &before, NULL);
	assert_int_equal(bad, 0);
	assert_int_equal(handler_wrong, 0);
	assert_true(handler_runs > 0);
	assert_int_equal(side_table_count(), HANDLER_KEYS);
}

static void child_begins_empty(void **state)
{
	int status;
	pid_t child;

	(void)state;
	for (uintptr_t i = 1; i <= 5000; i++)
		assert_true(put(i * 32));
	child = fork();
	if (child == 0) {
		side_table_fork_child();
		_exit(!(side_table_count() == 0 && !take(32) && put(32) && take(32)));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(side_table_count(), 5000);
	for (uintptr_t i = 1; i <= 5000; i++)
		assert_true(take(i * 32));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(grows_and_stays_exact, start_empty),
		cmocka_unit_test_setup(what_is_put_is_taken_once, start_empty),
		cmocka_unit_test_setup(entries_of_any_value, start_empty),
		cmocka_unit_test_setup(churn_does_not_grow_it, start_empty),
		cmocka_unit_test_setup(exhausted_memory_is_told, start_empty),
		cmocka_unit_test_setup(threads_lose_nothing, start_empty),
		cmocka_unit_test_setup(handlers_may_interrupt_anything, start_empty),
		cmocka_unit_test_setup(child_begins_empty, start_empty),
	};

	return cmocka_run_group_tests_name("side_table", tests, NULL, NULL);
}
