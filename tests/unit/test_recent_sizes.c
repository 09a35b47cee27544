/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_recent_sizes.c - blocks that a thread counts for itself: none is lost, whatever takes whose place.
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
#include "libpmem/recent_sizes.h"
#include "libpmem/store.h"
#include "libpmem/tree.h"
#include "tests/unit/memory_limit.h"
#include "tests/unit/store_reset.h"

enum { STACKS = 300, EVENTS = 200000, THREADS = 4, SMALL = 8, FIRST = 10 };

/* The records that tree.c would have. */
_Atomic(struct format_stack *) tree_stack_blocks[FORMAT_BLOCKS_MAX];
static struct format_stack stacks[TREE_STACKS_PER_BLOCK];

/* Each call stack has a histogram, and a first block of SMALL bytes. */
static int start(void **state)
{
	uint32_t id;

	(void)state;
	store_fork_child();
	store_reset();
	memset(stacks, 0, sizeof(stacks));
	atomic_store(&tree_stack_blocks[0], stacks);
	for (id = FIRST; id < FIRST + STACKS; id++) {
		histogram_size(&stacks[id], SMALL);
		histogram_size(&stacks[id], 2 * SMALL);
	}
	return 0;
}

/* As an event does. */
static void count(struct recent_sizes *recent, uint32_t id, uint32_t size_class)
{
	_Atomic uint64_t *place = recent_sizes_find(recent, id, size_class);

	if (place) {
		histogram_add_alone(place, 1);
		return;
	}
	histogram_add_others(&stacks[id], size_class, 1);
	recent_sizes_missed(recent, id, size_class);
}

/* Of class size_class, in the histogram and in all tables. */
static uint64_t total(uint32_t id, uint32_t size_class)
{
	uint32_t tables = atomic_load(&store_head()->recent_count), i, j;
	uint64_t counts[FORMAT_CLASSES], sum;

	histogram_read_sizes(&stacks[id], UINT32_MAX, counts);
	sum = counts[size_class];
	for (i = 0; i < tables; i++) {
		const struct format_recent_sizes *table = store_item(FORMAT_RECENT_SIZES,
								     sizeof(*table), i);

		for (j = 0; j < FORMAT_RECENT; j++) {
			uint64_t one = atomic_load(&table->counts[j]);

			if (one >> FORMAT_RECENT_CLASS_SHIFT == recent_sizes_key(id, size_class))
				sum += (uint32_t)one;
		}
	}
	return sum;
}

static void what_comes_often_gets_a_place(void **state)
{
	struct recent_sizes recent = {0};
	uint64_t counts[FORMAT_CLASSES];
	int i;

	(void)state;
	assert_null(recent_sizes_find(&recent, FIRST, 3));
	for (i = 0; i < 1000; i++)
		count(&recent, FIRST, 3);
	assert_non_null(recent_sizes_find(&recent, FIRST, 3));
	assert_null(recent_sizes_find(&recent, FIRST, 4));
	assert_null(recent_sizes_find(&recent, FIRST + 1, 3));
	assert_int_equal(total(FIRST, 3), 1000);
	/* Nearly all of them are not where other threads write. */
	histogram_read_sizes(&stacks[FIRST], UINT32_MAX, counts);
	assert_true(counts[3] < 20);
	assert_int_equal(atomic_load(&store_head()->recent_count), 1);
}

static uint64_t random_next(uint64_t *random)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return *random;
}

/* Few places for many call stacks: they push each other out. */
static void *count_many(void *seed)
{
	struct recent_sizes recent = {0};
	uint64_t random = (uint64_t)(uintptr_t)seed;
	int i;

	for (i = 0; i < EVENTS; i++) {
		uint64_t next = random_next(&random);

		count(&recent, FIRST + (uint32_t)(next % STACKS),
		      2 + (uint32_t)(next >> 32) % (FORMAT_CLASSES - 2));
	}
	return NULL;
}

static void none_is_lost(void **state)
{
	pthread_t threads[THREADS];
	uint64_t sum = 0;
	uint32_t id, size_class;
	uintptr_t i;

	(void)state;
	for (i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, count_many, (void *)(i + 12345)),
				 0);
	for (i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	for (id = FIRST; id < FIRST + STACKS; id++)
		for (size_class = 2; size_class < FORMAT_CLASSES; size_class++)
			sum += total(id, size_class);
	assert_int_equal(sum, (uint64_t)THREADS * EVENTS);
	assert_int_equal(atomic_load(&store_head()->recent_count), THREADS);
}

/* The number of blocks has 32 bits. */
static void a_place_that_is_full_is_emptied(void **state)
{
	struct recent_sizes recent = {0};
	_Atomic uint64_t *place;
	uint64_t expected;
	int i;

	(void)state;
	for (i = 0; i < 100; i++)
		count(&recent, FIRST, 3);
	place = recent_sizes_find(&recent, FIRST, 3);
	assert_non_null(place);
	expected = total(FIRST, 3) - (uint32_t)atomic_load(place) + (UINT32_MAX - 10) + 100;
	atomic_store(place, (uint64_t)recent_sizes_key(FIRST, 3) << FORMAT_RECENT_CLASS_SHIFT |
				    (UINT32_MAX - 10));
	for (i = 0; i < 100; i++)
		count(&recent, FIRST, 3);
	assert_true(total(FIRST, 3) == expected);
	assert_true((uint32_t)atomic_load(place) < 100);
}

static void without_memory_the_histogram_counts(void **state)
{
	struct recent_sizes recent = {0};
	struct rlimit before;
	bool refused;
	int i;

	(void)state;
	before = memory_exhaust();
	for (i = 0; i < 1000; i++)
		count(&recent, FIRST, 3);
	refused = recent.refused;
	memory_restore(before);
	assert_true(refused);
	assert_int_equal(loss_count(FORMAT_LOSS_MEMORY), 1);
	assert_int_equal(total(FIRST, 3), 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(what_comes_often_gets_a_place, start),
		cmocka_unit_test_setup(none_is_lost, start),
		cmocka_unit_test_setup(a_place_that_is_full_is_emptied, start),
		cmocka_unit_test_setup(without_memory_the_histogram_counts, start),
	};

	return cmocka_run_group_tests_name("recent_sizes", tests, NULL, NULL);
}
