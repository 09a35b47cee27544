/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_counters.c - counters against a model with 64-bit numbers, also past 32 bits, at the peak, while
 * they are read, and without memory.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "libpmem/counters.h"
#include "libpmem/loss.h"
#include "libpmem/peak.h"
#include "libpmem/store.h"
#include "tests/unit/memory_limit.h"
#include "tests/unit/store_reset.h"

enum { STACKS = 150, OWNERS = 3, MAX_ID = 100000 };

#define GIB ((uint64_t)1 << 30)

static uint64_t random_state = 88172645463325252u;

static uint64_t random_next(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static int start_empty(void **state)
{
	(void)state;
	store_fork_child();
	store_reset();
	peak_fork_child();
	random_state = 88172645463325252u;
	return 0;
}

static struct counters make(void)
{
	struct counters counters;

	assert_true(counters_init(&counters, 0, MAX_ID));
	return counters;
}

static struct counter_totals read_sums(const struct counters *all, size_t count, uint32_t id)
{
	struct counter_totals totals = {0};

	for (size_t i = 0; i < count; i++)
		counters_read_frees(&all[i], id, &totals);
	for (size_t i = 0; i < count; i++)
		counters_read_allocs(&all[i], id, &totals);
	for (size_t i = 0; i < count; i++)
		counters_read_peak(&all[i], id, peak_epoch(), &totals);
	return totals;
}

static void assert_totals(const struct counter_totals *read, const struct counter_totals *model)
{
	assert_int_equal(read->alloc_count, model->alloc_count);
	assert_int_equal(read->alloc_bytes, model->alloc_bytes);
	assert_int_equal(read->free_count, model->free_count);
	assert_int_equal(read->free_bytes, model->free_bytes);
	assert_int_equal(read->temporary_count, model->temporary_count);
	assert_int_equal(read->peak_count, model->peak_count);
	assert_int_equal(read->peak_bytes, model->peak_bytes);
}

/* The brute-force model: 64-bit sums, and all call stacks copied at each new peak. */
struct model {
	struct counter_totals stacks[STACKS];
	int64_t live;
	int64_t peak;
};

static void model_peak(struct model *model)
{
	if (model->live <= model->peak)
		return;
	model->peak = model->live;
	for (size_t i = 0; i < STACKS; i++) {
		struct counter_totals *stack = &model->stacks[i];

		stack->peak_bytes = (int64_t)(stack->alloc_bytes - stack->free_bytes);
		stack->peak_count = (int64_t)(stack->alloc_count - stack->free_count);
	}
}

struct block {
	uint32_t id;
	uint64_t size;
};

/* Zero often, mostly small, sometimes several GiB. */
static uint64_t random_size(void)
{
	switch (random_next() % 16) {
	case 0:
		return 0;
	case 1:
		return random_next() % (6 * GIB);
	case 2:
		return UINT32_MAX - random_next() % 2;
	default:
		return random_next() % 5000;
	}
}

static void add_block(struct model *model, struct counters *counters, struct peak_window *window,
		      struct block block)
{
	struct counter_totals *stack = &model->stacks[block.id];

	counter_alloc(counters_get(counters, block.id), block.size, peak_epoch());
	peak_grow(window, block.size);
	stack->alloc_count++;
	stack->alloc_bytes += block.size;
	model->live += (int64_t)block.size;
	model_peak(model);
}

static void drop_block(struct model *model, struct counters *counters, struct peak_window *window,
		       struct block block)
{
	struct counter_totals *stack = &model->stacks[block.id];

	if (random_next() % 4 == 0) {
		counter_temporary(counters_get(counters, block.id));
		stack->temporary_count++;
	}
	counter_free(counters_get(counters, block.id), block.size, peak_epoch());
	peak_shrink(window, block.size);
	stack->free_count++;
	stack->free_bytes += block.size;
	model->live -= (int64_t)block.size;
}

static void assert_model(const struct model *model, const struct counters *all)
{
	int64_t at_peak = 0;

	for (uint32_t id = 0; id < STACKS; id++) {
		struct counter_totals read = read_sums(all, OWNERS, id);

		assert_totals(&read, &model->stacks[id]);
		at_peak += read.peak_bytes;
	}
	assert_int_equal(at_peak, model->peak);
	assert_int_equal(peak_bytes(), model->peak);
	assert_int_equal(peak_live_bytes(), model->live);
}

/* One thread of events over several owners' counters: any owner frees any block. */
static void random_events_agree_with_the_model(void **state)
{
	enum { STEPS = 40000, BLOCKS = 400, CHECK = 100 };
	static struct model model;
	static struct block blocks[BLOCKS];
	static struct peak_window window;
	struct counters all[OWNERS];
	size_t used = 0;

	(void)state;
	for (size_t i = 0; i < OWNERS; i++)
		all[i] = make();
	peak_enter(&window);
	for (int step = 0; step < STEPS; step++) {
		struct counters *counters = &all[random_next() % OWNERS];
		size_t wanted = (size_t)(step / 1000 % 2 ? BLOCKS / 2 : BLOCKS);
		size_t i = used ? random_next() % used : 0;

		if (used < wanted && (used == 0 || random_next() % 5 < 3)) {
			blocks[used] = (struct block){(uint32_t)(random_next() % STACKS),
						      random_size()};
			add_block(&model, counters, &window, blocks[used++]);
		} else {
			drop_block(&model, counters, &window, blocks[i]);
			blocks[i] = blocks[--used];
		}
		if (step % CHECK == 0)
			assert_model(&model, all);
	}
	assert_model(&model, all);
	assert_int_equal(loss_total(), 0);
	assert_true(model.peak > (int64_t)(16 * GIB)); /* 32 bits did not do */
}

static void a_counter_becomes_wide_only_when_it_must(void **state)
{
	struct counters counters = make();
	struct format_counter *counter = counters_get(&counters, 7);
	struct counter_totals totals;

	(void)state;
	counter_alloc(counter, UINT32_MAX - 1, 1);
	counter_free(counter, UINT32_MAX - 1, 1);
	counter_alloc(counter, 1, 1);
	assert_true(atomic_load_explicit(&counter->epoch, memory_order_relaxed) == 1);
	counter_alloc(counter, 1, 1);
	assert_true(atomic_load_explicit(&counter->epoch, memory_order_relaxed) == FORMAT_EPOCH_WIDE);
	totals = read_sums(&counters, 1, 7);
	assert_int_equal(totals.alloc_bytes, (uint64_t)UINT32_MAX + 1);
	assert_int_equal(totals.free_bytes, UINT32_MAX - 1);
	assert_int_equal(totals.alloc_count, 3);
}

static void a_count_beyond_32_bits_is_wide_too(void **state)
{
	struct counters counters = make();
	struct format_counter *counter = counters_get(&counters, 7);
	struct counter_totals totals;

	(void)state;
	counter_alloc(counter, 0, 1);
	atomic_store_explicit(&counter->alloc_count, UINT32_MAX, memory_order_relaxed);
	atomic_store_explicit(&counter->free_count, UINT32_MAX, memory_order_relaxed);
	atomic_store_explicit(&counter->temporary_count, UINT32_MAX, memory_order_relaxed);
	counter_alloc(counter, 0, 1);
	counter_temporary(counter);
	counter_free(counter, 0, 1);
	totals = read_sums(&counters, 1, 7);
	assert_int_equal(totals.alloc_count, (uint64_t)1 << 32);
	assert_int_equal(totals.free_count, (uint64_t)1 << 32);
	assert_int_equal(totals.temporary_count, (uint64_t)1 << 32);
	assert_int_equal(totals.alloc_bytes, 0);
}

/* Reads the share of the peak that epoch belongs to. */
static int64_t share(const struct counters *counters, uint32_t id, uint32_t epoch)
{
	struct counter_totals totals = {0};

	counters_read_peak(counters, id, epoch, &totals);
	return totals.peak_bytes;
}

static void a_share_is_saved_before_the_first_change(void **state)
{
	struct counters counters = make();

	(void)state;
	counter_alloc(counters_get(&counters, 5), 100, 1);
	assert_int_equal(share(&counters, 5, 2), 100); /* epoch 2 began, no change since */
	counter_free(counters_get(&counters, 5), 30, 2);
	counter_alloc(counters_get(&counters, 5), 7, 2);
	assert_int_equal(share(&counters, 5, 2), 100);
	assert_int_equal(share(&counters, 5, 3), 77);
}

static void a_share_beyond_31_bits_is_exact(void **state)
{
	struct counters counters = make();

	(void)state;
	counter_alloc(counters_get(&counters, 5), 3 * GIB, 1);
	counter_free(counters_get(&counters, 5), 1, 2);
	assert_int_equal(share(&counters, 5, 2), 3 * GIB);
	counter_free(counters_get(&counters, 6), 3 * GIB, 1); /* allocated by another thread */
	counter_free(counters_get(&counters, 6), 1, 2);
	assert_int_equal(share(&counters, 6, 2), -(int64_t)(3 * GIB));
}

static void a_share_survives_widening(void **state)
{
	struct counters counters = make();

	(void)state;
	counter_alloc(counters_get(&counters, 5), 1000, 1);
	counter_alloc(counters_get(&counters, 5), 1, 2);
	counter_alloc(counters_get(&counters, 5), 5 * GIB, 2);
	assert_int_equal(share(&counters, 5, 2), 1000);
	assert_int_equal(share(&counters, 5, 3), 1001 + 5 * GIB);
	counter_free(counters_get(&counters, 5), 5 * GIB, 3);
	assert_int_equal(share(&counters, 5, 3), 1001 + 5 * GIB);
}

static void chunks_exist_where_counters_were_used(void **state)
{
	struct counters counters = make();

	(void)state;
	assert_true(counters_has_chunk(&counters, 0));
	assert_true(counters_has_chunk(&counters, FORMAT_CHUNK - 1));
	assert_false(counters_has_chunk(&counters, FORMAT_CHUNK));
	assert_false(counters_has_chunk(&counters, UINT32_MAX));
	assert_non_null(counters_get(&counters, MAX_ID));
	assert_true(counters_has_chunk(&counters, MAX_ID));
	assert_ptr_equal(counters_get(&counters, MAX_ID), counters_get(&counters, MAX_ID));
	assert_ptr_equal(counters_get(&counters, 70) + 1, counters_get(&counters, 71));
}

static void without_memory_a_counter_stops_at_its_largest_value(void **state)
{
	struct counters counters = make();
	struct format_counter *counter = counters_get(&counters, 5);
	struct counter_totals totals;
	struct rlimit before;

	(void)state;
	before = memory_exhaust();
	counter_alloc(counter, 5 * GIB, 1);
	counter_free(counter, 3 * GIB, 1);
	counter_free(counter, 2 * GIB, 2);
	memory_restore(before);
	totals = read_sums(&counters, 1, 5);
	assert_int_equal(totals.alloc_bytes, UINT32_MAX);
	assert_int_equal(totals.free_bytes, UINT32_MAX);
	assert_int_equal(totals.alloc_count, 1);
	assert_int_equal(totals.free_count, 2);
	assert_int_equal(loss_count(FORMAT_LOSS_EVENTS), 2);
	assert_int_equal(loss_count(FORMAT_LOSS_MEMORY), 2);
	counter_alloc(counter, 10, 2); /* memory again */
	totals = read_sums(&counters, 1, 5);
	assert_int_equal(totals.alloc_bytes, (uint64_t)UINT32_MAX + 10);
	assert_int_equal(loss_count(FORMAT_LOSS_EVENTS), 2);
}

static void without_memory_there_is_no_new_chunk(void **state)
{
	struct counters counters = make();
	uint32_t id = COUNTERS_CHUNKS_PER_BLOCK * FORMAT_CHUNK;
	struct counters none;
	struct rlimit before;
	struct format_counter *refused;
	bool made;

	(void)state;
	for (uint32_t chunk = 0; chunk < COUNTERS_CHUNKS_PER_BLOCK; chunk++)
		assert_non_null(counters_get(&counters, chunk * FORMAT_CHUNK));
	before = memory_exhaust();
	refused = counters_get(&counters, id);
	made = counters_init(&none, 0, MAX_ID);
	memory_restore(before);
	assert_null(refused);
	assert_false(made);
	assert_int_equal(loss_count(FORMAT_LOSS_MEMORY), 2);
	refused = counters_get(&counters, id); /* memory again: no number was lost */
	assert_non_null(refused);
	assert_ptr_equal(refused, store_find(FORMAT_COUNTERS, 1));
}

/* A producer allocates, a consumer frees, both with counters of their own that become wide on the way. */
enum { ROUNDS = 400000, SHARED_STACKS = 4, SHARED_SIZE = 100000 };

static struct counters shared[2];
static _Atomic uint32_t produced;
static _Atomic uint32_t epoch_now = 1;
static _Atomic bool done;

static void *produce(void *unused)
{
	for (uint32_t i = 0; i < ROUNDS; i++) {
		counter_alloc(counters_get(&shared[0], i % SHARED_STACKS), SHARED_SIZE,
			      atomic_load_explicit(&epoch_now, memory_order_relaxed));
		if (i % 16 == 0)
			atomic_fetch_add_explicit(&epoch_now, 1, memory_order_relaxed);
		atomic_store_explicit(&produced, i + 1, memory_order_release);
	}
	return unused;
}

static void *consume(void *unused)
{
	for (uint32_t i = 0; i < ROUNDS; i++) {
		while (atomic_load_explicit(&produced, memory_order_acquire) <= i)
			sched_yield();
		counter_free(counters_get(&shared[1], i % SHARED_STACKS), SHARED_SIZE,
			     atomic_load_explicit(&epoch_now, memory_order_relaxed));
	}
	atomic_store_explicit(&done, true, memory_order_release);
	return unused;
}

static void live_is_never_negative_while_it_is_read(void **state)
{
	pthread_t threads[2];
	uint64_t reads = 0;
	uint64_t negative = 0;
	uint64_t wild = 0;

	(void)state;
	shared[0] = make();
	shared[1] = make();
	assert_int_equal(pthread_create(&threads[0], NULL, produce, NULL), 0);
	assert_int_equal(pthread_create(&threads[1], NULL, consume, NULL), 0);
	while (!atomic_load_explicit(&done, memory_order_acquire)) {
		struct counter_totals totals = read_sums(shared, 2,
							 (uint32_t)(reads++ % SHARED_STACKS));

		negative += totals.alloc_bytes < totals.free_bytes;
		negative += totals.alloc_count < totals.free_count;
		wild += totals.alloc_bytes % SHARED_SIZE != 0 ||
			totals.peak_bytes % SHARED_SIZE != 0;
	}
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	assert_int_equal(negative, 0);
	assert_int_equal(wild, 0);
	for (uint32_t id = 0; id < SHARED_STACKS; id++) {
		struct counter_totals totals = read_sums(shared, 2, id);

		assert_int_equal(totals.alloc_count, ROUNDS / SHARED_STACKS);
		assert_int_equal(totals.free_count, ROUNDS / SHARED_STACKS);
		assert_int_equal(totals.alloc_bytes, (uint64_t)ROUNDS / SHARED_STACKS * SHARED_SIZE);
		assert_int_equal(totals.free_bytes, totals.alloc_bytes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(random_events_agree_with_the_model, start_empty),
		cmocka_unit_test_setup(a_counter_becomes_wide_only_when_it_must, start_empty),
		cmocka_unit_test_setup(a_count_beyond_32_bits_is_wide_too, start_empty),
		cmocka_unit_test_setup(a_share_is_saved_before_the_first_change, start_empty),
		cmocka_unit_test_setup(a_share_beyond_31_bits_is_exact, start_empty),
		cmocka_unit_test_setup(a_share_survives_widening, start_empty),
		cmocka_unit_test_setup(chunks_exist_where_counters_were_used, start_empty),
		cmocka_unit_test_setup(without_memory_a_counter_stops_at_its_largest_value,
				       start_empty),
		cmocka_unit_test_setup(without_memory_there_is_no_new_chunk, start_empty),
		cmocka_unit_test_setup(live_is_never_negative_while_it_is_read, start_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
