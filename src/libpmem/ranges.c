/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ranges.c - the interval map of ranges.h.
 */
#include "libpmem/ranges.h"

#include <assert.h>
#include <string.h>

#include "libpmem/sys.h"

enum {
	PAGE = 4096,
	LEAVES_AT_ONCE = 16, /* mapped together */
	ROOM_START = PAGE / sizeof(struct ranges_leaf *),
};

static_assert(sizeof(struct ranges_leaf) <= PAGE && sizeof(struct range) == 32, "a page");

/* Item number item of leaf number leaf; leaf == leaf_count: the end. */
struct place {
	uint32_t leaf;
	uint32_t item;
};

static void add_count(struct ranges *ranges, int32_t change)
{
	uint32_t count = atomic_load_explicit(&ranges->count, memory_order_relaxed);

	atomic_store_explicit(&ranges->count, count + (uint32_t)change, memory_order_relaxed);
}

static void add_size(struct ranges *ranges, size_t more)
{
	size_t size = atomic_load_explicit(&ranges->size, memory_order_relaxed);

	atomic_store_explicit(&ranges->size, size + more, memory_order_relaxed);
}

/* --- memory ---------------------------------------------------------------------------------- */

static struct ranges_leaf *take_leaf(struct ranges *ranges)
{
	struct ranges_leaf *leaf = ranges->free_leaves;
	char *pages;

	if (!leaf) {
		pages = sys_map(LEAVES_AT_ONCE * PAGE);
		if (!pages)
			return NULL;
		add_size(ranges, LEAVES_AT_ONCE * PAGE);
		for (int i = LEAVES_AT_ONCE - 1; i >= 0; i--) {
			leaf = (struct ranges_leaf *)(void *)(pages + i * PAGE);
			leaf->next_free = ranges->free_leaves;
			ranges->free_leaves = leaf;
		}
	}
	ranges->free_leaves = leaf->next_free;
	leaf->count = 0;
	return leaf;
}

static void give_leaf(struct ranges *ranges, struct ranges_leaf *leaf)
{
	leaf->next_free = ranges->free_leaves;
	ranges->free_leaves = leaf;
}

/* Room for one more in the list of leaves. */
static bool make_room(struct ranges *ranges)
{
	uint32_t room = ranges->leaf_room ? ranges->leaf_room * 2 : ROOM_START;
	const size_t size = sizeof(*ranges->leaves);
	struct ranges_leaf **leaves;

	if (ranges->leaf_count < ranges->leaf_room)
		return true;
	leaves = sys_map(room * size);
	if (!leaves)
		return false;
	if (ranges->leaves) {
		memcpy(leaves, ranges->leaves, ranges->leaf_count * size);
		sys_unmap(ranges->leaves, ranges->leaf_room * size);
	}
	add_size(ranges, (room - ranges->leaf_room) * size);
	ranges->leaves = leaves;
	ranges->leaf_room = room;
	return true;
}

/* Puts an empty leaf into the list.  NULL: no memory. */
static struct ranges_leaf *add_leaf(struct ranges *ranges, uint32_t at)
{
	struct ranges_leaf *leaf = make_room(ranges) ? take_leaf(ranges) : NULL;

	if (!leaf)
		return NULL;
	memmove(&ranges->leaves[at + 1], &ranges->leaves[at],
		(ranges->leaf_count - at) * sizeof(*ranges->leaves));
	ranges->leaves[at] = leaf;
	ranges->leaf_count++;
	return leaf;
}

static void drop_leaf(struct ranges *ranges, uint32_t at)
{
	give_leaf(ranges, ranges->leaves[at]);
	ranges->leaf_count--;
	memmove(&ranges->leaves[at], &ranges->leaves[at + 1],
		(ranges->leaf_count - at) * sizeof(*ranges->leaves));
}

/* --- places ---------------------------------------------------------------------------------- */

/* The last leaf that begins at addr or before, or the first one. */
static uint32_t leaf_of(const struct ranges *ranges, uint64_t addr)
{
	uint32_t low = 0, high = ranges->leaf_count, middle;

	while (high - low > 1) {
		middle = low + (high - low) / 2;
		if (ranges->leaves[middle]->items[0].start <= addr)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* Behind the last item of a leaf the first one of the next is meant. */
static void settle(const struct ranges *ranges, struct place *place)
{
	if (place->leaf < ranges->leaf_count && place->item == ranges->leaves[place->leaf]->count)
		*place = (struct place){place->leaf + 1, 0};
}

/* The first range that ends after addr. */
static struct place find(const struct ranges *ranges, uint64_t addr)
{
	struct place place = {.leaf = leaf_of(ranges, addr)};
	const struct ranges_leaf *leaf;
	uint32_t high, middle;

	if (place.leaf == ranges->leaf_count)
		return place;
	leaf = ranges->leaves[place.leaf];
	high = leaf->count;
	while (place.item < high) {
		middle = place.item + (high - place.item) / 2;
		if (leaf->items[middle].end > addr)
			high = middle;
		else
			place.item = middle + 1;
	}
	settle(ranges, &place);
	return place;
}

/* NULL at the end. */
static struct range *range_at(const struct ranges *ranges, struct place place)
{
	return place.leaf < ranges->leaf_count ? &ranges->leaves[place.leaf]->items[place.item]
					       : NULL;
}

/* --- changes --------------------------------------------------------------------------------- */

/* The upper half of a full leaf goes into a new one; place keeps its meaning. */
static bool split(struct ranges *ranges, struct place *place)
{
	struct ranges_leaf *upper = add_leaf(ranges, place->leaf + 1), *lower;
	const uint32_t half = RANGES_LEAF / 2;

	if (!upper)
		return false;
	lower = ranges->leaves[place->leaf];
	upper->count = lower->count - half;
	memcpy(upper->items, &lower->items[half], upper->count * sizeof(*upper->items));
	lower->count = half;
	if (place->item > half)
		*place = (struct place){place->leaf + 1, place->item - half};
	return true;
}

/* Puts *range before the one at place. */
static bool insert(struct ranges *ranges, struct place place, const struct range *range)
{
	struct ranges_leaf *leaf;

	if (atomic_load_explicit(&ranges->count, memory_order_relaxed) >= RANGES_MAX)
		return false;
	if (place.item == 0 && place.leaf > 0) {
		place.leaf--;
		place.item = ranges->leaves[place.leaf]->count;
	}
	if (ranges->leaf_count == 0 && !add_leaf(ranges, 0))
		return false;
	if (ranges->leaves[place.leaf]->count == RANGES_LEAF && !split(ranges, &place))
		return false;
	leaf = ranges->leaves[place.leaf];
	memmove(&leaf->items[place.item + 1], &leaf->items[place.item],
		(leaf->count - place.item) * sizeof(*leaf->items));
	leaf->items[place.item] = *range;
	leaf->count++;
	add_count(ranges, 1);
	return true;
}

/* Takes out the range at place, which then is that of the next one. */
static void take_out(struct ranges *ranges, struct place *place)
{
	struct ranges_leaf *leaf = ranges->leaves[place->leaf];

	leaf->count--;
	memmove(&leaf->items[place->item], &leaf->items[place->item + 1],
		(leaf->count - place->item) * sizeof(*leaf->items));
	add_count(ranges, -1);
	if (leaf->count == 0)
		drop_leaf(ranges, place->leaf);
	else
		settle(ranges, place);
}

/* Two neighbours that are not half full together become one. */
static void join(struct ranges *ranges, uint32_t at)
{
	struct ranges_leaf *leaf, *next;

	if (at + 1 >= ranges->leaf_count)
		return;
	leaf = ranges->leaves[at];
	next = ranges->leaves[at + 1];
	if (leaf->count + next->count > RANGES_LEAF / 2)
		return;
	memcpy(&leaf->items[leaf->count], next->items, next->count * sizeof(*next->items));
	leaf->count += next->count;
	drop_leaf(ranges, at + 1);
}

bool ranges_put(struct ranges *ranges, const struct range *range)
{
	return insert(ranges, find(ranges, range->start), range);
}

/* Cuts the range at place, which begins before the cut's end, and goes on to the next.  False: what should have stayed behind the
 * cut found no room. */
static bool cut_at(struct ranges *ranges, struct place *place, const struct ranges_cut *cut)
{
	struct range *range = range_at(ranges, *place), part = *range, rest = *range;
	bool kept = true;

	part.start = range->start > cut->start ? range->start : cut->start;
	part.end = range->end < cut->end ? range->end : cut->end;
	rest.start = part.end;
	if (range->start < part.start) {
		range->end = part.start;
		place->item++;
		settle(ranges, place);
		kept = rest.start == rest.end || insert(ranges, *place, &rest);
		if (!kept)
			part.end = rest.end;
	} else if (rest.start < rest.end) {
		*range = rest;
	} else {
		take_out(ranges, place);
	}
	cut->taken(cut->context, &part);
	return kept;
}

bool ranges_cut(struct ranges *ranges, const struct ranges_cut *cut)
{
	struct place place = find(ranges, cut->start);
	const struct range *range;
	bool kept = true;

	while ((range = range_at(ranges, place)) != NULL && range->start < cut->end) {
		if (range->birth <= cut->latest) {
			/* After a range that goes on behind the cut nothing is left of it. */
			bool last = range->end >= cut->end;

			kept = cut_at(ranges, &place, cut);
			if (last)
				break;
		} else {
			place.item++;
			settle(ranges, &place);
		}
	}
	join(ranges, place.leaf);
	if (place.leaf > 0)
		join(ranges, place.leaf - 1);
	return kept;
}

bool ranges_next(const struct ranges *ranges, uint64_t addr, struct range *range)
{
	const struct range *found = range_at(ranges, find(ranges, addr));

	if (!found)
		return false;
	*range = *found;
	return true;
}
