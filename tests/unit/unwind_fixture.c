/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unwind_fixture.c - captures and compares call stacks, see unwind_fixture.h.
 */
#include "unwind_fixture.h"

#include <execinfo.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "libpmem/loss.h"
#include "libpmem/modules.h"
#include "libpmem/process.h"
#include "libpmem/rules.h"
#include "libpmem/store.h"
#include "libpmem/tree.h"
#include "tests/unit/store_reset.h"

__thread struct walker *walker;

void process_change_mark(void)
{
}

/* A broken ASSERT(). */
void process_stop(void)
{
	fail();
}

void walker_make(void)
{
	walker = calloc(1, sizeof(*walker));
	walker->ours = calloc(WALKER_DEPTH_MAX, sizeof(*walker->ours));
	walker->other = calloc(WALKER_DEPTH_MAX, sizeof(*walker->other));
	walker->seed = 88172645463325252u;
	walker->compare_every = 1;
	walker->backtrace_every = 16;
	assert_true(unwind_init(&walker->unwind));
	assert_true(unwind_init(&walker->reference));
	assert_true(stack_cache_init(&walker->cache));
}

void walker_drop(void)
{
	free(walker->ours);
	free(walker->other);
	free(walker);
	walker = NULL;
}

void walker_forget(uint32_t nodes)
{
	store_fork_child();
	modules_fork_child();
	tree_fork_child();
	assert_true(tree_init(nodes));
	unwind_flush(&walker->unwind);
	stack_cache_flush(&walker->cache);
}

int walker_begin(void **state)
{
	static bool made;
	void *address[4];

	(void)state;
	if (!made)
		modules_find_program();
	if (!made && (!modules_init() || !tree_init(WALKER_NODES)))
		return 1;
	made = true;
	store_reset();
	backtrace(address, 4); /* loads what it needs */
	walker_make();
	walker_forget(WALKER_NODES);
	return 0;
}

int walker_end(void **state)
{
	(void)state;
	walker_drop();
	return 0;
}

uint32_t walker_random(uint32_t limit)
{
	walker->seed ^= walker->seed << 13;
	walker->seed ^= walker->seed >> 7;
	walker->seed ^= walker->seed << 17;
	return (uint32_t)((walker->seed * 0x2545f4914f6cdd1du >> 32) % limit);
}

/* The call stack in the tree. */
static void read_tree(uint32_t id)
{
	uint32_t node = tree_stack(id)->node;
	struct modules_location location;

	for (walker->count = 0; node != TREE_ROOT && node != tree_truncated_node();
	     node = tree_parent(node)) {
		assert_true(walker->count < WALKER_DEPTH_MAX);
		modules_locate(tree_pc32(node), &location);
		assert_non_null(location.module);
		walker->ours[walker->count++] = location.address;
	}
	walker->truncated = node == tree_truncated_node();
}

static void compare_reference(const uintptr_t *fp)
{
	size_t i, count = unwind_reference(&walker->reference, fp, walker->other, WALKER_DEPTH_MAX);

	for (i = 0; i < count && i < walker->count; i++)
		assert_int_equal(walker->ours[i], walker->other[i]);
	if (walker->shortened && walker->truncated)
		assert_int_equal(walker->count, count < TREE_TRUNCATED_DEPTH
							? count
							: (size_t)TREE_TRUNCATED_DEPTH);
	else
		assert_int_equal(walker->count, count);
}

static bool has_no_cfi(uintptr_t ra)
{
	struct cfi_rule rule;

	return !rules_lookup_full(ra - 1, &rule);
}

static void compare_backtrace(const uintptr_t *fp)
{
	int count = backtrace((void **)walker->other, WALKER_DEPTH_MAX);
	const uintptr_t *other = walker->other;
	size_t i, interrupted = 0;

	for (; count > 0 && *other != fp[1]; count--)
		other++;
	assert_true(count > 0);
	for (i = 0; i < (size_t)count && i < walker->count; i++) {
		/* Of interrupted code backtrace() says where it stands, we say one more. */
		if ((walker->flags & UNWIND_SIGNAL) && walker->ours[i] == other[i] + 1)
			interrupted++;
		else
			assert_int_equal(walker->ours[i], other[i]);
	}
	assert_int_equal(interrupted > 0, (walker->flags & UNWIND_SIGNAL) != 0);
	if (walker->no_cfi && (size_t)count < walker->count)
		assert_true(has_no_cfi(other[count - 1]));
	else
		assert_int_equal(walker->count, count);
}

/* Unclean where a step had to do without call frame information; a return address that is a function's first
 * instruction is the end. */
static void compare_flags(void)
{
	bool unclean = false;
	size_t i;

	for (i = 0; i < walker->count && !unclean; i++)
		unclean = has_no_cfi(walker->ours[i]) && has_no_cfi(walker->ours[i] + 1);
	if (!walker->truncated)
		assert_int_equal((walker->flags & UNWIND_UNCLEAN) != 0, unclean);
}

static uint32_t capture(const uintptr_t *fp, uint32_t hook)
{
	uint32_t id = unwind_capture(&walker->unwind, fp, hook);
	const struct stack_cache_entry found = {.slot = (uintptr_t)(fp + 1),
						.key = fp[1] | (uintptr_t)hook
								       << STACK_CACHE_HOOK_SHIFT,
						.stack_id = id};

	assert_int_not_equal(id, 0);
	walker->flags = walker->unwind.flags;
	if (!(walker->flags & UNWIND_FOREVER_NEW) && walker->unwind.count &&
	    id >= TREE_STACK_FIRST && stack_cache_miss(&walker->cache, &found))
		stack_cache_put(&walker->cache, &walker->unwind, id, NULL);
	return id;
}

/* The cache is here to be put to the proof, not for what it saves: it does not rest. */
static const struct stack_cache_entry *find_clean(const uintptr_t *fp, uint32_t hook)
{
	uintptr_t key = fp[1] | (uintptr_t)hook << STACK_CACHE_HOOK_SHIFT;

	stack_cache_set(&walker->cache, (uintptr_t)(fp + 1), key)->rest = 0;
	return stack_cache_find(&walker->cache, fp, hook);
}

static void look(const uintptr_t *fp)
{
	uint32_t hook = walker_random(4) == 0;
	const struct stack_cache_entry *clean = find_clean(fp, hook);
	const struct stack_cache_entry *entry = clean ? clean
						      : stack_cache_find_unclean(&walker->cache, fp,
										 hook);
	uint32_t id = entry ? entry->stack_id : capture(fp, hook);

	if (entry) {
		walker->flags = clean ? 0 : UNWIND_UNCLEAN;
		walker->found++;
	}
	if (id == TREE_STACK_BEYOND_BUDGET)
		return;
	assert_int_equal(tree_stack_hook(id), hook);
	if (walker->captured++ % walker->compare_every != 0)
		return;
	read_tree(id);
	assert_int_equal(walker->ours[0], fp[1]);
	compare_reference(fp);
	if (walker->captured % 8 == 0)
		compare_flags();
	if (walker->backtrace_every && walker->captured % walker->backtrace_every == 0 &&
	    !walker->truncated)
		compare_backtrace(fp);
}

__attribute__((noinline)) void observe(void)
{
	look(__builtin_frame_address(0));
	__asm__ volatile("" ::: "memory"); /* no tail call: the frame stays */
}
