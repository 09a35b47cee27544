/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_live_table.c - the live table: what holds in both layouts.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/live_fixture.h"
#include "tests/unit/memory_limit.h"

enum { THREADS = 8, SLOTS = 4096, RACED_LEAVES = 300 };

static void any_size(void **state)
{
	uint32_t largest_id = (1u << 26) - 1;

	(void)state;
	for (size_t i = 0; i < SIZES; i++) {
		uintptr_t addr = area + 16 + i * 4096;

		write_header(addr, glibc_usable(sizes[i]));
		assert_unknown(addr);
		put_new(block_at(addr, sizes[i], largest_id - (uint32_t)i));
	}
	for (size_t i = 0; i < SIZES; i++)
		assert_takes(block_at(area + 16 + i * 4096, sizes[i], largest_id - (uint32_t)i));
	assert_int_equal(cells_in_use(), 0);
	assert_int_equal(side_table_count(), 0);
	assert_int_equal(loss_total(), 0);
}

static void sampled_blocks_keep_their_birth(void **state)
{
	(void)state;
	for (size_t i = 0; i < SIZES; i++) {
		struct live_block block = block_at(area + 4096 * (i + 1), sizes[i], 5);

		block.birth_ns = i == 0 ? UINT64_MAX : i;
		write_header(block.addr, glibc_usable(sizes[i]));
		put_new(block);
		assert_int_equal(side_table_count(), 1);
		assert_takes(block);
		assert_int_equal(side_table_count(), 0);
	}
	assert_int_equal(cells_in_use(), 0);
}

static void addresses_out_of_bounds_are_lost(void **state)
{
	static const uintptr_t out[] = {(uintptr_t)1 << 47, ((uintptr_t)1 << 47) + 16,
					UINTPTR_MAX - 15};
	struct live_block stale;

	(void)state;
	for (size_t i = 0; i < sizeof(out) / sizeof(out[0]); i++) {
		struct live_block block = block_at(out[i], 100, 1);

		assert_int_equal(live_table_put(&block, &stale), LIVE_PUT_LOST);
		assert_unknown(out[i]);
		assert_false(live_table_take_inherited(out[i]));
		assert_int_equal(loss_count(FORMAT_LOSS_EVENTS), i + 1);
	}
	assert_unknown(0);
	assert_unknown(((uintptr_t)1 << 47) - 16);
	assert_int_equal(loss_count(FORMAT_LOSS_MEMORY), 0);
}

static void no_memory_for_a_leaf(void **state)
{
	struct live_block block = block_at(area + 64, 24, 1);
	struct live_block stale;
	struct rlimit before;
	enum live_put result;

	(void)state;
	write_header(block.addr, 24);
	before = memory_exhaust();
	result = live_table_put(&block, &stale);
	memory_restore(before);
	assert_int_equal(result, LIVE_PUT_LOST);
	assert_int_equal(loss_count(FORMAT_LOSS_EVENTS), 1);
	assert_int_equal(loss_count(FORMAT_LOSS_MEMORY), 1);
	assert_unknown(block.addr);
	put_new(block);
	assert_takes(block);
}

/* Block number i; with much slack it needs the side table in the slack layout. */
static struct live_block sampled_block(uint64_t i, size_t usable)
{
	struct live_block block = block_at(area + 64 + 64 * i, 20, 9);

	write_header(block.addr, usable);
	block.birth_ns = 1;
	return block;
}

/* The side table is full when one neighbourhood is: some blocks still find room after that. */
static void no_memory_for_samples(void **state)
{
	struct rlimit before;
	struct live_block found;
	struct live_block stale;
	uint64_t put = 0;
	uint64_t lost = 0;
	uint64_t sampled = 0;
	uint64_t dropped;

	(void)state;
	write_header(area + 64, 24);
	put_new(block_at(area + 64, 20, 1)); /* makes the leaf */
	assert_takes(block_at(area + 64, 20, 1));
	before = memory_exhaust();
	for (; loss_count(FORMAT_LOSS_SAMPLES) < 100 && put < 1000000; put++) {
		struct live_block block = sampled_block(put, 24);

		lost += live_table_put(&block, &stale) != LIVE_PUT_OK;
	}
	memory_restore(before);
	assert_int_equal(lost, 0);
	for (uint64_t i = 0; i < put; i++) {
		assert_true(live_table_take(sampled_block(i, 24).addr, &found));
		assert_true(found.size == 20 && found.stack_id == 9);
		sampled += found.birth_ns == 1;
	}
	dropped = loss_count(FORMAT_LOSS_SAMPLES);
	assert_int_equal(dropped, 100);
	assert_int_equal(sampled, put - dropped);
	assert_int_equal(loss_count(FORMAT_LOSS_EVENTS), 0);
}

static void no_memory_for_much_slack(void **state)
{
	struct rlimit before;
	struct live_block found;
	struct live_block stale;
	uint64_t put = 0;
	uint64_t taken = 0;

	(void)state;
	put_new(sampled_block(0, 1000));
	assert_takes(sampled_block(0, 1000));
	before = memory_exhaust();
	for (; loss_count(FORMAT_LOSS_EVENTS) < 100 && put < 1000000; put++) {
		struct live_block block = sampled_block(put, 1000);
		uint64_t events = loss_count(FORMAT_LOSS_EVENTS);
		enum live_put result = live_table_put(&block, &stale);

		taken += result == LIVE_PUT_OK;
		if ((result == LIVE_PUT_LOST) != (loss_count(FORMAT_LOSS_EVENTS) == events + 1))
			break;
	}
	memory_restore(before);
	assert_int_equal(loss_count(FORMAT_LOSS_EVENTS), 100);
	assert_int_equal(taken, put - 100);
	for (uint64_t i = 0; i < put; i++)
		taken -= live_table_take(sampled_block(i, 1000).addr, &found);
	assert_int_equal(taken, 0);
	assert_int_equal(loss_count(FORMAT_LOSS_SAMPLES), 0);
}

static void inherited_blocks_are_cleared_once(void **state)
{
	struct live_block sampled = block_at(area + 256, 20, 3);

	(void)state;
	sampled.birth_ns = 77;
	write_header(area + 64, 104);
	write_header(area + 256, 24);
	put_new(block_at(area + 64, 100, 1));
	put_new(sampled);
	assert_false(live_table_take_inherited(area + 64));

	live_table_fork_child();
	side_table_fork_child();
	assert_unknown(area + 64);
	assert_unknown(area + 256);
	write_header(area + 512, 24);
	put_new(block_at(area + 512, 20, 2));
	assert_true(live_table_take_inherited(area + 64));
	assert_false(live_table_take_inherited(area + 64));
	assert_false(live_table_take_inherited(area + 64 + 16)); /* a size is no block */
	assert_true(live_table_take_inherited(area + 256));
	assert_false(live_table_take_inherited(area + 512));

	live_table_fork_child();
	assert_true(live_table_take_inherited(area + 512));
	assert_false(live_table_take_inherited(area + 512));
}

static void oldest_inherited_table_is_forgotten(void **state)
{
	(void)state;
	for (uintptr_t i = 0; i <= LIVE_INHERITED_MAX; i++) {
		write_header(area + 64 * (i + 1), 24);
		put_new(block_at(area + 64 * (i + 1), 20, 1));
		live_table_fork_child();
	}
	assert_false(live_table_take_inherited(area + 64));
	for (uintptr_t i = 1; i <= LIVE_INHERITED_MAX; i++)
		assert_true(live_table_take_inherited(area + 64 * (i + 1)));
}

static void no_memory_for_a_childs_table(void **state)
{
	struct live_block block = block_at(area + 64, 20, 1);
	struct live_block stale;
	struct rlimit before;

	(void)state;
	write_header(area + 64, 24);
	put_new(block);
	before = memory_exhaust();
	live_table_fork_child();
	memory_restore(before);
	assert_int_equal(live_table_put(&block, &stale), LIVE_PUT_LOST);
	assert_unknown(area + 64);
	assert_true(live_table_take_inherited(area + 64));
	live_table_fork_child();
	put_new(block);
	assert_takes(block);
}

static void real_fork(void **state)
{
	struct live_block block = block_at(area + 64, 20, 1);
	int status;
	pid_t child;

	(void)state;
	write_header(area + 64, 24);
	put_new(block);
	child = fork();
	if (child == 0) {
		struct live_block found;
		bool ok;

		live_table_fork_child();
		ok = !live_table_take(block.addr, &found) && live_table_take_inherited(block.addr) &&
		     live_table_put(&block, &found) == LIVE_PUT_OK &&
		     live_table_take(block.addr, &found) && found.size == 20;
		_exit(!ok);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_takes(block);
}

static void resident_size_follows_use(void **state)
{
	size_t empty = live_table_resident();
	size_t used;

	(void)state;
	for (uintptr_t addr = area + 64; addr < area + (4 << 20); addr += 64) {
		write_header(addr, 40);
		put_new(block_at(addr, 40, 1));
	}
	used = live_table_resident() - empty;
	/* 4 bytes per granule of 4 MiB; and a page each of the top and of the leaf's tail. */
	assert_in_range(used, (4 << 22) >> live_map.granule_log2,
			((4 << 22) >> live_map.granule_log2) + 4 * 4096);
}

static void stale_sample(void **state)
{
	struct live_block old = block_at(area + 64, 1000, 7);
	struct live_block block = block_at(area + 64 + 16, 20,
					   4); /* the same granule, slack layout */
	struct live_block stale;

	(void)state;
	if (layout == LIVE_TWO_CELL)
		block.addr = old.addr;
	old.birth_ns = 123;
	write_header(old.addr, 1000);
	put_new(old);
	block.birth_ns = 456;
	write_header(block.addr, 24);
	assert_int_equal(live_table_put(&block, &stale), LIVE_PUT_STALE);
	old.addr = block.addr;
	assert_same(stale, old);
	assert_int_equal(side_table_count(), 1);
	assert_takes(block);
	assert_int_equal(side_table_count(), 0);
}

/* Slots of 64 bytes side by side; whoever exchanges an index out of owner[] owns that slot. */
static _Atomic uint32_t owners[SLOTS];
static _Atomic uint64_t wrong_blocks;

/* What is put into a slot depends on the slot and a round number, which the id carries. */
static struct live_block slot_block(uint32_t slot, uint32_t round)
{
	uint64_t random = round;
	struct live_block block = block_at(area + 64 + 64 * (uintptr_t)slot, 0, round);

	block.size = next_random(&random) % 57;
	if (next_random(&random) % 16 == 0)
		block.birth_ns = round;
	return block;
}

static bool take_as_put(uint32_t slot, uint32_t round)
{
	struct live_block expected = slot_block(slot, round);
	struct live_block found;

	return live_table_take(expected.addr, &found) && found.addr == expected.addr &&
	       found.size == expected.size && found.stack_id == expected.stack_id &&
	       found.birth_ns == expected.birth_ns;
}

enum { FREE_SLOT = 1, BUSY_SLOT = 0 }; /* else: the round of the block in it */

static void *hammer(void *index)
{
	uint64_t random = (uintptr_t)index + 1;
	uint64_t bad = 0;

	for (int i = 0; i < 200000; i++) {
		uint32_t slot = next_random(&random) % SLOTS;
		uint32_t round = 2 + next_random(&random) % 1000000;
		uint32_t now = atomic_exchange_explicit(&owners[slot], BUSY_SLOT,
							memory_order_acquire);
		struct live_block block = slot_block(slot, round);
		struct live_block stale;

		if (now == BUSY_SLOT)
			continue;
		if (now == FREE_SLOT) {
			bad += live_table_put(&block, &stale) != LIVE_PUT_OK;
			now = round;
		} else {
			bad += !take_as_put(slot, now);
			now = FREE_SLOT;
		}
		atomic_store_explicit(&owners[slot], now, memory_order_release);
	}
	atomic_fetch_add_explicit(&wrong_blocks, bad, memory_order_relaxed);
	return NULL;
}

static void threads_lose_nothing(void **state)
{
	pthread_t threads[THREADS];

	(void)state;
	atomic_store(&wrong_blocks, 0);
	for (uint32_t slot = 0; slot < SLOTS; slot++) {
		write_header(area + 64 + 64 * (uintptr_t)slot, 56);
		atomic_store(&owners[slot], FREE_SLOT);
	}
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, hammer, (void *)i), 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	for (uint32_t slot = 0; slot < SLOTS; slot++) {
		uint32_t round = atomic_load(&owners[slot]);

		if (round == FREE_SLOT)
			assert_unknown(area + 64 + 64 * (uintptr_t)slot);
		else
			assert_true(take_as_put(slot, round));
	}
	assert_int_equal(atomic_load(&wrong_blocks), 0);
	assert_int_equal(cells_in_use(), 0);
	assert_int_equal(side_table_count(), 0);
	assert_int_equal(loss_count(FORMAT_LOSS_STALE_BLOCKS) + loss_total(), 0);
}

static pthread_barrier_t barrier;

/* Block of one thread in one leaf; two-cell layout, so that the address needs no memory. */
static struct live_block block_in_leaf(uintptr_t leaf, uint32_t thread)
{
	return block_at(((uintptr_t)1 << 40) + leaf * LIVE_MAP_SPAN + 64 * (uintptr_t)thread, 20,
			thread + 1);
}

/* All threads need the same new leaf at once. */
static void *race_for_leaf(void *index)
{
	struct live_block stale;

	for (uintptr_t leaf = 0; leaf < RACED_LEAVES; leaf++) {
		struct live_block block = block_in_leaf(leaf, (uint32_t)(uintptr_t)index);

		pthread_barrier_wait(&barrier);
		if (live_table_put(&block, &stale) != LIVE_PUT_OK)
			atomic_fetch_add_explicit(&wrong_blocks, 1, memory_order_relaxed);
	}
	return NULL;
}

static void threads_share_a_new_leaf(void **state)
{
	pthread_t threads[THREADS];

	(void)state;
	atomic_store(&wrong_blocks, 0);
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, race_for_leaf, (void *)i), 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	pthread_barrier_destroy(&barrier);
	assert_int_equal(atomic_load(&wrong_blocks), 0);
	for (uintptr_t leaf = 0; leaf < RACED_LEAVES; leaf++) {
		for (uint32_t i = 0; i < THREADS; i++)
			assert_takes(block_in_leaf(leaf, i));
	}
}

#define BOTH(test)                                                  \
	{#test " slack", test, begin_slack, NULL, NULL},            \
	{                                                           \
#test " two_cell", test, begin_two_cell, NULL, NULL \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOTH(any_size),
		BOTH(sampled_blocks_keep_their_birth),
		BOTH(addresses_out_of_bounds_are_lost),
		BOTH(no_memory_for_a_leaf),
		BOTH(no_memory_for_samples),
		cmocka_unit_test_setup(no_memory_for_much_slack, begin_slack),
		BOTH(inherited_blocks_are_cleared_once),
		BOTH(oldest_inherited_table_is_forgotten),
		BOTH(no_memory_for_a_childs_table),
		BOTH(real_fork),
		BOTH(resident_size_follows_use),
		BOTH(stale_sample),
		BOTH(threads_lose_nothing),
		cmocka_unit_test_setup(threads_share_a_new_leaf, begin_two_cell),
	};

	return cmocka_run_group_tests_name("live_table", tests, map_area, NULL);
}
