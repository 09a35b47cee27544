/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_snapshot_records.c - what is remembered of a call stack is exact, below 4 GiB, above, and without memory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "libpmem/loss.h"
#include "libpmem/snapshot_records.h"
#include "tests/unit/memory_limit.h"
#include "tests/unit/store_reset.h"

enum { LIMIT = 5000 };

static const uint64_t max = UINT32_MAX; /* the largest number that fits into 32 bits */

static int begin(void **state)
{
	(void)state;
	store_reset();
	snapshot_records_fork_child();
	assert_true(snapshot_records_grow(LIMIT));
	return 0;
}

static bool update(uint32_t id, enum snapshot_since since, uint64_t alloc, uint64_t freed)
{
	struct snapshot_sums sums = {.alloc = alloc, .free = freed};

	return snapshot_records_update(id, since, &sums);
}

static void expect(uint32_t id, const struct snapshot_numbers *numbers)
{
	struct snapshot_sums sums = snapshot_records_get(id);

	assert_int_equal(sums.stacks, 1);
	assert_int_equal(sums.live, numbers->alloc - numbers->free);
	assert_int_equal(sums.alloc, numbers->alloc);
	assert_int_equal(sums.alloc_new, numbers->alloc_new);
	assert_int_equal(sums.free, numbers->free);
	assert_int_equal(sums.free_new, numbers->free_new);
}

static void test_around_4_gib(void **state)
{
	static const struct snapshot_numbers steps[] = {
		{UINT32_MAX, UINT32_MAX, 0, 0},
		{UINT32_MAX, 0, 1, 1},
		{UINT64_C(1) << 32, 1, 1, 0},
		{UINT64_C(1) << 32, 0, UINT32_MAX, UINT32_MAX - 1},
		{(UINT64_C(1) << 32) + 1, 1, UINT64_C(1) << 32, 1},
		{UINT64_C(1) << 40, (UINT64_C(1) << 40) - (UINT64_C(1) << 32) - 1,
		 (UINT64_C(1) << 40) - 7, (UINT64_C(1) << 40) - 7 - (UINT64_C(1) << 32)},
		{UINT64_MAX, UINT64_MAX - (UINT64_C(1) << 40), UINT64_MAX - 1,
		 UINT64_MAX - 1 - (UINT64_C(1) << 40) + 7},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		assert_true(update(7, SNAPSHOT_SINCE_LAST, steps[i].alloc, steps[i].free));
		expect(7, &steps[i]);
	}
	expect(6, &(struct snapshot_numbers){0});
	expect(8, &(struct snapshot_numbers){0});
}

/* One of the four numbers is enough, and the first snapshot may find it so. */
static void test_wide_at_once(void **state)
{
	(void)state;
	assert_true(update(1, SNAPSHOT_SINCE_LAST, max + 1, 0));
	expect(1, &(struct snapshot_numbers){max + 1, max + 1, 0, 0});
	assert_true(update(2, SNAPSHOT_SINCE_LAST, max + 5, max + 5));
	expect(2, &(struct snapshot_numbers){max + 5, max + 5, max + 5, max + 5});
	assert_true(update(1, SNAPSHOT_SINCE_LAST, max + 2, 3));
	expect(1, &(struct snapshot_numbers){max + 2, 1, 3, 3});
	expect(2, &(struct snapshot_numbers){max + 5, max + 5, max + 5, max + 5});
}

static void test_after_a_cut_snapshot(void **state)
{
	(void)state;
	assert_true(update(3, SNAPSHOT_SINCE_LAST, 100, 50));
	/* This one is cut, and the next, which is the first beyond 4 GiB. */
	assert_true(update(3, SNAPSHOT_SINCE_LAST, max, 60));
	assert_true(update(3, SNAPSHOT_SINCE_ONE_NOT_CUT, max + 10, 70));
	expect(3, &(struct snapshot_numbers){max + 10, max - 90, 70, 20});
	assert_true(update(3, SNAPSHOT_SINCE_ONE_NOT_CUT, max + 20, max));
	expect(3, &(struct snapshot_numbers){max + 20, max - 80, max, max - 50});
	assert_true(update(3, SNAPSHOT_SINCE_LAST, max + 21, max));
	expect(3, &(struct snapshot_numbers){max + 21, 1, max, 0});
}

static uint64_t next_random(void)
{
	static uint64_t random_state = 1;

	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return random_state >> 33;
}

/* What 64-bit numbers would be. */
struct model {
	uint64_t alloc, free, base_alloc, base_free;
	uint32_t slot, flags;
};

static void grow(struct model *m)
{
	/* Mostly little, now and then by gigabytes. */
	m->alloc += next_random() % 50 == 0 ? next_random() * 3 : next_random() % 1000;
	m->free += next_random() % (m->alloc - m->free + 1);
}

static void test_as_64_bit_numbers(void **state)
{
	enum { COUNT = 300, ROUNDS = 400 };
	static struct model models[COUNT];
	bool cut = false;

	(void)state;
	for (unsigned round = 0; round < ROUNDS; round++) {
		enum snapshot_since since = cut ? SNAPSHOT_SINCE_ONE_NOT_CUT : SNAPSHOT_SINCE_LAST;

		cut = next_random() % 4 == 0;
		for (uint32_t id = 0; id < COUNT; id++) {
			struct model *m = &models[id];

			grow(m);
			assert_true(update(id, since, m->alloc, m->free));
			expect(id, &(struct snapshot_numbers){m->alloc, m->alloc - m->base_alloc,
							      m->free, m->free - m->base_free});
			if (!cut) {
				m->base_alloc = m->alloc;
				m->base_free = m->free;
			}
			assert_int_equal(snapshot_records_slot(id), m->slot);
			m->slot = next_random() % 2 ? TREE_STACK_MAX
						    : (uint32_t)next_random() % COUNT;
			snapshot_records_set_slot(id, m->slot);
			assert_int_equal(snapshot_records_has(id, SNAPSHOT_CHANGED), m->flags & 1);
			assert_int_equal(snapshot_records_has(id, SNAPSHOT_SEEN), m->flags >> 1);
			m->flags = next_random() % 4;
			snapshot_records_unmark(id, SNAPSHOT_CHANGED | SNAPSHOT_SEEN);
			snapshot_records_mark(id, m->flags);
		}
	}
	assert_int_equal(loss_count(FORMAT_LOSS_MEMORY), 0);
}

/* The wide records there is room for are used up. */
static void use_up(void)
{
	for (uint32_t id = 0; id < SNAPSHOT_CHUNK_RECORDS; id++)
		assert_true(update(id, SNAPSHOT_SINCE_LAST, max + 1 + id, 0));
}

/* What does not fit is not remembered: the next snapshot counts from where this one did. */
static void test_no_memory(void **state)
{
	enum { A = LIMIT - 1, B = LIMIT - 2 };
	struct snapshot_sums sums = {.alloc = max + 3, .free = 30};
	struct rlimit before;
	bool done, narrow, wide;

	(void)state;
	use_up();
	assert_true(update(A, SNAPSHOT_SINCE_LAST, 100, 10));
	assert_true(update(B, SNAPSHOT_SINCE_LAST, 100, 10));
	assert_true(update(B, SNAPSHOT_SINCE_LAST, 200, 20));
	before = memory_exhaust();
	done = snapshot_records_update(A, SNAPSHOT_SINCE_LAST, &sums);
	narrow = update(B, SNAPSHOT_SINCE_LAST, max, 21);
	wide = update(9, SNAPSHOT_SINCE_LAST, max + 11, 4);
	memory_restore(before);
	assert_false(done);
	assert_true(narrow && wide);
	assert_int_equal(sums.alloc_new, max - 97);
	assert_int_equal(sums.free_new, 20);
	assert_int_equal(loss_count(FORMAT_LOSS_MEMORY), 1);
	expect(A, &(struct snapshot_numbers){100, 0, 10, 0});
	expect(B, &(struct snapshot_numbers){max, max - 200, 21, 1});
	expect(9, &(struct snapshot_numbers){max + 11, 1, 4, 4});
	/* The snapshot was cut. */
	assert_true(update(A, SNAPSHOT_SINCE_ONE_NOT_CUT, max + 4, 31));
	expect(A, &(struct snapshot_numbers){max + 4, max - 96, 31, 21});
	assert_true(update(B, SNAPSHOT_SINCE_ONE_NOT_CUT, max, 21));
	expect(B, &(struct snapshot_numbers){max, max - 200, 21, 1});
}

/* Two snapshots, one after the other, lack memory. */
static void test_no_memory_again(void **state)
{
	enum { A = LIMIT - 1 };
	struct rlimit before;
	bool done;

	(void)state;
	use_up();
	assert_true(update(A, SNAPSHOT_SINCE_LAST, 100, 10));
	before = memory_exhaust();
	done = update(A, SNAPSHOT_SINCE_LAST, max + 3, 30);
	done = update(A, SNAPSHOT_SINCE_ONE_NOT_CUT, max + 4, 31) || done;
	memory_restore(before);
	assert_false(done);
	assert_int_equal(loss_count(FORMAT_LOSS_MEMORY), 2);
	assert_true(update(A, SNAPSHOT_SINCE_ONE_NOT_CUT, max + 5, 32));
	expect(A, &(struct snapshot_numbers){max + 5, max - 95, 32, 22});
}

/* The next snapshot would need it: it is looked for before that begins. */
static void test_room_for_a_wide_one_is_made_before(void **state)
{
	struct rlimit before;
	bool grown, done;

	(void)state;
	use_up();
	before = memory_exhaust();
	grown = snapshot_records_grow(LIMIT);
	memory_restore(before);
	assert_false(grown);
	assert_int_equal(loss_count(FORMAT_LOSS_MEMORY), 1);
	assert_true(snapshot_records_grow(LIMIT));
	before = memory_exhaust();
	done = update(LIMIT - 1, SNAPSHOT_SINCE_LAST, max + 1, 0);
	memory_restore(before);
	assert_true(done);
}

static void test_a_forked_child_begins_anew(void **state)
{
	(void)state;
	assert_true(update(5, SNAPSHOT_SINCE_LAST, max + 1, 0));
	snapshot_records_mark(5, SNAPSHOT_SEEN);
	snapshot_records_fork_child();
	assert_true(snapshot_records_grow(LIMIT));
	assert_false(snapshot_records_has(5, SNAPSHOT_SEEN));
	expect(5, &(struct snapshot_numbers){0});
	assert_true(update(5, SNAPSHOT_SINCE_LAST, max + 2, 0));
	expect(5, &(struct snapshot_numbers){max + 2, max + 2, 0, 0});
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_around_4_gib, begin),
		cmocka_unit_test_setup(test_wide_at_once, begin),
		cmocka_unit_test_setup(test_after_a_cut_snapshot, begin),
		cmocka_unit_test_setup(test_as_64_bit_numbers, begin),
		cmocka_unit_test_setup(test_no_memory, begin),
		cmocka_unit_test_setup(test_no_memory_again, begin),
		cmocka_unit_test_setup(test_room_for_a_wide_one_is_made_before, begin),
		cmocka_unit_test_setup(test_a_forked_child_begins_anew, begin),
	};

	return cmocka_run_group_tests_name("snapshot_records", tests, NULL, NULL);
}
