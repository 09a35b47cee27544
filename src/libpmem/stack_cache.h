/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stack_cache.h - per thread, the call stacks that repeat: whole, each with the checks that prove it.
 *
 * An entry is found by the slot of the innermost return address, its value and the entry point, and is
 * taken only if every check of unwind.h holds: the same proof as in unwind.c, without the frames.
 * Four-way sets.  To look in vain costs about as much as a hit saves (four entries and their first checks, none of them in the nearest
 * cache), so a set with fewer hits than half its misses rests: for some time nobody looks into it, and for twice that if it is no better
 * afterwards.  A thread that keeps missing call stacks that it had not long ago
 * gets more sets: what that costs in memory, busy threads alone pay.
 */
#ifndef PMEM_LIBPMEM_STACK_CACHE_H
#define PMEM_LIBPMEM_STACK_CACHE_H
#include <stdbool.h>
#include <stdint.h>

#include "libpmem/stack_check.h"
#include "libpmem/tree.h"
#include "libpmem/unwind.h"

enum {
	STACK_CACHE_SETS = 16, /* at first */
	STACK_CACHE_SETS_MAX = 256,
	STACK_CACHE_SETS_LOG2 = 8, /* of these */
	STACK_CACHE_RECENT = 1024,
	STACK_CACHE_MISSES = 32, /* of a set, between two looks at how many hits there were meanwhile */
	STACK_CACHE_GROW_CHECK = 8192, /* misses between two looks at how many of them came again: */
	STACK_CACHE_WAYS = 4,
	STACK_CACHE_CLASSES = 8,       /* rooms of 8, 16, ... 1,024 checks */
	STACK_CACHE_CHECKS_MAX = 1024, /* deeper call stacks are left to unwind.c */
	STACK_CACHE_HOOK_SHIFT = 56,
	STACK_CACHE_UNCLEAN = 1, /* in slot: holds only while unwind_mappings is mappings; not found on the fast path */
};

struct format_counter;

struct stack_cache_entry {
	uintptr_t slot; /* 0 = empty; + STACK_CACHE_UNCLEAN */
	uintptr_t key;	/* return address | enum format_hook << STACK_CACHE_HOOK_SHIFT */
	struct stack_check_group *groups; /* from the inside out */
	struct format_counter *counter;	  /* of this thread and stack_id */
	uint32_t size;			  /* of the groups, bytes; at least one */
	uint32_t stack_id;
	uint32_t mappings; /* unwind_mappings at capture */
	uint32_t size_min; /* sizes in [size_min, size_min + size_span) need no histogram_sizes() */
	uint32_t size_span;
	uint32_t hits;	/* since its set's misses were 0 */
	uint16_t rest;	/* of a set's first entry: misses until somebody looks into the set again */
	uint8_t misses; /* likewise: of the set */
	uint8_t rests;	/* likewise: how many came one after the other */
	uint8_t victim; /* likewise: which of the others is replaced next, from 0 */
	uint16_t room_class;
};

_Static_assert(sizeof(struct stack_cache_entry) == 64, "the index of a set is a shift");

struct stack_cache {
	struct stack_cache_entry *entries;		     /* [sets][STACK_CACHE_WAYS] */
	uint64_t mask;					     /* sets - 1 */
	struct stack_check_group *free[STACK_CACHE_CLASSES]; /* unused rooms; the first word links them */
	struct stack_check_group *scratch;		     /* for STACK_CACHE_CHECKS_MAX checks */
	struct stack_check_group *arena;
	uint32_t arena_left; /* groups */
	uint32_t any_unclean;
	uint32_t *recent; /* [STACK_CACHE_RECENT]: ids of call stacks that were missed, by id */
	uint32_t missed;  /* call stacks since the last look at these numbers */
	uint32_t missed_again; /* of these, how many were in recent */
};

/* Returns false when memory is exhausted. */
bool stack_cache_init(struct stack_cache *cache);

/* Forgets all entries. */
void stack_cache_flush(struct stack_cache *cache);

/* Grows the cache if many misses are of call stacks that were missed a short while ago. */
void stack_cache_missed_many(struct stack_cache *cache);

/* Remembers the call stack that unwind captured last. */
void stack_cache_put(struct stack_cache *cache, const struct unwind *unwind, uint32_t stack_id,
		     struct format_counter *counter);

/* Sets the range of sizes from the call stack's first size class. */
void stack_cache_set_sizes(struct stack_cache_entry *entry);

/* The first entry of the set for the slot of the innermost return address and its key. */
static inline struct stack_cache_entry *stack_cache_set(const struct stack_cache *cache,
							uintptr_t slot, uintptr_t key)
{
	uint64_t hash = ((uint64_t)slot << 24 ^ (uint64_t)key) * 0x9e3779b97f4a7c15u;

	return &cache->entries[(hash >> (64 - STACK_CACHE_SETS_LOG2) & cache->mask) * STACK_CACHE_WAYS];
}

/* STACK_CACHE_MISSES misses are over: whether the set rests. */
void stack_cache_judge(struct stack_cache_entry *set);

/* The call stack of found, which has slot, key and stack_id, was not found.  Returns true if it is worth what remembering costs: it was
 * not found a short while ago either, and its set does not rest. */
static inline bool stack_cache_miss(struct stack_cache *cache, const struct stack_cache_entry *found)
{
	struct stack_cache_entry *set = stack_cache_set(cache, found->slot, found->key);
	uint32_t *recent = &cache->recent[found->stack_id % STACK_CACHE_RECENT];
	bool again = *recent == found->stack_id;

	cache->missed_again += again;
	*recent = found->stack_id;
	if (set->rest) {
		set->rest--;
		again = false;
	} else if (++set->misses == STACK_CACHE_MISSES) {
		stack_cache_judge(set);
	}
	if (__builtin_expect(++cache->missed >= STACK_CACHE_GROW_CHECK, 0))
		stack_cache_missed_many(cache);
	return again;
}

/* Group by group from the inside out: what lies beyond a mismatch may not be readable, but a group reads
 * only in pages that the groups before it, or the hook's own frame, have proved (stack_cache.c). */
static inline __attribute__((always_inline)) bool stack_cache_holds(
	const struct stack_cache_entry *entry)
{
	const struct stack_check_group *start = entry->groups;

	return stack_check_all_hold(start, (const void *)((const char *)start + entry->size));
}

/* The call stack at the hook frame fp, or NULL. */
static inline __attribute__((always_inline)) struct stack_cache_entry *stack_cache_find(
	struct stack_cache *cache, const uintptr_t *fp, uint32_t hook)
{
	uintptr_t slot = (uintptr_t)(fp + 1),
		  key = fp[1] | (uintptr_t)hook << STACK_CACHE_HOOK_SHIFT;
	struct stack_cache_entry *entry = stack_cache_set(cache, slot, key);
	unsigned ways;

	if (__builtin_expect(entry->rest != 0, 0))
		return NULL;
	for (ways = STACK_CACHE_WAYS; ways > 0; ways--, entry++) {
		if (entry->slot != slot || entry->key != key)
			continue;
		if (stack_cache_holds(entry)) {
			entry->hits++;
			return entry;
		}
	}
	return NULL;
}

/* The same for a call stack that is not clean (UNWIND_UNCLEAN). */
struct stack_cache_entry *stack_cache_find_unclean(struct stack_cache *cache, const uintptr_t *fp,
						   uint32_t hook);

#endif
