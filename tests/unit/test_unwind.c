/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_unwind.c - every call stack of random programs, against walks that remember nothing.
 */
#include <alloca.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "libpmem/loss.h"
#include "libpmem/tree.h"
#include "unwind_calls.h"
#include "unwind_fixture.h"

#define FRAME __attribute__((noinline)) static
#define KEEP(object) __asm__ volatile("" : : "r"(object) : "memory")

static void run_programs(unsigned calls, unsigned depth)
{
	calls_run(calls, depth);
	assert_int_equal(loss_count(FORMAT_LOSS_SHORT_STACKS), 0);
	assert_int_equal(loss_count(FORMAT_LOSS_TRUNCATED), 0);
	/* It was not all new, nor all the same. */
	assert_in_range(walker->found, walker->captured / 50, walker->captured);
}

static void random_calls(void **state)
{
	(void)state;
	calls_kinds = CALLS_WITH_CFI;
	run_programs(60000, 12);
	run_programs(20000, 60);
	assert_true(walker->captured > 50000);
}

static void random_calls_some_without_cfi(void **state)
{
	(void)state;
	walker->no_cfi = true;
	calls_kinds = CALLS_ALL;
	run_programs(40000, 30);
}

/* The program unmaps something all the time: proofs of readability end. */
static void random_calls_while_mappings_change(void **state)
{
	unsigned i;

	(void)state;
	walker->no_cfi = true;
	calls_kinds = CALLS_ALL;
	for (i = 0; i < 500; i++) {
		run_programs(20, 20);
		atomic_fetch_add_explicit(&unwind_mappings, 1, memory_order_relaxed);
	}
}

static void flushed(void **state)
{
	unsigned i;

	(void)state;
	calls_kinds = CALLS_WITH_CFI;
	for (i = 0; i < 200; i++) {
		run_programs(50, 20);
		unwind_flush(&walker->unwind);
		stack_cache_flush(&walker->cache);
	}
}

/* Down and up again by random steps. */
FRAME void recurse(unsigned depth, unsigned *steps)
{
	char *here = depth % 3 == 0 ? alloca(16 * walker_random(3) + 8) : NULL;

	KEEP(here);
	while (depth && *steps) {
		if (walker_random(8) == 0)
			observe();
		if (depth < 19900 && walker_random(40) == 0)
			break;
		--*steps;
		recurse(depth - 1, steps);
	}
	if (!depth || walker_random(64) == 0)
		observe();
	KEEP(here);
}

static void *deep_recursion_in_thread(void *result)
{
	enum { DEEP = 20000 };
	unsigned steps = 60000;

	walker_make();
	walker->compare_every = 499;
	walker->backtrace_every = 15;
	recurse(DEEP, &steps);
	*(uint64_t *)result = walker->captured;
	walker_drop();
	return NULL;
}

static void deep_recursion(void **state)
{
	uint64_t captured = 0;
	pthread_attr_t attributes;
	pthread_t thread;

	(void)state;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 64 << 20);
	assert_int_equal(pthread_create(&thread, &attributes, deep_recursion_in_thread, &captured),
			 0);
	pthread_join(thread, NULL);
	pthread_attr_destroy(&attributes);
	assert_true(captured > 5000);
}

/* More call stacks than the tree has room for: ids go on, for the innermost frames, and then one for all. */
static void beyond_the_budget(void **state)
{
	uint32_t budget;

	(void)state;
	calls_kinds = CALLS_WITH_CFI;
	walker->shortened = true;
	for (budget = 2000; budget < 2040; budget++) {
		walker_forget(budget);
		calls_run(1000, 30);
		assert_in_range(tree_node_count(), budget, budget + budget / 10);
	}
	assert_true(loss_count(FORMAT_LOSS_SHORT_STACKS) > 1000);
	walker_forget(WALKER_NODES);
}

static void *random_calls_in_thread(void *seed)
{
	walker_make();
	walker->seed = (uintptr_t)seed * 0x9e3779b97f4a7c15u;
	calls_kinds = CALLS_WITH_CFI;
	run_programs(15000, 20);
	walker_drop();
	return NULL;
}

static void random_calls_in_threads(void **state)
{
	pthread_t threads[4];
	uintptr_t i;

	(void)state;
	for (i = 0; i < 4; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, random_calls_in_thread, (void *)(i + 1)),
			0);
	for (i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(random_calls, walker_begin, walker_end),
		cmocka_unit_test_setup_teardown(random_calls_some_without_cfi, walker_begin,
						walker_end),
		cmocka_unit_test_setup_teardown(random_calls_while_mappings_change, walker_begin,
						walker_end),
		cmocka_unit_test_setup_teardown(flushed, walker_begin, walker_end),
		cmocka_unit_test_setup_teardown(deep_recursion, walker_begin, walker_end),
		cmocka_unit_test_setup_teardown(beyond_the_budget, walker_begin, walker_end),
		cmocka_unit_test_setup_teardown(random_calls_in_threads, walker_begin, walker_end),
	};

	return cmocka_run_group_tests_name("unwind", tests, NULL, NULL);
}
