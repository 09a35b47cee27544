/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stack_cache_fixture.c - see stack_cache_fixture.h.
 */
#include "tests/unit/stack_cache_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>

#include <cmocka.h>

#include "libpmem/process.h"
#include "tests/unit/store_reset.h"

_Atomic uint32_t unwind_mappings;

struct format_stack stacks[IDS];
uintptr_t stack_words[WORDS];
struct stack_cache cache;
struct stack_check_group checks[CHECKS_MAX / STACK_CHECK_GROUP + 1];
struct unwind_frame leaf;
struct unwind unwind = {.frames = &leaf, .checks = checks, .count = 1};

/* A broken ASSERT(). */
void process_stop(void)
{
	fail();
}

_Atomic(struct format_stack *) tree_stack_blocks[FORMAT_BLOCKS_MAX];

int begin(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < WORDS; i++)
		stack_words[i] = 0x400000 + i * 16;
	for (i = 0; i < IDS / TREE_STACKS_PER_BLOCK; i++)
		tree_stack_blocks[i] = stacks + i * TREE_STACKS_PER_BLOCK;
	unwind.flags = 0;
	unwind.mappings = 0;
	unwind_mappings = 0;
	store_reset();
	stack_check_gathers = false;
	return !stack_cache_init(&cache);
}

struct format_counter *counter_of(uint32_t id)
{
	return (struct format_counter *)(uintptr_t)(0x1000 + 8 * (uintptr_t)id);
}

void describe(uint32_t at, uint32_t count, uint32_t hook)
{
	uint32_t i;

	for (i = 0; i <= count; i++)
		stack_check_set(checks, count - i, (uintptr_t)&stack_words[at + i],
				stack_words[at + i]);
	leaf = (struct unwind_frame){
		.slot = (uintptr_t)&stack_words[at], .ra = stack_words[at], .check_end = count + 1};
	unwind.hook = hook;
}

bool miss(uint32_t at, uint32_t hook, uint32_t id)
{
	const struct stack_cache_entry found = {.slot = (uintptr_t)&stack_words[at],
						.key = stack_words[at] |
						       (uintptr_t)hook << STACK_CACHE_HOOK_SHIFT,
						.stack_id = id};

	return stack_cache_miss(&cache, &found);
}

void put(uint32_t at, uint32_t count, uint32_t hook, uint32_t id)
{
	describe(at, count, hook);
	miss(at, hook, id);
	stack_cache_put(&cache, &unwind, id, counter_of(id));
}

uint32_t find(uint32_t at, uint32_t hook)
{
	struct stack_cache_entry *entry = stack_cache_find(&cache, &stack_words[at - 1], hook);

	if (!entry)
		entry = stack_cache_find_unclean(&cache, &stack_words[at - 1], hook);
	if (!entry)
		return 0;
	assert_ptr_equal(entry->counter, counter_of(entry->stack_id));
	return entry->stack_id;
}

bool share_a_set(uint32_t a, uint32_t b)
{
	unsigned i;

	if (a == b)
		return true;
	stack_cache_flush(&cache);
	put(a, 1, 0, 1);
	assert_int_equal(find(a, 0), 1); /* hits, so that no set rests */
	for (i = 0; i < STACK_CACHE_WAYS; i++) {
		put(b, 1, 0, 2);
		assert_int_equal(find(b, 0), 2);
	}
	return find(a, 0) == 0;
}

uint32_t same_set(uint32_t at)
{
	while (!share_a_set(1, at))
		at++;
	return at;
}
