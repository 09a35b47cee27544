/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stack_cache.c - fills the cache of whole call stacks, see stack_cache.h.
 *
 * Checks live in rooms of a power of two, taken from an arena that only grows: at most
 * sets * WAYS rooms of a class are ever made.
 *
 * A signal handler may leave an event by siglongjmp(), and thread.c then goes on with this cache: what stands between two
 * in_order() may be the last that was written.  So at each of them a room belongs to nobody or to one, never to two, and
 * what is lost is memory.  What sets count are hints: any number will do.
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
	HITS_MIN = STACK_CACHE_MISSES / 2, /* for so many misses, or the set rests */
	REST = 64,			   /* misses, doubled for each rest that did not help, */
	RESTS_MAX = 6,			   /* so often */
	GROW_FACTOR = 4,
	GROW_SHARE = 4, /* one in so many is a reason to grow */
	SCRATCH_SIZE = STACK_CACHE_CHECKS_MAX / STACK_CHECK_GROUP * sizeof(struct stack_check_group),
	RECENT_SIZE = STACK_CACHE_RECENT * sizeof(uint32_t),
};

static size_t sets_size(uint64_t sets)
{
	return sets * STACK_CACHE_WAYS * sizeof(struct stack_cache_entry);
}

/* What is written before is written before what is written after, for a handler on this thread. */
static inline void in_order(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* Empty sets.  False: no memory, nothing was changed. */
static bool make_sets(struct stack_cache *cache, uint64_t sets)
{
	struct stack_cache_entry *entries = sys_map(sets_size(sets));

	if (!entries) {
		loss_add(FORMAT_LOSS_MEMORY, 1);
		return false;
	}
	/* There are never fewer of them than the mask says. */
	cache->entries = entries;
	in_order();
	cache->mask = sets - 1;
	return true;
}

bool stack_cache_init(struct stack_cache *cache)
{
	memset(cache, 0, sizeof(*cache));
	cache->scratch = sys_map(SCRATCH_SIZE + RECENT_SIZE);
	if (!cache->scratch) {
		loss_add(FORMAT_LOSS_MEMORY, 1);
		return false;
	}
	cache->recent = (void *)((char *)cache->scratch + SCRATCH_SIZE);
	if (make_sets(cache, STACK_CACHE_SETS))
		return true;
	sys_unmap(cache->scratch, SCRATCH_SIZE + RECENT_SIZE);
	return false;
}

void stack_cache_flush(struct stack_cache *cache)
{
	uint64_t i;

	for (i = 0; i < (cache->mask + 1) * STACK_CACHE_WAYS; i++)
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
static struct stack_check_group *room_next(const struct stack_check_group *room)
{
	return (struct stack_check_group *)room->words[0];
}

static bool new_arena(struct stack_cache *cache)
{
	struct stack_check_group *arena = sys_map(ARENA_GROUPS * sizeof(*arena));

	cache->arena_left = 0;
	in_order();
	if (!arena) {
		loss_add(FORMAT_LOSS_MEMORY, 1);
		return false;
	}
	cache->arena = arena + ARENA_SKIP;
	in_order();
	cache->arena_left = ARENA_GROUPS - ARENA_SKIP;
	return true;
}

static struct stack_check_group *room_make(struct stack_cache *cache, uint16_t room_class)
{
	struct stack_check_group *room = cache->free[room_class];
	uint32_t size = (uint32_t)ROOM_MIN << room_class;

	if (room) {
		cache->free[room_class] = room_next(room);
		in_order();
		return room;
	}
	if (cache->arena_left < size && !new_arena(cache))
		return NULL;
	room = cache->arena;
	cache->arena_left -= size;
	in_order();
	cache->arena = room + size;
	in_order();
	return room;
}

/* The entry's, if it has one. */
static void room_free(struct stack_cache *cache, struct stack_cache_entry *entry)
{
	struct stack_check_group *room = entry->groups;

	entry->groups = NULL;
	in_order();
	if (!room)
		return;
	room->words[0] = (uintptr_t)cache->free[entry->room_class];
	in_order();
	cache->free[entry->room_class] = room;
}

/* More sets, empty ones; if there is no memory for them, the old ones stay. */
static void grow(struct stack_cache *cache)
{
	struct stack_cache_entry *old = cache->entries;
	uint64_t i, sets = cache->mask + 1;

	if (!make_sets(cache, sets * GROW_FACTOR))
		return;
	for (i = 0; i < sets * STACK_CACHE_WAYS; i++)
		room_free(cache, &old[i]);
	sys_unmap(old, sets_size(sets));
}

void stack_cache_missed_many(struct stack_cache *cache)
{
	if (cache->missed_again * GROW_SHARE >= cache->missed &&
	    cache->mask + 1 < STACK_CACHE_SETS_MAX)
		grow(cache);
	cache->missed = cache->missed_again = 0;
}

/* Gives the entry room for count groups. */
static bool entry_fit(struct stack_cache *cache, struct stack_cache_entry *entry, uint32_t count)
{
	uint16_t room_class = class_of(count);

	if (entry->groups && entry->room_class == room_class)
		return true;
	room_free(cache, entry);
	in_order();
	entry->room_class = room_class;
	in_order();
	entry->groups = room_make(cache, room_class);
	return entry->groups != NULL;
}

void stack_cache_judge(struct stack_cache_entry *set)
{
	uint32_t hits = 0, way;

	for (way = 0; way < STACK_CACHE_WAYS; way++) {
		hits += set[way].hits;
		set[way].hits = 0;
	}
	set->misses = 0;
	if (hits >= HITS_MIN) {
		set->rests = 0;
		return;
	}
	set->rest = (uint16_t)(REST << set->rests);
	set->rests += set->rests < RESTS_MAX;
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
	entry->size_min = size_class ? ((uint32_t)1 << (size_class + FORMAT_SIZE_SHIFT - 1)) + 1 : 0;
	entry->size_span = ((uint32_t)1 << (size_class + FORMAT_SIZE_SHIFT)) + 1 - entry->size_min;
}

/* Checks on their way into an entry, from the inside out. */
struct copy {
	struct stack_check_group *to;
	uint32_t count;
	uintptr_t page; /* of the latest: readable while all before it hold */
};

/* Fills the last group up. */
static void pad(struct copy *copy)
{
	uint32_t last = copy->count - 1;

	for (; copy->count % STACK_CHECK_GROUP; copy->count++)
		stack_check_set(copy->to, copy->count, stack_check_addr(copy->to, last),
				stack_check_value(copy->to, last));
}

/* A check that enters a page begins a group. */
static void add(struct copy *copy, uintptr_t addr, uintptr_t value)
{
	if (stack_check_page_of(addr) != copy->page) {
		pad(copy);
		copy->page = stack_check_page_of(addr);
	}
	stack_check_set(copy->to, copy->count++, addr, value);
}

/* A whole group, which lies in the page of the latest check, behind checks that do not fill theirs. */
static inline void add_across(struct copy *copy, const struct stack_check_group *from)
{
	uint32_t i, filled = copy->count % STACK_CHECK_GROUP;
	uintptr_t *to = &copy->to[copy->count / STACK_CHECK_GROUP].words[filled];

	for (i = 0; i < STACK_CHECK_GROUP; i++, to++) {
		if (i == STACK_CHECK_GROUP - filled)
			to += STACK_CHECK_GROUP;
		to[0] = from->words[i];
		to[STACK_CHECK_GROUP] = from->words[STACK_CHECK_GROUP + i];
	}
}

/* One of unwind's groups: at once if it lies where the latest check does; within a group the order is all the same. */
static void add_group(struct copy *copy, const struct unwind *unwind, uint32_t group)
{
	const struct stack_check_group *from = &unwind->checks[group];
	uint32_t i, start = group * STACK_CHECK_GROUP;

	if (stack_check_page(from) != copy->page) {
		for (i = start + STACK_CHECK_GROUP; i-- > start;)
			add(copy, stack_check_addr(unwind->checks, i),
			    stack_check_value(unwind->checks, i));
		return;
	}
	if (copy->count % STACK_CHECK_GROUP == 0)
		copy->to[copy->count / STACK_CHECK_GROUP] = *from;
	else
		add_across(copy, from);
	copy->count += STACK_CHECK_GROUP;
}

/* Copies the checks of the last call stack into scratch, in whole groups: all but the leaf's own return address, which
 * is the key, if there are others.  Returns how many were written; 0: they do not fit. */
static uint32_t copy_checks(const struct stack_cache *cache, const struct unwind *unwind)
{
	const struct unwind_frame *leaf = &unwind->frames[unwind->count - 1];
	struct copy copy = {.to = cache->scratch, .page = stack_check_page_of(leaf->slot)};
	uint32_t i = leaf->check_end > 1 ? leaf->check_end - 1 : 1;

	while (i % STACK_CHECK_GROUP) {
		i--;
		add(&copy, stack_check_addr(unwind->checks, i),
		    stack_check_value(unwind->checks, i));
	}
	pad(&copy);
	for (i /= STACK_CHECK_GROUP; i > 0; i--) {
		/* A group may grow by one for each of its checks. */
		if (copy.count > STACK_CACHE_CHECKS_MAX - 6 * STACK_CHECK_GROUP)
			return 0;
		add_group(&copy, unwind, i - 1);
	}
	pad(&copy);
	return copy.count;
}

/* Word by word: memcpy() reads more at once than was written at once, and has to wait for that. */
static void copy_groups(struct stack_check_group *to, const struct stack_check_group *from,
			uint32_t count)
{
	for (; count > 0; count--) {
		*to++ = *from++;
		__asm__ volatile("" : : : "memory"); /* no loop that gcc takes for memcpy() */
	}
}

/* The newest entry is the first that is looked at: what was there takes the place of another one, whose room it gets for that. */
static void make_way(struct stack_cache_entry *set)
{
	struct stack_cache_entry *victim = set + 1 + set->victim;
	struct stack_cache_entry moved = *set;
	struct stack_check_group *room = victim->groups, *groups = set->groups;
	uint16_t room_class = victim->room_class;
	uintptr_t slot = set->slot;

	set->victim = (uint8_t)((set->victim + 1) % (STACK_CACHE_WAYS - 1));
	victim->slot = set->slot = 0;
	victim->groups = set->groups = NULL;
	in_order();
	moved.slot = 0;
	moved.groups = NULL;
	moved.hits = victim->hits; /* of the place, not of what it holds: they are added up */
	*victim = moved;
	set->room_class = room_class;
	in_order();
	set->groups = room;
	victim->groups = groups;
	in_order();
	victim->slot = slot;
}

__attribute__((noinline)) void stack_cache_put(struct stack_cache *cache,
					       const struct unwind *unwind, uint32_t stack_id,
					       struct format_counter *counter)
{
	const struct unwind_frame *leaf = &unwind->frames[unwind->count - 1];
	uintptr_t key = leaf->ra | (uintptr_t)unwind->hook << STACK_CACHE_HOOK_SHIFT;
	struct stack_cache_entry *entry;
	uint32_t count;

	ASSERT(unwind->count > 0 && leaf->check_end > 0);
	count = copy_checks(cache, unwind) / STACK_CHECK_GROUP;
	if (!count)
		return;
	entry = stack_cache_set(cache, leaf->slot, key);
	make_way(entry);
	if (!entry_fit(cache, entry, count))
		return;
	copy_groups(entry->groups, cache->scratch, count);
	entry->size = count * (uint32_t)sizeof(*entry->groups);
	entry->stack_id = stack_id;
	entry->counter = counter;
	stack_cache_set_sizes(entry);
	entry->mappings = unwind->mappings;
	entry->key = key;
	in_order();
	entry->slot = leaf->slot + (unwind->flags & UNWIND_UNCLEAN ? STACK_CACHE_UNCLEAN : 0);
	cache->any_unclean |= unwind->flags & UNWIND_UNCLEAN;
}

struct stack_cache_entry *stack_cache_find_unclean(struct stack_cache *cache, const uintptr_t *fp,
						   uint32_t hook)
{
	uintptr_t slot = (uintptr_t)(fp + 1),
		  key = fp[1] | (uintptr_t)hook << STACK_CACHE_HOOK_SHIFT;
	struct stack_cache_entry *entry = stack_cache_set(cache, slot, key);
	uint32_t way, now = atomic_load_explicit(&unwind_mappings, memory_order_relaxed);

	for (way = 0; cache->any_unclean && way < STACK_CACHE_WAYS; way++, entry++)
		if (entry->slot == slot + STACK_CACHE_UNCLEAN && entry->key == key &&
		    entry->mappings == now && stack_cache_holds(entry)) {
			entry->hits++;
			return entry;
		}
	return NULL;
}
