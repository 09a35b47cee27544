/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stack_cache.h - per thread, the call stacks that repeat: whole, each with the checks that prove it.
 *
 * An entry is found by the slot of the innermost return address, its value and the entry point, and is
 * taken only if every check of unwind.h holds: the same proof as in unwind.c, without the frames.
 * Four-way sets; a set that misses many times in a row is left alone for a while, because copying
 * call stacks that never repeat costs more than it can gain.
 */
#ifndef PMEM_LIBPMEM_STACK_CACHE_H
#define PMEM_LIBPMEM_STACK_CACHE_H
#include <stdbool.h>
#include <stdint.h>

#include "libpmem/tree.h"
#include "libpmem/unwind.h"

enum {
	STACK_CACHE_SETS = 16,
	STACK_CACHE_WAYS = 4,
	STACK_CACHE_CLASSES = 8,       /* rooms of 8, 16, ... 1,024 checks */
	STACK_CACHE_CHECKS_MAX = 1023, /* deeper call stacks are left to unwind.c */
	STACK_CACHE_HOOK_SHIFT = 56,
};

struct counter;

struct stack_cache_entry {
	uintptr_t slot;		     /* 0 = empty */
	uintptr_t key;		     /* return address | enum hook << STACK_CACHE_HOOK_SHIFT */
	struct unwind_check *checks; /* from the inside out; then one that never holds */
	struct counter *counter;     /* of this thread and stack_id */
	struct tree_stack *stack;
	uint32_t count;
	uint32_t stack_id;
	uint32_t mappings; /* unwind_mappings at capture */
	uint16_t room_class;
	uint16_t unclean; /* holds only while unwind_mappings is mappings */
	size_t size_min;  /* sizes in [size_min, size_min + size_span) need no histogram_size() */
	size_t size_span;
};

struct stack_cache_set {
	struct stack_cache_entry ways[STACK_CACHE_WAYS];
	uint32_t cooldown; /* lookups still to be passed on */
	uint16_t misses;   /* in a row */
	uint16_t victim;
};

struct stack_cache {
	struct stack_cache_set *sets;			/* [STACK_CACHE_SETS] */
	struct unwind_check *free[STACK_CACHE_CLASSES]; /* unused rooms; the first word links them */
	struct unwind_check *arena;
	uint32_t arena_left; /* checks */
};

/* Returns false when memory is exhausted. */
bool stack_cache_init(struct stack_cache *cache);

/* Forgets all entries. */
void stack_cache_flush(struct stack_cache *cache);

/* Remembers the call stack that unwind captured last. */
void stack_cache_put(struct stack_cache *cache, const struct unwind *unwind, uint32_t stack_id,
		     struct counter *counter);

/* Sets the range of sizes from the call stack's first size class. */
void stack_cache_set_sizes(struct stack_cache_entry *entry);

static inline struct stack_cache_set *stack_cache_set(const struct stack_cache *cache,
						      uintptr_t slot, uintptr_t key)
{
	uint64_t hash = ((uint64_t)slot << 24 ^ (uint64_t)key) * 0x9e3779b97f4a7c15u;

	return &cache->sets[hash >> 60];
}

static inline bool stack_cache_check_fails(const struct unwind_check *check)
{
	return __builtin_expect(*(const uintptr_t *)check->addr != check->value, 0);
}

/* One check at a time: what lies beyond a mismatch may not be readable.  The last check fails always. */
static inline __attribute__((always_inline)) bool stack_cache_holds(
	const struct stack_cache_entry *entry)
{
	const struct unwind_check *check = entry->checks, *last = check + entry->count;

	for (;; check += 4) {
		if (stack_cache_check_fails(check))
			return check == last;
		if (stack_cache_check_fails(check + 1))
			return check + 1 == last;
		if (stack_cache_check_fails(check + 2))
			return check + 2 == last;
		if (stack_cache_check_fails(check + 3))
			return check + 3 == last;
	}
}

/* The call stack at the hook frame fp, or NULL. */
static inline __attribute__((always_inline)) struct stack_cache_entry *stack_cache_find(
	struct stack_cache *cache, const uintptr_t *fp, uint32_t hook)
{
	uintptr_t slot = (uintptr_t)(fp + 1),
		  key = fp[1] | (uintptr_t)hook << STACK_CACHE_HOOK_SHIFT;
	struct stack_cache_set *set = stack_cache_set(cache, slot, key);
	struct stack_cache_entry *entry = set->ways;
	unsigned ways;

	if (__builtin_expect(set->cooldown != 0, 0))
		return NULL;
	for (ways = STACK_CACHE_WAYS; ways > 0; ways--, entry++) {
		if (entry->slot != slot || entry->key != key)
			continue;
		if (__builtin_expect(entry->unclean, 0) &&
		    entry->mappings !=
			    __atomic_load_n((uint32_t *)&unwind_mappings, __ATOMIC_RELAXED))
			continue;
		if (stack_cache_holds(entry)) {
			set->misses = 0;
			return entry;
		}
	}
	return NULL;
}

#endif
