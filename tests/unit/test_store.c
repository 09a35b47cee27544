/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_store.c - blocks of the store: zeroed, stable, made once, bounded.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "libpmem/loss.h"
#include "libpmem/store.h"
#include "tests/unit/memory_limit.h"
#include "tests/unit/store_reset.h"

enum { THREADS = 8, RACED_BLOCKS = 2000 };

static bool all_bytes_are(const void *block, unsigned char value)
{
	const unsigned char *bytes = block;

	for (size_t i = 0; i < FORMAT_BLOCK_SIZE; i++) {
		if (bytes[i] != value)
			return false;
	}
	return true;
}

static int start_empty(void **state)
{
	(void)state;
	store_fork_child();
	store_reset();
	return 0;
}

static void blocks_are_made_at_first_use(void **state)
{
	void *block;

	(void)state;
	assert_null(store_find(FORMAT_NODES, 3));
	block = store_block(FORMAT_NODES, 3);
	assert_non_null(block);
	assert_true(all_bytes_are(block, 0));
	memset(block, 7, FORMAT_BLOCK_SIZE);
	assert_ptr_equal(store_block(FORMAT_NODES, 3), block);
	assert_ptr_equal(store_find(FORMAT_NODES, 3), block);
	assert_true(all_bytes_are(block, 7));
	assert_null(store_find(FORMAT_NODES, 2));
	assert_null(store_find(FORMAT_STACKS, 3));
	assert_int_equal(store_size(), FORMAT_BLOCK_SIZE);
}

static void kinds_and_indexes_do_not_share(void **state)
{
	static const uint32_t indexes[] = {0, 1, 100, FORMAT_BLOCKS_MAX - 1};
	enum { COUNT = sizeof(indexes) / sizeof(indexes[0]) };

	(void)state;
	for (int kind = 0; kind < FORMAT_KINDS; kind++) {
		for (int i = 0; i < COUNT; i++) {
			void *block = store_block((enum format_kind)kind, indexes[i]);

			assert_non_null(block);
			memset(block, 1 + kind * COUNT + i, FORMAT_BLOCK_SIZE);
		}
	}
	for (int kind = 0; kind < FORMAT_KINDS; kind++) {
		for (int i = 0; i < COUNT; i++)
			assert_true(all_bytes_are(store_find((enum format_kind)kind, indexes[i]),
						  (unsigned char)(1 + kind * COUNT + i)));
	}
	assert_int_equal(store_size(), (size_t)FORMAT_KINDS * COUNT * FORMAT_BLOCK_SIZE);
	assert_int_equal(loss_count(FORMAT_LOSS_MEMORY), 0);
}

static void index_is_bounded(void **state)
{
	(void)state;
	assert_null(store_block(FORMAT_TEXT, FORMAT_BLOCKS_MAX));
	assert_null(store_block(FORMAT_TEXT, UINT32_MAX));
	assert_int_equal(loss_count(FORMAT_LOSS_MEMORY), 2);
	assert_null(store_find(FORMAT_TEXT, FORMAT_BLOCKS_MAX));
	assert_int_equal(loss_count(FORMAT_LOSS_MEMORY), 2);
	assert_int_equal(store_size(), 0);
}

static void exhausted_memory_is_counted(void **state)
{
	struct rlimit before;
	void *block;

	(void)state;
	before = memory_exhaust();
	block = store_block(FORMAT_TEXT, 5);
	memory_restore(before);
	assert_null(block);
	assert_int_equal(loss_count(FORMAT_LOSS_MEMORY), 1);
	assert_non_null(store_block(FORMAT_TEXT, 5));
	assert_int_equal(loss_count(FORMAT_LOSS_MEMORY), 1);
}

static void *got[THREADS][RACED_BLOCKS];
static pthread_barrier_t barrier;

static void *get_blocks(void *index)
{
	for (uint32_t i = 0; i < RACED_BLOCKS; i++) {
		if (i % 16 == 0) /* together at first, then drifting against each other */
			pthread_barrier_wait(&barrier);
		got[(uintptr_t)index][i] = store_block(FORMAT_COUNTERS, i);
	}
	return NULL;
}

static void racing_threads_get_the_same_block(void **state)
{
	pthread_t threads[THREADS];

	(void)state;
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, get_blocks, (void *)i), 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	pthread_barrier_destroy(&barrier);
	for (int i = 0; i < RACED_BLOCKS; i++) {
		assert_non_null(got[0][i]);
		for (int t = 1; t < THREADS; t++)
			assert_ptr_equal(got[t][i], got[0][i]);
		assert_true(i == 0 || got[0][i] != got[0][i - 1]);
	}
	assert_int_equal(store_size(), (size_t)RACED_BLOCKS * FORMAT_BLOCK_SIZE);
}

static void child_forgets_but_keeps_mapped(void **state)
{
	void *block = store_block(FORMAT_MODULES, 9);

	(void)state;
	memset(block, 5, FORMAT_BLOCK_SIZE);
	store_fork_child();
	assert_null(store_find(FORMAT_MODULES, 9));
	assert_int_equal(store_size(), 0);
	assert_true(all_bytes_are(block, 5));
	assert_true(store_block(FORMAT_MODULES, 9) != block);
	assert_true(all_bytes_are(store_find(FORMAT_MODULES, 9), 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(blocks_are_made_at_first_use, start_empty),
		cmocka_unit_test_setup(kinds_and_indexes_do_not_share, start_empty),
		cmocka_unit_test_setup(index_is_bounded, start_empty),
		cmocka_unit_test_setup(exhausted_memory_is_counted, start_empty),
		cmocka_unit_test_setup(racing_threads_get_the_same_block, start_empty),
		cmocka_unit_test_setup(child_forgets_but_keeps_mapped, start_empty),
	};

	return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
