/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stack_cache_fixture.h - call stacks made by hand: words in memory that stand for return addresses and saved registers, and one cache.
 */
#ifndef PMEM_TESTS_UNIT_STACK_CACHE_FIXTURE_H
#define PMEM_TESTS_UNIT_STACK_CACHE_FIXTURE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libpmem/stack_cache.h"

enum {
	WORDS = 1 << 16,
	CHECKS_MAX = STACK_CACHE_CHECKS_MAX + 2,
	IDS = 100 * TREE_STACKS_PER_BLOCK,
};

extern struct format_stack stacks[IDS];
extern uintptr_t stack_words[WORDS]; /* the stack */
extern struct stack_cache cache;
extern struct stack_check_group checks[CHECKS_MAX / STACK_CHECK_GROUP + 1];
extern struct unwind_frame leaf;
extern struct unwind unwind;

/* A cmocka setup: an empty cache. */
int begin(void **state);

struct format_counter *counter_of(uint32_t id);

/* A call stack whose innermost return address is stack_words[at]; the words behind it, count of them, prove it. */
void describe(uint32_t at, uint32_t count, uint32_t hook);

/* One that was not found; and puts it into the cache. */
bool miss(uint32_t at, uint32_t hook, uint32_t id);
void put(uint32_t at, uint32_t count, uint32_t hook, uint32_t id);

/* The id found at stack_words[at]; 0 = none. */
uint32_t find(uint32_t at, uint32_t hook);

/* True if call stacks at the two places compete for the same entries.  Forgets all entries. */
bool share_a_set(uint32_t a, uint32_t b);

/* The first place from at on whose call stacks go to the same set as those of stack_words[1]. */
uint32_t same_set(uint32_t at);

#endif
