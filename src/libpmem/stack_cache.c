/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stack_cache.c - fills the cache of whole call stacks, see stack_cache.h.
 *
 * Checks live in rooms of a power of two, taken from an arena that only grows: at most
 * SETS * WAYS rooms of a class are ever made.
 */
#include "libpmem/stack_cache.h"

#include <stdatomic.h>
#include <string.h>

#include "libpmem/assert.h"
#include "libpmem/histogram.h"
#include "libpmem/loss.h"
#include "libpmem/sys.h"

enum {
	ROOM_MIN = 2, /* groups */
	ARENA_GROUPS = 1024,
	/* The CPU takes a load for dependent on an earlier store whose address has the same low 12 bits.  The struct
	 * thread's hot fields lie at the start of a page, so the first rooms must not. */
	ARENA_SKIP = 16,
	TRIAL_TURNS = 16,
	TRIAL_CHECKS = 64,
	TRIAL_GROUPS = 4,
	/* Of equal speed alone, gathering leaves more of the CPU to the code around it: 16 instead of 20 ns a pair at 20
	 * frames.  Where it is slow it takes twice as long or more. */
	TRIAL_SLOWER = 4,
	MISSES_MAX = 12, /* in a row, then */
	COOLDOWN = 50,	 /* lookups go past the set */
	ENTRIES_SIZE = STACK_CACHE_SETS * STACK_CACHE_WAYS * sizeof(struct stack_cache_entry),
	SCRATCH_SIZE = STACK_CACHE_CHECKS_MAX * sizeof(struct unwind_check),
};

bool stack_cache_gathers;

/* The least time of several turns, because the first ones wake the wide units, and others are interrupted. */
static uint64_t time_checks(const struct stack_cache_entry *entry)
{
	uint64_t best = UINT64_MAX, start;
	unsigned turn, i;

	for (turn = 0; turn < TRIAL_TURNS; turn++) {
		start = sys_monotonic_ns();
		for (i = 0; i < TRIAL_CHECKS && stack_cache_holds(entry); i++)
			;
		start = sys_monotonic_ns() - start;
		best = start < best ? start : best;
	}
	return best;
}

void stack_cache_choose(void)
{
	static struct stack_cache_group groups[TRIAL_GROUPS];
	static uintptr_t words[STACK_CACHE_GROUP * TRIAL_GROUPS];
	const struct stack_cache_entry entry = {.groups = groups, .size = sizeof(groups)};
	uint64_t singly;
	unsigned i;

	stack_cache_gathers = false;
	if (!arch_can_gather())
		return;
	for (i = 0; i < STACK_CACHE_GROUP * TRIAL_GROUPS; i++)
		groups[i / STACK_CACHE_GROUP].words[i % STACK_CACHE_GROUP] = (uintptr_t)&words[i];
	singly = time_checks(&entry);
	stack_cache_gathers = true;
	stack_cache_gathers = time_checks(&entry) < singly + singly / TRIAL_SLOWER;
}

bool stack_cache_init(struct stack_cache *cache)
{
	memset(cache, 0, sizeof(*cache));
	cache->entries = sys_map(ENTRIES_SIZE + SCRATCH_SIZE);
	cache->scratch = (void *)(cache->entries + STACK_CACHE_SETS * STACK_CACHE_WAYS);
	if (!cache->entries)
		loss_add(FORMAT_LOSS_MEMORY, 1);
	return cache->entries != NULL;
}

void stack_cache_flush(struct stack_cache *cache)
{
	unsigned i;

	for (i = 0; i < STACK_CACHE_SETS * STACK_CACHE_WAYS; i++)
		cache->entries[i].slot = 0;
}

/* Of the room for so many groups. */
static uint16_t class_of(uint32_t count)
{
	uint16_t room_class = 0;

	while (((uint32_t)ROOM_MIN << room_class) < count)
		room_class++;
	return room_class;
}

/* An unused room's first word. */
static struct stack_cache_group *room_next(const struct stack_cache_group *room)
{
	return (struct stack_cache_group *)room->words[0];
}

static struct stack_cache_group *room_make(struct stack_cache *cache, uint16_t room_class)
{
	struct stack_cache_group *room = cache->free[room_class];
	uint32_t size = (uint32_t)ROOM_MIN << room_class;

	if (room) {
		cache->free[room_class] = room_next(room);
		return room;
	}
	if (cache->arena_left < size) {
		cache->arena = sys_map(ARENA_GROUPS * sizeof(*room));
		if (!cache->arena) {
			loss_add(FORMAT_LOSS_MEMORY, 1);
			cache->arena_left = 0;
			return NULL;
		}
		cache->arena += ARENA_SKIP;
		cache->arena_left = ARENA_GROUPS - ARENA_SKIP;
	}
	room = cache->arena;
	cache->arena += size;
	cache->arena_left -= size;
	return room;
}

/* Gives the entry room for count groups. */
static bool entry_fit(struct stack_cache *cache, struct stack_cache_entry *entry, uint32_t count)
{
	uint16_t room_class = class_of(count);

	if (entry->groups && entry->room_class == room_class)
		return true;
	if (entry->groups) {
		entry->groups->words[0] = (uintptr_t)cache->free[entry->room_class];
		cache->free[entry->room_class] = entry->groups;
	}
	entry->room_class = room_class;
	entry->groups = room_make(cache, room_class);
	return entry->groups != NULL;
}

/* Counts the miss.  False: the set rests. */
static bool set_admits(struct stack_cache_state *set)
{
	if (set->cooldown) {
		set->cooldown--;
		return false;
	}
	if (++set->misses <= MISSES_MAX)
		return true;
	set->misses = 0;
	set->cooldown = COOLDOWN;
	return false;
}

/* Blocks of the size class that the call stack has seen first, and no other, need not be told to the histogram. */
void stack_cache_set_sizes(struct stack_cache_entry *entry)
{
	uint32_t sizes = atomic_load_explicit(&tree_stack(entry->stack_id)->sizes,
					      memory_order_relaxed);
	uint32_t size_class = sizes & FORMAT_SIZES_MANY ? sizes >> 24 & 0x7f : sizes - 1;

	entry->size_min = entry->size_span = 0;
	if (!sizes || size_class == FORMAT_CLASSES - 1)
		return;
	entry->size_min = size_class ? ((size_t)1 << (size_class + FORMAT_SIZE_SHIFT - 1)) + 1 : 0;
	entry->size_span = ((size_t)1 << (size_class + FORMAT_SIZE_SHIFT)) + 1 - entry->size_min;
}

static uintptr_t page_of(uintptr_t addr)
{
	return addr & ~(uintptr_t)4095;
}

/* Copies the checks of the last call stack into room for max, from the inside out, in whole groups: all but the
 * leaf's own return address, which is the key, if there are others.  A check that enters a page begins a
 * group.  Returns how many were written; 0: they do not fit. */
static uint32_t copy_checks(const struct unwind *unwind, struct unwind_check *to, uint32_t max)
{
	const struct unwind_frame *leaf = &unwind->frames[unwind->count - 1];
	uintptr_t page = page_of(leaf->slot);
	uint32_t i, count = 0;

	for (i = leaf->check_end > 1 ? leaf->check_end - 1 : 1; i-- > 0;) {
		const struct unwind_check *check = &unwind->checks[i];
		bool enters = page_of(check->addr) != page;

		if (count + 2 * STACK_CACHE_GROUP > max)
			return 0;
		while (enters && count % STACK_CACHE_GROUP) {
			to[count] = to[count - 1];
			count++;
		}
		to[count++] = *check;
		page = page_of(check->addr);
	}
	for (; count % STACK_CACHE_GROUP; count++)
		to[count] = to[count - 1];
	return count;
}

static void fill_groups(struct stack_cache_group *groups, const struct unwind_check *checks,
			uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count; i++) {
		groups[i / STACK_CACHE_GROUP].words[i % STACK_CACHE_GROUP] = checks[i].addr;
		groups[i / STACK_CACHE_GROUP]
			.words[STACK_CACHE_GROUP + i % STACK_CACHE_GROUP] = checks[i].value;
	}
}

void stack_cache_put(struct stack_cache *cache, const struct unwind *unwind, uint32_t stack_id,
		     struct format_counter *counter)
{
	const struct unwind_frame *leaf = &unwind->frames[unwind->count - 1];
	uintptr_t key = leaf->ra | (uintptr_t)unwind->hook << STACK_CACHE_HOOK_SHIFT;
	uint64_t number = stack_cache_set(leaf->slot, key);
	struct stack_cache_state *set = &cache->states[number];
	struct stack_cache_entry *entry;
	uint32_t count;

	ASSERT(unwind->count > 0 && leaf->check_end > 0);
	if (!set_admits(set))
		return;
	count = copy_checks(unwind, cache->scratch, STACK_CACHE_CHECKS_MAX);
	if (!count)
		return;
	entry = &cache->entries[number * STACK_CACHE_WAYS + set->victim++ % STACK_CACHE_WAYS];
	entry->slot = 0;
	if (!entry_fit(cache, entry, count / STACK_CACHE_GROUP))
		return;
	fill_groups(entry->groups, cache->scratch, count);
	entry->size = (uint32_t)(count / STACK_CACHE_GROUP * sizeof(*entry->groups));
	entry->stack_id = stack_id;
	entry->counter = counter;
	stack_cache_set_sizes(entry);
	entry->mappings = unwind->mappings;
	entry->key = key;
	entry->slot = leaf->slot + (unwind->flags & UNWIND_UNCLEAN ? STACK_CACHE_UNCLEAN : 0);
	cache->any_unclean |= unwind->flags & UNWIND_UNCLEAN;
}

struct stack_cache_entry *stack_cache_find_unclean(struct stack_cache *cache, const uintptr_t *fp,
						   uint32_t hook)
{
	uintptr_t slot = (uintptr_t)(fp + 1),
		  key = fp[1] | (uintptr_t)hook << STACK_CACHE_HOOK_SHIFT;
	struct stack_cache_entry
		*entry = &cache->entries[stack_cache_set(slot, key) * STACK_CACHE_WAYS];
	uint32_t way, now = atomic_load_explicit(&unwind_mappings, memory_order_relaxed);

	for (way = 0; cache->any_unclean && way < STACK_CACHE_WAYS; way++, entry++)
		if (entry->slot == slot + STACK_CACHE_UNCLEAN && entry->key == key &&
		    entry->mappings == now && stack_cache_holds(entry)) {
			cache->states[stack_cache_set(slot, key)].misses = 0;
			return entry;
		}
	return NULL;
}
