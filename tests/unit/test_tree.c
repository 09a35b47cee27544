/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_tree.c - the calling-context tree against a model that knows nothing of its layout.
 *
 * The store is a fake: it fails when told to, and lets a test act while the tree's lock is held, as a
 * signal handler or another thread's fork() would.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "libpmem/loss.h"
#include "libpmem/modules.h"
#include "libpmem/store.h"
#include "libpmem/sys.h"
#include "libpmem/tree.h"
#include "tests/unit/memory_limit.h"
#include "tests/unit/store_reset.h"

enum {
	BUDGET = 8 << 20,
	DEPTH_MAX = 48,
	WIDE = 10000,
	MODEL_SIZE = 1 << 23, /* slots */
	HOOKS = 9,
};

/* --- the store ------------------------------------------------------------------------------- */

static void *blocks[FORMAT_STACKS + 1][FORMAT_BLOCKS_MAX];
static bool store_fails;
static void (*on_block)(void); /* called once, at the next new block, under the tree's lock */

void *store_block(enum format_kind kind, uint32_t index)
{
	void (*act)(void) = on_block;

	if (store_fails)
		return NULL;
	if (blocks[kind][index])
		return blocks[kind][index];
	on_block = NULL;
	if (act)
		act();
	blocks[kind][index] = sys_map(FORMAT_BLOCK_SIZE);
	return blocks[kind][index];
}

static void forget_blocks(void)
{
	memset(blocks, 0, sizeof(blocks));
}

static void begin_with(uint32_t budget)
{
	store_fails = false;
	on_block = NULL;
	forget_blocks();
	tree_fork_child(); /* forgets the test before */
	store_reset();
	assert_true(tree_init(budget));
}

static int begin(void **state)
{
	(void)state;
	begin_with(BUDGET);
	return 0;
}

/* --- paths ----------------------------------------------------------------------------------- */

static uint64_t next_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed * 0x2545f4914f6cdd1du >> 32;
}

struct random_path {
	uint32_t pc32[DEPTH_MAX];
	uint32_t count;
	uint32_t hook;
};

/* Few callees in most places, many in some, and pc32 values that are also call-stack ids. */
static void make_path(struct random_path *path, uint64_t *seed)
{
	uint32_t i;

	path->count = 1 + next_random(seed) % DEPTH_MAX;
	path->hook = next_random(seed) % HOOKS;
	for (i = 0; i < path->count; i++) {
		uint32_t kind = next_random(seed) % 16;
		uint32_t width = kind == 0 ? WIDE : kind < 3 ? 20 : 2;

		path->pc32[i] = (uint32_t)(next_random(seed) % width) + (i % 3 ? 1 : 1u << 20);
	}
}

/* What unwind.c does: known frames one by one, the rest in one go. */
static uint32_t intern(const struct random_path *path, uint32_t *nodes)
{
	struct tree_path rest = {.parent = TREE_ROOT, .hook = path->hook};
	uint32_t i, node;

	for (i = 0; i < path->count; i++) {
		node = tree_find(rest.parent, path->pc32[i]);
		if (!node)
			break;
		rest.parent = nodes[i] = node;
	}
	rest.pc32 = path->pc32 + i;
	rest.count = path->count - i;
	if (rest.count && !tree_insert(&rest, nodes + i))
		return 0;
	return tree_stack_id(nodes[path->count - 1], path->hook);
}

/* --- the model ------------------------------------------------------------------------------- */

/* A hash from (parent's slot, key) to a slot; key: a pc32, or a hook | IS_STACK. */
#define IS_STACK (UINT64_C(1) << 32)

struct model_entry {
	uint64_t key;	/* slot of the parent << 33 | key; 0 = free */
	uint32_t value; /* the tree's node, or call-stack id */
};

static struct model_entry *model;
static uint32_t model_nodes, model_stacks;

static uint32_t model_slot(uint32_t parent_slot, uint64_t key)
{
	uint64_t whole = (uint64_t)parent_slot << 33 | key;
	uint64_t i = (whole ^ whole >> 29) * 0x9e3779b97f4a7c15u >> 41;

	while (model[i].key && model[i].key != whole)
		i = (i + 1) % MODEL_SIZE;
	model[i].key = whole;
	return (uint32_t)i;
}

/* The same key has the same value for ever, and another key never has it. */
static void expect_same(uint32_t slot, uint32_t value, uint8_t *taken, uint32_t *count)
{
	assert_int_not_equal(value, 0);
	if (model[slot].value) {
		assert_int_equal(model[slot].value, value);
		return;
	}
	assert_false(taken[value]);
	taken[value] = 1;
	model[slot].value = value;
	++*count;
}

static int begin_model(void **state)
{
	model_nodes = model_stacks = 0;
	model = calloc(MODEL_SIZE, sizeof(*model));
	return model ? begin(state) : 1;
}

static int end_model(void **state)
{
	(void)state;
	free(model);
	return 0;
}

/* Up from a leaf by tree_parent(): the path, and nothing else. */
static void expect_path(const struct random_path *path, const uint32_t *nodes)
{
	uint32_t i;

	for (i = path->count; i-- > 0;) {
		assert_int_equal(tree_pc32(nodes[i]), path->pc32[i]);
		assert_int_equal(tree_parent(nodes[i]), i ? nodes[i - 1] : (uint32_t)TREE_ROOT);
		assert_int_equal(tree_find(i ? nodes[i - 1] : (uint32_t)TREE_ROOT, path->pc32[i]),
				 nodes[i]);
	}
}

static void check_path(const struct random_path *path, uint8_t *node_taken, uint8_t *id_taken)
{
	uint32_t nodes[DEPTH_MAX], i, slot = 0;
	uint32_t id = intern(path, nodes);

	for (i = 0; i < path->count; i++) {
		slot = model_slot(slot, path->pc32[i]);
		expect_same(slot, nodes[i], node_taken, &model_nodes);
	}
	expect_same(model_slot(slot, path->hook | IS_STACK), id, id_taken, &model_stacks);
	assert_true(id >= TREE_STACK_FIRST + 1u && id < tree_stack_limit());
	assert_int_equal(tree_stack(id)->node, nodes[path->count - 1]);
	assert_int_equal(tree_stack_hook(id), path->hook);
	expect_path(path, nodes);
}

static void random_paths_agree_with_a_model(void **state)
{
	enum { PATHS = 200000 };
	uint8_t *node_taken = calloc(BUDGET, 1), *id_taken = calloc(BUDGET, 1);
	uint32_t round, first_ids = tree_stack_limit(), first_nodes = tree_node_count();
	struct random_path path;

	(void)state;
	for (round = 0; round < 2; round++) { /* the second time everything is known */
		uint64_t i, seed = 88172645463325252u;

		for (i = 0; i < (round ? PATHS / 4 : PATHS); i++) {
			make_path(&path, &seed);
			check_path(&path, node_taken, id_taken);
		}
		/* Dense ids, and nothing in the tree that was not asked for. */
		assert_int_equal(tree_stack_limit() - first_ids, model_stacks);
		assert_int_equal(tree_node_count() - first_nodes, model_nodes + model_stacks);
	}
	assert_true(model_nodes > 1000000);
	assert_int_equal(loss_count(FORMAT_LOSS_MEMORY), 0);
	free(node_taken);
	free(id_taken);
}

/* --- one wide parent ------------------------------------------------------------------------- */

static uint32_t insert_one(uint32_t parent, uint32_t pc32, uint32_t hook)
{
	struct tree_path path = {.parent = parent, .count = 1, .pc32 = &pc32, .hook = hook};
	uint32_t node = 0;

	return tree_insert(&path, &node) ? node : 0;
}

static void wide_parents(void **state)
{
	static uint32_t nodes[WIDE];
	uint32_t parent = insert_one(TREE_ROOT, 77, 0), ids[HOOKS], i;

	(void)state;
	ids[0] = tree_stack_id(parent, 0);
	for (i = 0; i < WIDE; i++) {
		assert_int_equal(tree_find(parent, i + 1), 0);
		nodes[i] = insert_one(parent, i + 1, i % HOOKS);
		assert_int_not_equal(nodes[i], 0);
		/* Call-stack records between the children, within the list and beyond it; i + 1
		 * runs through the values of their ids. */
		if (i % 2 == 1 && i / 2 + 1 < HOOKS)
			ids[i / 2 + 1] = tree_stack_id(parent, i / 2 + 1);
	}
	for (i = 0; i < WIDE; i++) {
		assert_int_equal(tree_find(parent, i + 1), nodes[i]);
		assert_int_equal(insert_one(parent, i + 1, 1), nodes[i]);
		assert_int_equal(tree_pc32(nodes[i]), i + 1);
		assert_int_equal(tree_parent(nodes[i]), parent);
	}
	for (i = 0; i < HOOKS; i++) {
		assert_int_equal(tree_stack_id(parent, i), ids[i]);
		assert_int_equal(tree_stack(ids[i])->node, parent);
		assert_int_equal(tree_stack_hook(ids[i]), i);
		assert_true(i == 0 || ids[i] != ids[i - 1]);
	}
	assert_int_equal(tree_find(parent, WIDE + 1), 0);
	assert_int_equal(tree_find(nodes[5], 6), 0);
}

static void hooks_of_one_node(void **state)
{
	uint32_t node = insert_one(TREE_ROOT, 5, 3), ids[64], i, j;

	(void)state;
	for (i = 0; i < 64; i++)
		ids[i] = tree_stack_id(node, i);
	for (i = 0; i < 64; i++) {
		assert_int_equal(tree_stack_id(node, i), ids[i]);
		assert_int_equal(tree_stack_hook(ids[i]), i);
		for (j = 0; j < i; j++)
			assert_int_not_equal(ids[i], ids[j]);
	}
	assert_int_equal(tree_find(node, ids[0]), 0);
	assert_int_equal(tree_parent(node), TREE_ROOT);
}

static void fixed_ids(void **state)
{
	(void)state;
	assert_int_equal(tree_pc32(tree_stack(TREE_STACK_SIGNAL)->node), FORMAT_SPECIAL_SIGNAL);
	assert_int_equal(tree_pc32(tree_stack(TREE_STACK_BEYOND_BUDGET)->node),
			 FORMAT_SPECIAL_BEYOND_BUDGET);
	assert_int_equal(tree_pc32(tree_truncated_node()), FORMAT_SPECIAL_TRUNCATED);
	assert_int_equal(tree_stack_hook(TREE_STACK_SIGNAL), FORMAT_NO_HOOK);
	assert_int_equal(tree_stack_hook(TREE_STACK_BEYOND_BUDGET), FORMAT_NO_HOOK);
	assert_int_equal(tree_parent(tree_stack(TREE_STACK_SIGNAL)->node), TREE_ROOT);
	assert_int_equal(tree_parent(tree_truncated_node()), TREE_ROOT);
	assert_int_equal(tree_parent(TREE_ROOT), TREE_ROOT);
}

/* --- the budget ------------------------------------------------------------------------------ */

enum { SMALL_BUDGET = 2000 };

/* Fills the tree with paths of 7 frames.  Returns how many there was room for. */
static uint32_t fill(void)
{
	uint32_t count, i;

	for (count = 0;; count++) {
		struct tree_path path = {.parent = TREE_ROOT, .count = 7, .hook = 1};
		uint32_t pc32[7], nodes[7];

		for (i = 0; i < 7; i++) {
			pc32[i] = 1000 + count;
			nodes[i] = 4242;
		}
		path.pc32 = pc32;
		if (tree_insert(&path, nodes))
			continue;
		for (i = 0; i < 7; i++)
			assert_int_equal(nodes[i], 4242);
		return count;
	}
}

static uint32_t truncated_id(uint32_t first, uint32_t count)
{
	uint32_t pc32[TREE_TRUNCATED_DEPTH], i;
	struct tree_path path = {.count = count, .pc32 = pc32, .hook = 2};

	for (i = 0; i < count; i++)
		pc32[i] = first + i;
	return tree_truncated_id(&path);
}

static void budget_then_truncated_then_beyond(void **state)
{
	uint32_t filled, id, previous = 0, count, i, node;

	(void)state;
	begin_with(SMALL_BUDGET);
	filled = fill();
	assert_int_equal(filled, (SMALL_BUDGET - tree_node_count() % 8) / 8);
	assert_true(tree_node_count() <= SMALL_BUDGET && tree_node_count() > SMALL_BUDGET - 8);
	/* The last few nodes. */
	for (i = 0; tree_stack_id(tree_find(TREE_ROOT, 1000), i); i++)
		;
	assert_int_equal(tree_node_count(), SMALL_BUDGET);
	assert_int_equal(insert_one(TREE_ROOT, 500, 1), 0);
	assert_int_equal(loss_count(FORMAT_LOSS_SHORT_STACKS), 0);
	for (count = 0;; count++) {
		id = truncated_id(100000 + count * 100, TREE_TRUNCATED_DEPTH);
		assert_int_equal(loss_count(FORMAT_LOSS_SHORT_STACKS), 2 * count + 1);
		if (id == TREE_STACK_BEYOND_BUDGET)
			break;
		assert_int_not_equal(id, previous);
		assert_int_equal(truncated_id(100000 + count * 100, TREE_TRUNCATED_DEPTH), id);
		previous = id;
		node = tree_stack(id)->node;
		for (i = TREE_TRUNCATED_DEPTH; i-- > 0; node = tree_parent(node))
			assert_int_equal(tree_pc32(node), 100000 + count * 100 + i);
		assert_int_equal(node, tree_truncated_node());
		assert_int_equal(tree_stack_hook(id), 2);
	}
	assert_true(count >= SMALL_BUDGET / 10 / 9 - 1 && count <= SMALL_BUDGET / 10 / 9 + 1);
	assert_true(tree_node_count() <= SMALL_BUDGET + SMALL_BUDGET / 10);
	/* What is known stays known. */
	assert_int_not_equal(truncated_id(100000, TREE_TRUNCATED_DEPTH), TREE_STACK_BEYOND_BUDGET);
	for (i = 0; i < filled; i++) {
		for (node = TREE_ROOT, count = 0; count < 7; count++)
			node = tree_find(node, 1000 + i);
		assert_true(tree_stack_id(node, 1) >= TREE_STACK_FIRST);
	}
}

static void exhausted_memory(void **state)
{
	enum { MANY = 1000 };
	uint32_t parent = insert_one(TREE_ROOT, 9, 0), i, lost, limit;
	struct rlimit before;

	(void)state;
	store_fails = true;
	for (i = 0; insert_one(parent, 1 + i % 2, 0); parent = tree_find(parent, 1 + i % 2), i++)
		;
	store_fails = false;
	assert_int_equal(tree_find(parent, 1 + i % 2), 0);
	assert_int_not_equal(insert_one(parent, 1 + i % 2, 0), 0);

	/* The side hash, when it would have to grow. */
	limit = tree_stack_limit();
	before = memory_exhaust();
	for (i = 0; i < MANY && insert_one(TREE_ROOT, 100 + i, 0); i++)
		;
	lost = (uint32_t)loss_count(FORMAT_LOSS_MEMORY);
	memory_restore(before);
	assert_true(i > 5 && i < MANY);
	assert_int_equal(lost, 1);
	assert_int_equal(tree_find(TREE_ROOT, 100 + i), 0);
	assert_int_equal(tree_stack_limit(), limit + i); /* no id is lost */
	for (; i < MANY; i++)
		assert_int_not_equal(insert_one(TREE_ROOT, 100 + i, 0), 0);
	for (i = 0; i < MANY; i++)
		assert_int_equal(tree_parent(tree_find(TREE_ROOT, 100 + i)), TREE_ROOT);
}

/* --- while the lock is held ------------------------------------------------------------------ */

static bool acted;

static void act_as_signal_handler(void)
{
	uint32_t pc32 = 1, node = 0;
	struct tree_path path = {.count = 1, .pc32 = &pc32};

	acted = true;
	assert_false(tree_insert(&path, &node));
	assert_int_equal(node, 0);
	assert_int_equal(tree_stack_id(tree_truncated_node(), 3), 0);
	assert_int_equal(tree_truncated_id(&path), TREE_STACK_SIGNAL);
	/* Reading needs no lock. */
	assert_int_equal(tree_stack_id(tree_find(TREE_ROOT, 42), 1), tree_stack_limit() - 1);
}

/* One node, and the next, until a new block is made. */
static void insert_until_acted(void)
{
	uint32_t i, parent = TREE_ROOT;

	acted = false;
	for (i = 0; !acted && i < FORMAT_BLOCK_SIZE; i++) {
		parent = insert_one(parent, 42, 1);
		assert_int_not_equal(parent, 0);
		assert_int_not_equal(tree_stack_id(parent, 1), 0);
	}
	assert_true(acted);
}

static void interrupted_insertion(void **state)
{
	enum { LONG = FORMAT_BLOCK_SIZE / 8 + 1 };
	static uint32_t pc32[LONG], nodes[LONG];
	struct tree_path path = {.count = LONG, .pc32 = pc32, .hook = 1};

	(void)state;
	assert_int_not_equal(insert_one(TREE_ROOT, 42, 1), 0);
	on_block = act_as_signal_handler;
	acted = false;
	assert_true(tree_insert(&path, nodes)); /* needs a new block */
	assert_true(acted);
	assert_int_equal(tree_parent(nodes[LONG - 1]), nodes[LONG - 2]);
}

static void act_as_forked_child(void)
{
	acted = true;
	forget_blocks();
	tree_fork_child();
	assert_int_equal(tree_find(TREE_ROOT, 42), 0);
	assert_int_not_equal(insert_one(TREE_ROOT, 43, 1), 0);
}

/* fork() while a thread is inside an insertion: the child has the lock's memory, not its holder. */
static void forked_inside_an_insertion(void **state)
{
	(void)state;
	on_block = act_as_forked_child;
	insert_until_acted();
}

static void forked_child_begins_anew(void **state)
{
	uint32_t first = tree_stack_limit(), count = tree_node_count(), i, round;

	(void)state;
	for (round = 0; round < 3; round++) {
		for (i = 0; i < 3000; i++) {
			uint32_t node = insert_one(TREE_ROOT, 50 + i, 4);

			assert_int_equal(tree_find(TREE_ROOT, 50 + i), node);
			assert_int_equal(tree_stack_id(node, 4), first + i);
			assert_int_equal(tree_stack(first + i)->node, node);
		}
		assert_int_equal(tree_stack_limit(), first + 3000);
		forget_blocks();
		tree_fork_child();
		assert_int_equal(tree_stack_limit(), first);
		assert_int_equal(tree_node_count(), count);
		assert_int_equal(tree_find(TREE_ROOT, 50), 0);
		assert_int_equal(tree_find(TREE_ROOT, 3000), 0);
	}
}

/* --- threads --------------------------------------------------------------------------------- */

enum { THREADS = 4, SHARED_PATHS = 30000 };

static struct random_path *shared_paths;
static uint32_t shared_ids[THREADS][SHARED_PATHS];
static pthread_barrier_t barrier;
static _Atomic uint32_t thread_errors;

static void *insert_shared(void *number)
{
	static const uint32_t strides[THREADS] = {1, 7919, 7907, 1};
	uintptr_t me = (uintptr_t)number;
	uint32_t nodes[DEPTH_MAX], i, at, k, wrong = 0;

	for (i = 0; i < SHARED_PATHS; i++) {
		if (i % 64 == 0) /* together at first, then drifting against each other */
			pthread_barrier_wait(&barrier);
		at = (uint32_t)((uint64_t)i * strides[me] % SHARED_PATHS);
		shared_ids[me][at] = intern(&shared_paths[at], nodes);
		for (k = shared_paths[at].count; k-- > 0;)
			wrong += tree_pc32(nodes[k]) != shared_paths[at].pc32[k] ||
				 tree_parent(nodes[k]) != (k ? nodes[k - 1] : (uint32_t)TREE_ROOT);
	}
	atomic_fetch_add_explicit(&thread_errors, wrong, memory_order_relaxed);
	return NULL;
}

static void threads_get_the_same_ids(void **state)
{
	pthread_t threads[THREADS];
	uint64_t seed = 1234567;
	uint32_t i, t, id;
	struct random_path path;

	(void)state;
	shared_paths = calloc(SHARED_PATHS, sizeof(*shared_paths));
	for (i = 0; i < SHARED_PATHS; i++)
		make_path(&shared_paths[i], &seed);
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (t = 0; t < THREADS; t++)
		pthread_create(&threads[t], NULL, insert_shared, (void *)(uintptr_t)t);
	for (t = 0; t < THREADS; t++)
		pthread_join(threads[t], NULL);
	pthread_barrier_destroy(&barrier);
	assert_int_equal(thread_errors, 0);
	for (i = 0; i < SHARED_PATHS; i++) {
		id = shared_ids[0][i];
		for (t = 1; t < THREADS; t++)
			assert_int_equal(shared_ids[t][i], id);
		path = shared_paths[i];
		assert_int_equal(tree_stack_hook(id), path.hook);
		assert_int_equal(tree_pc32(tree_stack(id)->node), path.pc32[path.count - 1]);
	}
	free(shared_paths);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(random_paths_agree_with_a_model, begin_model,
						end_model),
		cmocka_unit_test_setup(wide_parents, begin),
		cmocka_unit_test_setup(hooks_of_one_node, begin),
		cmocka_unit_test_setup(fixed_ids, begin),
		cmocka_unit_test_setup(budget_then_truncated_then_beyond, begin),
		cmocka_unit_test_setup(exhausted_memory, begin),
		cmocka_unit_test_setup(interrupted_insertion, begin),
		cmocka_unit_test_setup(forked_inside_an_insertion, begin),
		cmocka_unit_test_setup(forked_child_begins_anew, begin),
		cmocka_unit_test_setup(threads_get_the_same_ids, begin),
	};

	return cmocka_run_group_tests_name("tree", tests, NULL, NULL);
}
