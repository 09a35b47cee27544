/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_snapshot_slices.c - when snapshots are taken, in slices, by whom; how they end or are cut.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "libpmem/churn.h"
#include "libpmem/loss.h"
#include "libpmem/snapshot.h"
#include "libpmem/snapshot_budget.h"
#include "libpmem/tree.h"
#include "snapshot_fakes.h"
#include "tests/unit/memory_limit.h"

/* The clock runs so fast that each slice is one step, and the program works between them and
 * inside.
 */
static void test_slices_of_one_step(void **state)
{
	struct reading reading;
	uint64_t last_alloc = 0, last_free = 0;
	const char *at;
	unsigned round;

	(void)state;
	fakes.id_limit = 2000;
	fakes.busy_program = true;
	fakes_make_deep(300);
	fakes_hash(DEEP_ID);
	fakes_event(0, DEEP_ID, 1 << 20, 0);
	fakes.clock_step_ns = SNAPSHOT_SLICE_NS + 1;
	for (round = 0; round < 40000; round++) {
		fakes.clock_ns += 1000000000; /* never short of time */
		fakes_check(fakes_work(1));
	}
	fakes.busy_program = false;
	snapshot_final();
	assert_true(fakes.write_count > 3000); /* little by little */
	for (at = fakes.log_text, round = 0; *at; round++) {
		at = fakes_read(at, &reading);
		assert_int_equal(reading.sequence, round);
		reading.rest.alloc += reading.entry_sums.alloc;
		reading.rest.free += reading.entry_sums.free;
		reading.rest.alloc_new += reading.entry_sums.alloc_new;
		reading.rest.free_new += reading.entry_sums.free_new;
		assert_int_equal(reading.rest.alloc - reading.rest.alloc_new, last_alloc);
		assert_int_equal(reading.rest.free - reading.rest.free_new, last_free);
		last_alloc = reading.rest.alloc;
		last_free = reading.rest.free;
	}
	assert_true(round >= 4);
	for (uint32_t id = 1; id < fakes.id_limit; id++)
		assert_int_equal(fakes.shown_alloc[id], fakes_sum(fakes.alloc, id));
}

static void test_final(void **state)
{
	struct reading reading;
	const char *at;

	(void)state;
	fakes_work(2000);
	fakes.clock_step_ns = SNAPSHOT_SLICE_NS + 1;
	fakes_check(1000);
	while (fakes.log_size == 0) /* some of it is in the log already */
		fakes_check(1);
	fakes_event(0, 17, 1, 0);
	fakes.threads[1].churn_grant = 1000000; /* not told yet */
	snapshot_final();
	at = fakes_read(fakes.log_text, &reading);
	assert_ptr_equal(fakes_read(at, &reading), fakes.log_text + fakes.log_size);
	assert_int_equal(reading.sequence, 1);
	assert_true(reading.churn >= 1000000);
	assert_int_equal(fakes.shown_alloc[17], fakes_sum(fakes.alloc, 17));
	assert_int_equal(fakes.note_size, 0);
	fakes.log_size = 0;
	snapshot_final();
	fakes_check(1000000);
	assert_int_equal(fakes.threads[0].churn_grant, CHURN_GRANT_MAX);
	assert_int_equal(fakes.log_size, 0);
}

static void test_final_of_nothing(void **state)
{
	(void)state;
	snapshot_final();
	assert_int_equal(fakes.log_size + fakes.note_size, 0);
}

/* No memory for any event: that must be seen. */
static void test_final_of_lost_events(void **state)
{
	(void)state;
	loss_add(FORMAT_LOSS_EVENTS, 7);
	snapshot_final();
	assert_non_null(strstr(fakes.log_text, " lost=7 events=7\n"));
	assert_int_equal(fakes_read_one().entries, 0);
}

/* From a signal handler or from exit() inside a slice: the lock is this thread's. */
static void test_final_inside_a_slice(void **state)
{
	(void)state;
	fakes_event(0, 9, 5, 0);
	fakes.final_in_write = true;
	fakes_check(1000);
	assert_true(fakes.note_size > 0);
	assert_int_equal(fakes_read_one().entries, 1);
}

static void test_limits(void **state)
{
	(void)state;
	settings.churn_thresh = 100000;
	fakes_event(0, 9, 5, 0);
	fakes_check(0);
	assert_int_equal(fakes.threads[0].churn_grant, CHURN_GRANT_MAX);
	fakes_check(99999);
	assert_int_equal(fakes.threads[0].churn_grant, 1);
	assert_int_equal(fakes.log_size, 0);
	fakes_check(1);
	assert_int_equal(fakes_read_one().churn, 100000);
	assert_int_equal(fakes.threads[0].churn_grant, CHURN_GRANT_MAX);
	fakes.threads[1].tid = fakes.threads[2].tid = fakes.threads[3].tid = 1;
	fakes.threads[0].churn_grant = 0; /* a new thread */
	fakes_check(20000);
	assert_int_equal(fakes.threads[0].churn_grant, 10000); /* 80000 / (2 * 4) */
	fakes_check(79999);
	assert_int_equal(fakes.threads[0].churn_grant, 4096);
	fakes.clock_step_ns = SNAPSHOT_SLICE_NS + 1;
	fakes_check(1);
	assert_int_equal(fakes.threads[0].churn_grant, 4096); /* in progress */
	assert_int_equal(fakes.log_size, 0);
}

/* Within a tick of the clock a thread gets its grant in parts, and tells nobody. */
static void test_grant_in_parts(void **state)
{
	struct thread *thread = &fakes.threads[0];
	int64_t total;

	(void)state;
	settings.churn_thresh = 100000;
	fakes.clock_ns = 10 * FAKES_TICK_NS;
	fakes_event(0, 9, 5, 0);
	fakes_check(0);
	for (total = CHURN_GRANT_MAX; total < 100000; total = thread->churn_grant) {
		thread->churn_left = -1; /* a byte too much */
		snapshot_check(thread);
		assert_int_equal(thread->churn_grant,
				 total + (100000 - total < CHURN_GRANT_MAX ? 100000 - total
									   : CHURN_GRANT_MAX));
		assert_int_equal(thread->churn_left, thread->churn_grant - total - 1);
		assert_int_equal(churn_told(), 0);
	}
	assert_int_equal(total, 100000);
	thread->churn_left = 0;
	snapshot_check(thread);
	assert_int_equal(fakes_read_one().churn, 100000);
	/* The next tick; and a block that is larger than the next part. */
	thread->churn_left = 0;
	fakes.clock_ns += FAKES_TICK_NS;
	snapshot_check(thread);
	assert_int_equal(churn_told(), CHURN_GRANT_MAX);
	thread->churn_left = -CHURN_GRANT_MAX;
	snapshot_check(thread);
	assert_int_equal(churn_told(), 3 * CHURN_GRANT_MAX);
	assert_int_equal(fakes.log_size, 0);
}

static void test_share_of_time(void **state)
{
	unsigned i, more = 0;

	(void)state;
	settings.snapshot_share = 10;
	fakes_event(0, 9, 5, 0);
	fakes.clock_step_ns = 30000000; /* a snapshot takes longer than the credit */
	fakes_check(1000);
	while (fakes.log_size == 0 || strstr(fakes.log_text, "# end") == NULL) {
		fakes_check(1);
		more++;
	}
	fakes_read_one();
	for (i = 0; i < 20; i++) {
		fakes_check(1000);
		assert_int_equal(fakes.threads[0].churn_grant, CHURN_GRANT_MAX);
	}
	assert_int_equal(fakes.log_size, 0);
	fakes.clock_ns += 10000000000000; /* 1 % of it is enough */
	fakes.clock_step_ns = 0;
	fakes_check(1);
	assert_int_equal(fakes_read_one().churn, more + 20001);
}

/* How often it is due is no matter; the final one, and a child's, are not held up. */
static void test_rate_of_text(void **state)
{
	size_t before = 0, last;
	uint64_t wait_ms;

	(void)state;
	settings.log_rate = 1000;
	fakes.id_limit = 1000;
	fakes_work(5000);
	do {
		last = before;
		before = fakes.log_size;
		fakes_check(1000);
	} while (fakes.log_size > before && before <= 2 * SNAPSHOT_CREDIT_BYTES);
	assert_int_equal(fakes.log_size, before);
	assert_true(last <= SNAPSHOT_CREDIT_BYTES && before > SNAPSHOT_CREDIT_BYTES);
	wait_ms = before - SNAPSHOT_CREDIT_BYTES;
	fakes.clock_ns += (wait_ms - 1) * 1000000;
	fakes_check(1000);
	assert_int_equal(fakes.log_size, before);
	fakes.clock_ns += 1000000;
	fakes_check(1000);
	assert_true(fakes.log_size > before);
	before = fakes.log_size;
	fakes_check(1000);
	assert_int_equal(fakes.log_size, before);
	snapshot_now();
	assert_true(fakes.log_size > before);
	before = fakes.log_size;
	snapshot_final();
	assert_true(fakes.log_size > before);
	snapshot_fork_child();
	before = fakes.log_size;
	fakes_check(1000);
	assert_true(fakes.log_size > before);
}

static void test_off(void **state)
{
	(void)state;
	fakes_event(0, 9, 5, 0);
	settings.log = false;
	fakes_check(1000000);
	assert_int_equal(fakes.threads[0].churn_grant, CHURN_GRANT_MAX);
	snapshot_final();
	settings.log = true;
	fakes.log_refuses = true; /* no place for a log */
	fakes_check(1000);
	fakes_check(1);
	assert_int_equal(fakes.threads[0].churn_grant, CHURN_GRANT_MAX);
	snapshot_final();
	assert_int_equal(fakes.write_count + fakes.note_size, 0);
}

/* A child that comes back into its parent's slice does not go on with it. */
static void test_fork_inside_a_slice(void **state)
{
	struct reading reading;

	(void)state;
	fakes_work(5000);
	fakes_check(1000);
	assert_int_equal(fakes_read_one().sequence, 0);
	fakes.clock_step_ns = SNAPSHOT_SLICE_NS + 1;
	fakes.fork_in_write = true;
	fakes_check(1000);
	while (fakes.fork_in_write)
		fakes_check(1);
	fakes.log_size = 0; /* the parent's */
	fakes.clock_step_ns = 0;
	memset((void *)fakes.alloc, 0, sizeof(fakes.alloc));
	memset((void *)fakes.freed, 0, sizeof(fakes.freed));
	memset(fakes.shown_alloc, 0, sizeof(fakes.shown_alloc));
	fakes_event(0, 9, 5, 0);
	fakes_check(1000);
	reading = fakes_read_one();
	assert_int_equal(reading.sequence, 0);
	assert_int_equal(reading.entries, 1);
	assert_int_equal(reading.entry_sums.alloc_new, 5);
}

/* Begins a snapshot, one step a slice, and goes on until some of it is in the log.  Returns its
 * checks of 1 byte, which come after the first one of 1000. */
static unsigned begin_slowly(void)
{
	unsigned count = 0;

	fakes.clock_step_ns = SNAPSHOT_SLICE_NS + 1;
	fakes_check(1000);
	for (; fakes.log_size == 0; count++)
		fakes_check(1);
	return count;
}

/* The disk is full from the middle of a snapshot on, for that one and the next: what comes then is
 * complete and tells of the time since the last one that was not cut. */
static void test_cut_snapshot(void **state)
{
	struct reading reading;
	uint64_t all_alloc = 0, all_free = 0;
	unsigned writes, i, more;

	(void)state;
	fakes_check(1000 + fakes_work(500));
	reading = fakes_read_one();
	fakes_expect_totals(&reading, &all_alloc, &all_free);
	fakes_work(500);
	more = begin_slowly();
	fakes_work(100);
	fakes.log_fails = true;
	writes = fakes.write_count;
	for (i = 0; i < 10000; i++)
		fakes_check(0);
	assert_int_equal(fakes.write_count, writes + 1); /* the rest of it is not even tried */
	fakes.clock_step_ns = 0;
	fakes_check(1000);
	assert_int_equal(fakes.write_count, writes + 2);
	fakes.log_fails = false;
	fakes.log_size = 0;
	memset(fakes.shown_alloc, 0, sizeof(fakes.shown_alloc));
	memset(fakes.shown_free, 0, sizeof(fakes.shown_free));
	fakes_check(1000);
	reading = fakes_read_one();
	assert_int_equal(reading.sequence, 1);
	assert_int_equal(reading.rest_stacks, 0);
	assert_int_equal(reading.churn, 3000 + more);
	fakes_expect_totals(&reading, &all_alloc, &all_free);
}

/* More call stacks pass 4 GiB at once than there is room for, and there is no more memory: nothing is written, and
 * that is said. */
static void test_final_without_memory_for_numbers(void **state)
{
	struct rlimit before;
	uint32_t id;

	(void)state;
	fakes_event(0, 9, 5, 0);
	fakes_check(1000);
	for (id = 1; id < IDS; id++)
		fakes_event(0, id, UINT64_C(1) << 32, 0);
	before = memory_exhaust();
	snapshot_final();
	memory_restore(before);
	assert_int_equal(fakes_read_one().entries, 1);
	assert_int_equal(loss_count(FORMAT_LOSS_MEMORY), 903);
	assert_true(fakes.note_size > 0);
}

/* The next one tells of the time since the last that was written. */
static void test_memory_for_numbers_comes_back(void **state)
{
	struct reading reading;
	struct rlimit before;
	uint64_t all_alloc = 0, all_free = 0;
	uint32_t id;

	(void)state;
	fakes_check(1000 + fakes_work(500));
	reading = fakes_read_one();
	fakes_expect_totals(&reading, &all_alloc, &all_free);
	for (id = 1; id < IDS; id++)
		fakes_event(id % THREADS, id, UINT64_C(1) << 32, id);
	before = memory_exhaust();
	fakes_check(1000);
	memory_restore(before);
	assert_int_equal(fakes.log_size, 0);
	fakes_work(500);
	fakes_check(1000);
	assert_non_null(strstr(fakes.log_text, " lost=0 memory=903\n"));
	reading = fakes_read_one();
	assert_int_equal(reading.sequence, 1);
	assert_int_equal(reading.churn, 2000);
	assert_int_equal(reading.rest_stacks, 0);
	fakes_expect_totals(&reading, &all_alloc, &all_free);
	fakes_check(1000 + fakes_work(500));
	reading = fakes_read_one();
	assert_int_equal(reading.sequence, 2);
	fakes_expect_totals(&reading, &all_alloc, &all_free);
}

static void test_sandbox_is_noted(void **state)
{
	static const char
		line[] = "# sandbox: no more files are opened; children forked from here on "
			 "are not recorded\n";
	size_t before;

	(void)state;
	snapshot_enter_sandbox();
	assert_string_equal(fakes.log_text, line);
	fakes.log_size = 0;
	fakes_work(500);
	begin_slowly();
	before = fakes.log_size;
	snapshot_enter_sandbox(); /* between two entries */
	assert_string_equal(fakes.log_text + before, line);
	fakes.log_size = before;
	fakes.clock_step_ns = 0;
	fakes_check(1);
	fakes_read_one();
}

static void *worker(void *argument)
{
	unsigned t = (unsigned)(uintptr_t)argument, i;

	for (i = 0; i < 20000; i++) {
		fakes_event(t, 1 + (i * 7 + t) % 199, 16, i % 2 ? 16 : 0);
		fakes.threads[t].churn_left -= 16;
		snapshot_check(&fakes.threads[t]);
	}
	return NULL;
}

static void test_threads(void **state)
{
	pthread_t ids[THREADS];
	struct reading reading;
	const char *at;
	unsigned t, round;

	(void)state;
	fakes.id_limit = 200;
	settings.churn_thresh = 50000;
	fakes.clock_step_ns = 100000; /* twenty steps a slice */
	for (t = 0; t < THREADS; t++)
		assert_int_equal(pthread_create(&ids[t], NULL, worker, (void *)(uintptr_t)t), 0);
	for (t = 0; t < THREADS; t++)
		pthread_join(ids[t], NULL);
	snapshot_final();
	for (at = fakes.log_text, round = 0; *at; round++) {
		at = fakes_read(at, &reading);
		assert_int_equal(reading.sequence, round);
	}
	assert_true(round > 3);
	for (t = 1; t < fakes.id_limit; t++)
		assert_int_equal(fakes.shown_alloc[t] - fakes.shown_free[t],
				 fakes_sum(fakes.alloc, t) - fakes_sum(fakes.freed, t));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_slices_of_one_step, fakes_begin),
		cmocka_unit_test_setup(test_final, fakes_begin),
		cmocka_unit_test_setup(test_final_of_nothing, fakes_begin),
		cmocka_unit_test_setup(test_final_of_lost_events, fakes_begin),
		cmocka_unit_test_setup(test_final_inside_a_slice, fakes_begin),
		cmocka_unit_test_setup(test_limits, fakes_begin),
		cmocka_unit_test_setup(test_grant_in_parts, fakes_begin),
		cmocka_unit_test_setup(test_share_of_time, fakes_begin),
		cmocka_unit_test_setup(test_rate_of_text, fakes_begin),
		cmocka_unit_test_setup(test_off, fakes_begin),
		cmocka_unit_test_setup(test_fork_inside_a_slice, fakes_begin),
		cmocka_unit_test_setup(test_cut_snapshot, fakes_begin),
		cmocka_unit_test_setup(test_final_without_memory_for_numbers, fakes_begin),
		cmocka_unit_test_setup(test_memory_for_numbers_comes_back, fakes_begin),
		cmocka_unit_test_setup(test_sandbox_is_noted, fakes_begin),
		cmocka_unit_test_setup(test_threads, fakes_begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
