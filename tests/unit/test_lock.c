/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_lock.c - spin locks: exclusion between threads, and no waiting for oneself.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "libpmem/lock.h"

enum { THREADS = 8, ROUNDS = 5000 };

static struct lock lock = {.rank = LOCK_TREE};
static uint64_t shared_count; /* under lock */
static uintptr_t selves[THREADS];
static pthread_barrier_t barrier;

static void owner_knows_itself(void **state)
{
	(void)state;
	assert_false(lock_mine(&lock));
	assert_true(lock_take(&lock));
	assert_true(lock_mine(&lock));
	assert_false(lock_take(&lock));
	assert_false(lock_try(&lock));
	assert_true(lock_mine(&lock));
	lock_drop(&lock);
	assert_false(lock_mine(&lock));
	assert_true(lock_try(&lock));
	lock_drop(&lock);
}

struct other_result {
	bool mine;
	bool tried;
};

static void *look_from_outside(void *result)
{
	struct other_result *other = result;

	other->mine = lock_mine(&lock);
	other->tried = lock_try(&lock);
	return NULL;
}

static struct other_result ask_another_thread(void)
{
	struct other_result other = {true, true};
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, look_from_outside, &other), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	return other;
}

static void others_are_kept_out(void **state)
{
	struct other_result other;

	(void)state;
	assert_true(lock_take(&lock));
	other = ask_another_thread();
	assert_false(other.mine);
	assert_false(other.tried);
	lock_drop(&lock);
}

static void reset_frees_what_another_thread_held(void **state)
{
	(void)state;
	assert_true(ask_another_thread().tried);
	assert_false(lock_try(&lock));
	lock_reset(&lock);
	assert_true(lock_take(&lock));
	lock_drop(&lock);
}

static void *add_many(void *index)
{
	selves[(uintptr_t)index] = lock_self();
	pthread_barrier_wait(&barrier); /* all alive at once: their selves must differ */
	for (int i = 0; i < ROUNDS; i++) {
		if (!lock_take(&lock))
			return NULL;
		shared_count++;
		lock_drop(&lock);
	}
	pthread_barrier_wait(&barrier);
	return NULL;
}

static void threads_exclude_each_other(void **state)
{
	pthread_t threads[THREADS];

	(void)state;
	shared_count = 0;
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, add_many, (void *)i), 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	pthread_barrier_destroy(&barrier);
	assert_int_equal(shared_count, (uint64_t)THREADS * ROUNDS);
	for (int i = 0; i < THREADS; i++) {
		assert_int_not_equal(selves[i], 0);
		assert_int_not_equal(selves[i], lock_self());
		for (int j = 0; j < i; j++)
			assert_int_not_equal(selves[i], selves[j]);
	}
}

static volatile sig_atomic_t taken_in_handler;

static void take_in_handler(int number)
{
	(void)number;
	taken_in_handler = lock_take(&lock);
	if (taken_in_handler)
		lock_drop(&lock);
}

static void handler_does_not_wait_for_its_own_thread(void **state)
{
	struct sigaction action = {.sa_handler = take_in_handler};
	struct sigaction before;

	(void)state;
	assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
	taken_in_handler = -1;
	raise(SIGUSR1);
	assert_int_equal(taken_in_handler, 1);

	assert_true(lock_take(&lock));
	raise(SIGUSR1);
	assert_int_equal(taken_in_handler, 0);
	assert_true(lock_mine(&lock));
	lock_drop(&lock);
	sigaction(SIGUSR1, &before, NULL);
}

/* --- two locks, and handlers that interrupt who holds one ----------------------------------------- */

static struct lock further_up = {.rank = LOCK_MODULES};

struct holding {
	struct lock *lock;
	pthread_barrier_t held;
	_Atomic bool enough; /* the holder drops it */
};

static void *hold(void *arg)
{
	struct holding *holding = arg;

	assert_true(lock_take(holding->lock));
	pthread_barrier_wait(&holding->held);
	while (!atomic_load(&holding->enough))
		sched_yield();
	lock_drop(holding->lock);
	return NULL;
}

static pthread_t hold_elsewhere(struct holding *holding)
{
	pthread_t thread;

	pthread_barrier_init(&holding->held, NULL, 2);
	assert_int_equal(pthread_create(&thread, NULL, hold, holding), 0);
	pthread_barrier_wait(&holding->held);
	return thread;
}

static void release(struct holding *holding, pthread_t thread)
{
	atomic_store(&holding->enough, true);
	assert_int_equal(pthread_join(thread, NULL), 0);
	pthread_barrier_destroy(&holding->held);
}

static void a_lock_further_up_is_not_waited_for(void **state)
{
	struct holding holding = {.lock = &further_up};
	pthread_t thread = hold_elsewhere(&holding);

	(void)state;
	assert_false(lock_may_fail(&further_up));
	assert_true(lock_take(&lock));
	assert_true(lock_may_fail(&further_up));
	/* Its holder goes on only after this. */
	assert_false(lock_take(&further_up));
	assert_false(lock_is_stuck(&further_up));
	lock_drop(&lock);
	assert_false(lock_may_fail(&further_up));
	release(&holding, thread);
}

static void a_free_lock_further_up_is_taken(void **state)
{
	(void)state;
	assert_true(lock_take(&lock));
	assert_true(lock_take(&further_up));
	assert_true(lock_mine(&further_up));
	lock_drop(&further_up);
	lock_drop(&lock);
}

static void *release_soon(void *arg)
{
	struct holding *holding = arg;
	const struct timespec longer_than_a_moment = {.tv_nsec = 50000000};

	nanosleep(&longer_than_a_moment, NULL);
	atomic_store(&holding->enough, true);
	return NULL;
}

static void a_lock_further_down_is_waited_for(void **state)
{
	struct holding holding = {.lock = &lock};
	pthread_t thread = hold_elsewhere(&holding), other;

	(void)state;
	assert_int_equal(pthread_create(&other, NULL, release_soon, &holding), 0);
	assert_true(lock_take(&further_up));
	assert_false(lock_may_fail(&lock));
	assert_true(lock_take(&lock));
	lock_drop(&lock);
	lock_drop(&further_up);
	assert_int_equal(pthread_join(other, NULL), 0);
	release(&holding, thread);
}

/* Its holder ended without dropping it. */
static void a_lock_that_stays_held_is_not_waited_for_twice(void **state)
{
	uint32_t rounds = 0;
	unsigned i;

	(void)state;
	assert_true(ask_another_thread().tried);
	assert_false(lock_waited_long(0));
	assert_false(lock_take(&lock)); /* after some seconds */
	for (i = 0; i < 1000000; i++)	/* at once */
		assert_false(lock_take(&lock));
	assert_false(lock_mine(&lock));
	while (!lock_waited_long(rounds))
		rounds += 1000;
	/* The holder comes back. */
	lock_drop(&lock);
	assert_true(lock_take(&lock));
	assert_false(ask_another_thread().tried);
	lock_drop(&lock);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(owner_knows_itself),
		cmocka_unit_test(others_are_kept_out),
		cmocka_unit_test(reset_frees_what_another_thread_held),
		cmocka_unit_test(threads_exclude_each_other),
		cmocka_unit_test(handler_does_not_wait_for_its_own_thread),
		cmocka_unit_test(a_lock_further_up_is_not_waited_for),
		cmocka_unit_test(a_free_lock_further_up_is_taken),
		cmocka_unit_test(a_lock_further_down_is_waited_for),
		cmocka_unit_test(a_lock_that_stays_held_is_not_waited_for_twice),
	};

	return cmocka_run_group_tests_name("lock", tests, NULL, NULL);
}
