/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_histogram.c - classes against a plain loop, histograms against a model, by many threads, without memory.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "libpmem/histogram.h"
#include "libpmem/loss.h"
#include "libpmem/store.h"
#include "tests/unit/memory_limit.h"
#include "tests/unit/store_reset.h"

enum { STACKS = 500, THREADS = 8, HAMMERED = 500000 };

static struct format_stack stacks[STACKS];

static int start_empty(void **state)
{
	(void)state;
	store_fork_child();
	store_reset();
	memset(stacks, 0, sizeof(stacks));
	return 0;
}

static uint64_t random_next(uint64_t *random)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return *random;
}

static uint32_t class_by_loop(uint64_t value, uint32_t shift)
{
	uint32_t class = 0;
	uint64_t limit = (uint64_t)1 << shift;

	while (value > limit && class < FORMAT_CLASSES - 1) {
		limit *= 2;
		class += 1;
	}
	return class;
}

static void classes_double(void **state)
{
	(void)state;
	assert_int_equal(histogram_class(0, 3), 0);
	assert_int_equal(histogram_class(8, 3), 0);
	assert_int_equal(histogram_class(9, 3), 1);
	assert_int_equal(histogram_class(16, 3), 1);
	assert_int_equal(histogram_class(17, 3), 2);
	assert_int_equal(histogram_class(UINT64_MAX, 3), FORMAT_CLASSES - 1);
	assert_int_equal(histogram_class(UINT64_MAX, 10), FORMAT_CLASSES - 1);
	for (uint32_t bit = 0; bit < 63; bit++)
		for (int64_t near = -1; near <= 1; near++) {
			uint64_t value = ((uint64_t)1 << bit) + (uint64_t)near;

			assert_int_equal(histogram_class(value, 3), class_by_loop(value, 3));
			assert_int_equal(histogram_class(value, 10), class_by_loop(value, 10));
		}
}

static void one_class_takes_no_memory(void **state)
{
	uint64_t counts[FORMAT_CLASSES];
	uint64_t expected[FORMAT_CLASSES] = {0};

	(void)state;
	histogram_read_sizes(&stacks[0], 0, counts);
	assert_memory_equal(counts, expected, sizeof(counts));
	for (size_t size = 33; size <= 64; size++)
		histogram_size(&stacks[0], size);
	assert_int_equal(store_size(), 0);
	expected[3] = 32;
	histogram_read_sizes(&stacks[0], 32, counts);
	assert_memory_equal(counts, expected, sizeof(counts));
}

static void sizes_agree_with_a_model(void **state)
{
	static uint64_t model[STACKS][FORMAT_CLASSES];
	static uint64_t total[STACKS];
	uint64_t random = 4711;
	uint64_t counts[FORMAT_CLASSES];

	(void)state;
	for (int i = 0; i < 300000; i++) {
		size_t stack = random_next(&random) % STACKS;
		uint64_t size = random_next(&random) >> random_next(&random) % 64;

		histogram_size(&stacks[stack], size);
		model[stack][class_by_loop(size, FORMAT_SIZE_SHIFT)]++;
		total[stack]++;
	}
	for (size_t stack = 0; stack < STACKS; stack++) {
		histogram_read_sizes(&stacks[stack], total[stack], counts);
		assert_memory_equal(counts, model[stack], sizeof(counts));
	}
}

static void lifetimes_agree_with_a_model(void **state)
{
	static uint64_t model[STACKS][FORMAT_CLASSES];
	uint64_t random = 815;
	uint64_t counts[FORMAT_CLASSES];

	(void)state;
	for (int i = 0; i < 100000; i++) {
		size_t stack = random_next(&random) % (STACKS - 1);
		uint64_t lifetime = random_next(&random) >> random_next(&random) % 64;

		histogram_lifetime(&stacks[stack], lifetime);
		histogram_size(&stacks[stack], (size_t)lifetime); /* shares the store, nothing else */
		model[stack][class_by_loop(lifetime, FORMAT_LIFETIME_SHIFT)]++;
	}
	for (size_t stack = 0; stack < STACKS; stack++) {
		histogram_read_lifetimes(&stacks[stack], counts);
		assert_memory_equal(counts, model[stack], sizeof(counts));
	}
	assert_int_equal(loss_count(FORMAT_LOSS_SAMPLES), 0);
}

static void a_read_behind_the_events_has_no_negative_number(void **state)
{
	uint64_t counts[FORMAT_CLASSES];

	(void)state;
	histogram_size(&stacks[0], 8);
	histogram_size(&stacks[0], 16);
	histogram_size(&stacks[0], 16);
	histogram_read_sizes(&stacks[0], 1, counts);
	assert_int_equal(counts[0], 0);
	assert_int_equal(counts[1], 2);
}

static pthread_barrier_t barrier;

/* Each class as often as the others, beginning with another one in each thread. */
static void *count_all_classes(void *argument)
{
	uint32_t first = (uint32_t)(uintptr_t)argument;

	for (size_t stack = 0; stack < STACKS; stack++) {
		if (stack % 32 == 0)
			pthread_barrier_wait(&barrier);
		for (uint32_t i = 0; i < FORMAT_CLASSES; i++) {
			uint32_t class = (first + i) % FORMAT_CLASSES;

			histogram_size(&stacks[stack], (size_t)8 << class);
			histogram_lifetime(&stacks[stack], (uint64_t)1024 << class);
		}
	}
	pthread_barrier_wait(&barrier);
	/* Often enough to meet: plain increments would lose some. */
	for (int i = 0; i < HAMMERED; i++)
		histogram_size(&stacks[0], (size_t)8 << (i % 2));
	return NULL;
}

static void threads_share_one_histogram(void **state)
{
	pthread_t threads[THREADS];
	uint64_t counts[FORMAT_CLASSES];
	uint64_t expected[FORMAT_CLASSES];

	(void)state;
	assert_int_equal(pthread_barrier_init(&barrier, NULL, THREADS), 0);
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, count_all_classes, (void *)(i * 3)), 0);
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (size_t i = 0; i < FORMAT_CLASSES; i++)
		expected[i] = THREADS;
	histogram_read_sizes(&stacks[0], THREADS * (FORMAT_CLASSES + HAMMERED), counts);
	assert_int_equal(counts[0], THREADS * (1 + HAMMERED / 2));
	assert_int_equal(counts[1], THREADS * (1 + HAMMERED / 2));
	for (size_t stack = 1; stack < STACKS; stack++) {
		histogram_read_sizes(&stacks[stack], THREADS * FORMAT_CLASSES, counts);
		assert_memory_equal(counts, expected, sizeof(counts));
		histogram_read_lifetimes(&stacks[stack], counts);
		assert_memory_equal(counts, expected, sizeof(counts));
	}
}

static void without_memory_samples_are_lost(void **state)
{
	uint64_t counts[FORMAT_CLASSES];
	struct rlimit before;

	(void)state;
	before = memory_exhaust();
	histogram_size(&stacks[0], 8);
	histogram_size(&stacks[0], 100);
	histogram_lifetime(&stacks[0], 5);
	memory_restore(before);
	assert_int_equal(loss_count(FORMAT_LOSS_SAMPLES), 1);
	assert_int_equal(loss_count(FORMAT_LOSS_MEMORY), 2);
	histogram_read_sizes(&stacks[0], 2, counts);
	assert_int_equal(counts[0], 2);
	histogram_size(&stacks[0], 100); /* memory again */
	histogram_read_sizes(&stacks[0], 3, counts);
	assert_int_equal(counts[0], 2);
	assert_int_equal(counts[4], 1);
}

/* The short way to the count of another size leads to the same count as the long one, or nowhere. */
static void other_sizes_have_a_count(void **state)
{
	uint64_t counts[FORMAT_CLASSES];
	_Atomic uint64_t *count;

	(void)state;
	assert_null(histogram_other_size(&stacks[0], 100)); /* no block yet */
	histogram_size(&stacks[0], 8);
	assert_null(histogram_other_size(&stacks[0], 8));
	assert_null(histogram_other_size(&stacks[0], 100)); /* no histogram yet */
	histogram_size(&stacks[0], 100);
	assert_null(histogram_other_size(&stacks[0], 8));
	count = histogram_other_size(&stacks[0], 128);
	assert_non_null(count);
	histogram_add(count, 2);
	assert_ptr_not_equal(histogram_other_size(&stacks[0], 129), count);
	histogram_read_sizes(&stacks[0], 4, counts);
	assert_int_equal(counts[0], 1);
	assert_int_equal(counts[4], 3);
	/* There is no such histogram. */
	stacks[0].sizes = FORMAT_SIZES_MANY | HISTOGRAM_INDEX;
	assert_null(histogram_other_size(&stacks[0], 100));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(classes_double, start_empty),
		cmocka_unit_test_setup(one_class_takes_no_memory, start_empty),
		cmocka_unit_test_setup(sizes_agree_with_a_model, start_empty),
		cmocka_unit_test_setup(lifetimes_agree_with_a_model, start_empty),
		cmocka_unit_test_setup(a_read_behind_the_events_has_no_negative_number, start_empty),
		cmocka_unit_test_setup(threads_share_one_histogram, start_empty),
		cmocka_unit_test_setup(without_memory_samples_are_lost, start_empty),
		cmocka_unit_test_setup(other_sizes_have_a_count, start_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
