/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_peak.c - the reported peak against the truth, which the test keeps under a mutex.
 *
 * A block is true from the end of its peak_grow() to the beginning of the one that takes it off: then
 * the reported peak must never be below.  Above it may be by E and by the blocks that are just on their way
 * through peak_grow() (at most one for each thread).  Tests that make the kernel refuse membarrier run in a
 * child, for a seccomp filter stays.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "libpmem/counters.h"
#include "libpmem/peak.h"

enum { THREADS_MAX = 8, SIZE_MAX_TEST = 256, MIB = 1024 * 1024 };

struct worker {
	struct peak_window window;
	pthread_t thread;
	uint64_t random;
	long steps;
	void (*work)(struct worker *worker);
	struct worker *partner;
	_Atomic long produced;
	_Atomic long consumed;
} __attribute__((aligned(128)));

static struct worker workers[THREADS_MAX];
static struct worker main_worker;

static struct {
	pthread_mutex_t mutex;
	/* under mutex */
	int64_t total;
	int64_t peak;
	uint64_t below;	 /* events at which the reported peak was below the total */
	int64_t largest; /* reported - true - E, ever */
} truth = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static int64_t tolerance(int64_t peak)
{
	return peak / 1024 > 8192 ? peak / 1024 : 8192;
}

static void truth_add(int64_t bytes)
{
	int64_t over;

	pthread_mutex_lock(&truth.mutex);
	truth.total += bytes;
	if (truth.total > truth.peak)
		truth.peak = truth.total;
	truth.below += (int64_t)peak_bytes() < truth.total;
	over = (int64_t)peak_bytes() - truth.peak - tolerance(truth.peak);
	if (over > truth.largest)
		truth.largest = over;
	pthread_mutex_unlock(&truth.mutex);
}

static void alloc(struct worker *worker, int64_t size)
{
	peak_grow(&worker->window, (size_t)size);
	truth_add(size);
}

static void release(struct worker *worker, int64_t size)
{
	truth_add(-size);
	peak_shrink(&worker->window, (size_t)size);
}

static uint64_t random_next(struct worker *worker)
{
	worker->random ^= worker->random << 13;
	worker->random ^= worker->random >> 7;
	worker->random ^= worker->random << 17;
	return worker->random;
}

static int64_t random_size(struct worker *worker)
{
	return 1 + (int64_t)(random_next(worker) % SIZE_MAX_TEST);
}

static void reset(void)
{
	peak_fork_child();
	peak_init();
	memset(workers, 0, sizeof(workers));
	memset(&main_worker, 0, sizeof(main_worker));
	main_worker.random = 88172645463325252u;
	truth.total = 0;
	truth.peak = 0;
	truth.below = 0;
	truth.largest = INT64_MIN;
}

static int start_empty(void **state)
{
	(void)state;
	reset();
	return 0;
}

static void *run(void *argument)
{
	struct worker *worker = argument;

	peak_enter(&worker->window);
	worker->work(worker);
	peak_leave(&worker->window);
	return NULL;
}

static void start(size_t count, void (*work)(struct worker *), long steps)
{
	for (size_t i = 0; i < count; i++) {
		workers[i].random = 88172645463325252u + i * 977;
		workers[i].steps = steps;
		workers[i].work = work;
		workers[i].partner = &workers[i ^ 1];
	}
	for (size_t i = 0; i < count; i++)
		if (pthread_create(&workers[i].thread, NULL, run, &workers[i]) != 0)
			abort();
}

static void finish(size_t count)
{
	for (size_t i = 0; i < count; i++)
		pthread_join(workers[i].thread, NULL);
}

static void run_all(size_t count, void (*work)(struct worker *), long steps)
{
	start(count, work, steps);
	finish(count);
}

static void assert_in_bounds(size_t threads)
{
	assert_int_equal(truth.below, 0);
	assert_true((int64_t)peak_bytes() >= truth.peak);
	assert_true(truth.largest <= (int64_t)threads * SIZE_MAX_TEST);
	assert_int_equal(peak_live_bytes(), truth.total);
}

/* --- one thread --- */

/* Up and down at random, with a drift that turns from time to time. */
static int64_t random_step(int step)
{
	uint64_t turn = step / 500 % 3 ? 5 : 2;

	if (truth.total > 0 && random_next(&main_worker) % 8 >= turn)
		return -(1 + (int64_t)(random_next(&main_worker) % (uint64_t)truth.total)) / 2;
	return (int64_t)(random_next(&main_worker) % 3000);
}

/* Returns the number of steps with a wrong peak, live total, or epoch. */
static int count_wrong_steps(int steps)
{
	int wrong = 0;

	peak_enter(&main_worker.window);
	for (int step = 0; step < steps; step++) {
		int64_t bytes = random_step(step);
		uint32_t epoch = peak_epoch();
		bool rises = truth.total + bytes > truth.peak;

		if (bytes >= 0)
			alloc(&main_worker, bytes);
		else
			release(&main_worker, -bytes);
		wrong += (int64_t)peak_bytes() != truth.peak;
		wrong += (int64_t)peak_live_bytes() != truth.total;
		wrong += (peak_epoch() != epoch) != rises;
	}
	return wrong;
}

static void one_thread_is_exact_at_every_step(void **state)
{
	(void)state;
	assert_int_equal(count_wrong_steps(100000), 0);
	assert_true(truth.peak > 0);
}

static void one_thread_is_exact_after_others_left(void **state)
{
	(void)state;
	peak_enter(&main_worker.window);
	peak_enter(&workers[0].window);
	alloc(&workers[0], 100 * MIB);
	release(&workers[0], 30 * MIB);
	peak_leave(&workers[0].window);
	/* Past what two windows may have reported too much. */
	alloc(&main_worker, 40 * MIB);
	assert_int_equal(count_wrong_steps(50000), 0);
	peak_leave(&main_worker.window);
	assert_int_equal(peak_live_bytes(), truth.total);
	alloc(&main_worker, MIB); /* enters again */
	assert_int_equal(peak_live_bytes(), truth.total);
	assert_int_equal(peak_bytes(), truth.peak);
}

static void one_thread_is_exact_after_the_seal(void **state)
{
	(void)state;
	assert_int_equal(count_wrong_steps(1000), 0);
	peak_seal();
	assert_int_equal(count_wrong_steps(20000), 0);
}

static void the_epoch_has_no_special_values(void **state)
{
	(void)state;
	atomic_store_explicit(&peak_epoch_now, FORMAT_EPOCH_WIDE - 2, memory_order_relaxed);
	alloc(&main_worker, 1);
	assert_true(peak_epoch() == FORMAT_EPOCH_WIDE - 1);
	alloc(&main_worker, 1);
	assert_int_equal(peak_epoch(), FORMAT_EPOCH_CHANGING + 1);
}

static void a_forked_child_begins_at_zero(void **state)
{
	static struct peak_window fresh;

	(void)state;
	alloc(&main_worker, 5000);
	peak_fork_child();
	assert_int_equal(peak_bytes(), 0);
	assert_int_equal(peak_live_bytes(), 0);
	peak_grow(&fresh, 70);
	assert_int_equal(peak_bytes(), 70);
	assert_int_equal(peak_live_bytes(), 70);
}

/* --- several threads --- */

static void grow(struct worker *worker)
{
	for (long i = 0; i < worker->steps; i++)
		alloc(worker, random_size(worker));
}

static void saw(struct worker *worker)
{
	enum { TEETH = 500 };
	int64_t sizes[TEETH];

	for (long step = 0; step < worker->steps; step += TEETH) {
		for (int i = 0; i < TEETH; i++) {
			sizes[i] = random_size(worker);
			alloc(worker, sizes[i]);
		}
		for (int i = 0; i < TEETH; i++)
			release(worker, sizes[i]);
	}
}

/* Three up, two down. */
static void grow_with_churn(struct worker *worker)
{
	for (long i = 0; i < worker->steps; i += 5) {
		int64_t first = random_size(worker);
		int64_t second = random_size(worker);

		alloc(worker, first);
		alloc(worker, second);
		alloc(worker, 16);
		release(worker, first);
		release(worker, second);
	}
}

/* Even workers allocate, their odd partners free. */
static void produce_or_consume(struct worker *worker)
{
	enum { AHEAD = 500, SIZE = 100 };
	struct worker *producer = worker < worker->partner ? worker : worker->partner;

	for (long i = 0; i < worker->steps; i++) {
		if (worker == producer) {
			while (i - atomic_load_explicit(&producer->consumed, memory_order_acquire) >=
			       AHEAD)
				sched_yield();
			alloc(worker, SIZE);
			atomic_store_explicit(&producer->produced, i + 1, memory_order_release);
		} else {
			while (atomic_load_explicit(&producer->produced, memory_order_acquire) <= i)
				sched_yield();
			release(worker, SIZE);
			atomic_store_explicit(&producer->consumed, i + 1, memory_order_release);
		}
	}
}

/* Threads come and go while another one, alone in between, sets new peaks. */
static void come_and_go(struct worker *worker)
{
	for (long i = 0; i < worker->steps; i++) {
		if (worker != &workers[0] && i % 8 == 0) {
			peak_leave(&worker->window);
			for (int yields = 0; yields < 8; yields++)
				sched_yield();
			peak_enter(&worker->window);
		}
		alloc(worker, 50);
		if (worker != &workers[0])
			release(worker, 50);
	}
}

static void check(void (*work)(struct worker *), size_t threads, long steps)
{
	reset();
	run_all(threads, work, steps);
	assert_in_bounds(threads);
}

static void growth_stays_in_bounds(void **state)
{
	(void)state;
	check(grow, 2, 1000000);
	check(grow, 8, 200000);
}

static void a_sawtooth_stays_in_bounds(void **state)
{
	(void)state;
	check(saw, 2, 500000);
	check(saw, 8, 100000);
}

static void growth_with_churn_stays_in_bounds(void **state)
{
	(void)state;
	check(grow_with_churn, 2, 1000000);
	check(grow_with_churn, 8, 200000);
}

static void producers_and_consumers_stay_in_bounds(void **state)
{
	(void)state;
	check(produce_or_consume, 2, 100000);
	check(produce_or_consume, 8, 20000);
}

static void threads_that_come_and_go_stay_in_bounds(void **state)
{
	(void)state;
	check(come_and_go, 2, 60000);
	check(come_and_go, 4, 30000);
}

/* The growing threads reach the old peak again from far below it: wide windows are revoked. */
static void wide_windows_are_revoked(void **state)
{
	(void)state;
	peak_enter(&main_worker.window);
	alloc(&main_worker, 8 * MIB);
	release(&main_worker, 8 * MIB);
	run_all(4, grow, 25000);
	assert_true(truth.peak > 10 * MIB);
	assert_in_bounds(5);
}

static void a_small_total_far_below_the_peak_leaves_it_alone(void **state)
{
	uint32_t epoch;

	(void)state;
	peak_enter(&main_worker.window);
	alloc(&main_worker, 64 * MIB);
	release(&main_worker, 64 * MIB);
	epoch = peak_epoch();
	run_all(4, saw, 20000);
	assert_int_equal(peak_bytes(), 64 * MIB);
	assert_int_equal(peak_epoch(), epoch);
	assert_in_bounds(5);
}

/* --- membarrier refused --- */

/* Makes membarrier fail with EPERM in this thread and those it starts. */
static bool refuse_membarrier(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0 &&
	       syscall(SYS_membarrier, 0, 0, 0) == -1;
}

/* The verdict for a child, where nothing can be asserted. */
static bool is_within(int64_t over)
{
	return truth.below == 0 && truth.largest <= over &&
	       (int64_t)peak_live_bytes() == truth.total;
}

static bool begin_refused(void)
{
	bool refused = refuse_membarrier();

	reset();
	return refused;
}

static bool refused_from_the_start(void)
{
	if (!begin_refused())
		return false;
	if (count_wrong_steps(20000) != 0)
		return false;
	peak_leave(&main_worker.window);
	run_all(8, saw, 10000);
	run_all(8, grow, 10000);
	/* Windows that became too wide because more threads came narrow only at their next events: the
	 * bound is then the sum of E/1 + E/2 + ... + E/8 < 3 E. */
	return is_within(2 * tolerance(truth.peak));
}

/* Two idle threads far below the peak must not sit on room that could not be taken back. */
static bool refused_with_idle_threads(void)
{
	if (!begin_refused())
		return false;
	alloc(&main_worker, 16 * MIB);
	release(&main_worker, 16 * MIB);
	alloc(&workers[7], 1);
	alloc(&main_worker, 20000);
	alloc(&workers[7], 20000);
	run_all(4, grow, 40000);
	return truth.peak > 17 * MIB && is_within(2 * tolerance(truth.peak));
}

/* The first revocation fails: main's whole room of 16 MiB cannot be taken back while it does nothing. */
static bool refused_while_one_window_is_wide(void)
{
	reset();
	peak_enter(&main_worker.window);
	alloc(&main_worker, 16 * MIB);
	release(&main_worker, 16 * MIB);
	if (!refuse_membarrier())
		return false;
	run_all(4, grow, 50000);
	if (truth.peak < 20 * MIB || !is_within(16 * MIB))
		return false;
	alloc(&main_worker, 1); /* settles */
	truth.largest = INT64_MIN;
	run_all(4, saw, 10000);
	return is_within(16 * MIB);
}

/* As before, but told in time: the room was given back. */
static bool sealed_before_refusal(void)
{
	reset();
	peak_enter(&main_worker.window);
	alloc(&main_worker, 16 * MIB);
	release(&main_worker, 16 * MIB);
	peak_seal();
	if (!refuse_membarrier())
		return false;
	run_all(4, grow, 50000);
	return truth.peak > 20 * MIB && is_within(2 * tolerance(truth.peak));
}

static void assert_in_child(bool (*body)(void))
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0)
		_exit(body() ? 0 : 1);
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void without_membarrier_it_is_never_below_the_truth(void **state)
{
	(void)state;
	assert_in_child(refused_from_the_start);
	assert_in_child(refused_with_idle_threads);
	assert_in_child(refused_while_one_window_is_wide);
	assert_in_child(sealed_before_refusal);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(one_thread_is_exact_at_every_step, start_empty),
		cmocka_unit_test_setup(one_thread_is_exact_after_others_left, start_empty),
		cmocka_unit_test_setup(one_thread_is_exact_after_the_seal, start_empty),
		cmocka_unit_test_setup(the_epoch_has_no_special_values, start_empty),
		cmocka_unit_test_setup(a_forked_child_begins_at_zero, start_empty),
		cmocka_unit_test_setup(growth_stays_in_bounds, start_empty),
		cmocka_unit_test_setup(a_sawtooth_stays_in_bounds, start_empty),
		cmocka_unit_test_setup(growth_with_churn_stays_in_bounds, start_empty),
		cmocka_unit_test_setup(producers_and_consumers_stay_in_bounds, start_empty),
		cmocka_unit_test_setup(threads_that_come_and_go_stay_in_bounds, start_empty),
		cmocka_unit_test_setup(wide_windows_are_revoked, start_empty),
		cmocka_unit_test_setup(a_small_total_far_below_the_peak_leaves_it_alone, start_empty),
		cmocka_unit_test_setup(without_membarrier_it_is_never_below_the_truth, start_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
