/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_profile_memory.c - what a profile takes for each call stack and node, while it is opened and afterwards.
 *
 * The linker puts functions that count in place of malloc() and so on (meson.build).  Bytes are those asked for.
 */
#include <malloc.h>

#include "profile_open.h"

enum {
	DEPTH = 5,
	CHILDREN = 8, /* of each node: 8^5 leaves, and two call stacks at each */
	STACKS = 2 * 32768,
	NODES = 8 + 64 + 512 + 4096 + 32768,
	ENTRIES = NODES + STACKS, /* in the file's lists */
	/* It takes 108 and 88, 8 for a node in an array that doubles, and what the file's nodes take. */
	STACK_OPENING = 116,
	STACK_OPEN = 96,
	NODE = 2 * sizeof(struct profile_node),
	ENTRY = sizeof(struct format_node),
	REST = 64 * 1024,
};

static size_t held, most;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
void __real_free(void *block);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *block, size_t size);
void __wrap_free(void *block);

static void *count_block(void *block)
{
	held += block ? malloc_usable_size(block) : 0;
	most = held > most ? held : most;
	return block;
}

/* What strdup() made was not counted. */
static void forget(void *block)
{
	size_t size = block ? malloc_usable_size(block) : 0;

	held -= size < held ? size : held;
}

void *__wrap_malloc(size_t size)
{
	return count_block(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size)
{
	return count_block(__real_calloc(count, size));
}

void *__wrap_realloc(void *block, size_t size)
{
	forget(block);
	return count_block(__real_realloc(block, size));
}

void __wrap_free(void *block)
{
	forget(block);
	__real_free(block);
}

/* Call stacks in a tree without long lists, with one block each. */
static void fill(struct fixture *f)
{
	uint32_t module, frames[DEPTH];

	fixture_begin(f);
	module = fixture_module(f, "/p", "build-id");
	for (uint32_t i = 0; i < STACKS; i++) {
		uint32_t path = i / 2, id;

		for (uint32_t depth = 0; depth < DEPTH; depth++, path /= CHILDREN)
			frames[depth] = fixture_pc32(
				f, module, 0x1000 + (depth * CHILDREN + path % CHILDREN) * 16);
		id = fixture_stack(f, frames, DEPTH,
				   i % 2 ? FORMAT_HOOK_CALLOC : FORMAT_HOOK_MALLOC);
		count(fixture_counter(f, 0, id), 1, 0, 10);
		FIXTURE_ITEM(f, FORMAT_STACKS, struct format_stack, id)->sizes = 1 + 1;
	}
}

static void memory_is_bounded_by_call_stacks_and_nodes(void **state)
{
	struct fixture f;
	struct profile *profile;

	(void)state;
	fill(&f);
	held = most = 0;
	profile = open_undamaged(&f);
	assert_int_equal(profile->stack_count, STACKS);
	assert_int_equal(profile->node_count, NODES + 1);
	print_message("opening %zu bytes, open %zu\n", most, held);
	assert_in_range(most, STACKS * sizeof(struct profile_stack),
			STACKS * STACK_OPENING + NODES * NODE + ENTRIES * ENTRY + REST);
	assert_in_range(held, STACKS * sizeof(struct profile_stack),
			STACKS * STACK_OPEN + NODES * NODE + REST);
	profile_close(profile);
	assert_true(held < REST);
	fixture_end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_is_bounded_by_call_stacks_and_nodes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
