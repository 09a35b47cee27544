/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * places.c - locations that are one place to a person.
 *
 * There are at most two places for each location, so all memory is taken at once and no question can fail.  Inlined functions are
 * asked for by few views: theirs come behind these, in a table that grows.
 */
#include "profile/places.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

/* Places with the numbers from places_limit() on. */
struct more {
	struct place *items;
	uint32_t count;
	uint32_t capacity;
	uint32_t *slots; /* twice as many as items have room, a power of two */
};

struct places {
	const struct profile *profile;
	struct names *names;
	uint32_t *of_location; /* NONE: not asked for yet */
	uint32_t *fast_of_location;
	struct place *items;
	uint32_t count;
	uint32_t *slots; /* open addressing; NONE = free */
	size_t slot_mask;
	struct more more;
};

static size_t slots_for(size_t count)
{
	size_t size = 16;

	while (size < count * 2)
		size *= 2;
	return size;
}

struct places *places_new(const struct profile *profile, struct names *names)
{
	struct places *places = calloc(1, sizeof(*places));
	size_t count = profile->location_count ? profile->location_count : 1;
	size_t slots = slots_for(2 * count);

	if (!places)
		return NULL;
	places->profile = profile;
	places->names = names;
	places->of_location = malloc(count * sizeof(*places->of_location));
	places->fast_of_location = malloc(count * sizeof(*places->fast_of_location));
	places->items = calloc(2 * count, sizeof(*places->items));
	places->slots = malloc(slots * sizeof(*places->slots));
	places->slot_mask = slots - 1;
	if (!places->of_location || !places->fast_of_location || !places->items || !places->slots) {
		places_free(places);
		return NULL;
	}
	memset(places->of_location, 0xff, count * sizeof(*places->of_location));
	memset(places->fast_of_location, 0xff, count * sizeof(*places->fast_of_location));
	memset(places->slots, 0xff, slots * sizeof(*places->slots));
	return places;
}

void places_free(struct places *places)
{
	if (!places)
		return;
	free(places->of_location);
	free(places->fast_of_location);
	free(places->items);
	free(places->slots);
	free(places->more.items);
	free(places->more.slots);
	free(places);
}

const struct profile_module *places_module(const struct places *places, const struct place *place)
{
	const struct profile_location *location = &places->profile->locations[place->location];

	return location->special ? NULL : &places->profile->modules[location->module];
}

static const char *module_path(const struct places *places, const struct place *place)
{
	const struct profile_module *module = places_module(places, place);

	return module ? module->path : "";
}

static bool same_text(const char *left, const char *right)
{
	return left == right || (left && right && strcmp(left, right) == 0);
}

static bool same_function(const struct places *places, const struct place *left,
			  const struct place *right)
{
	if (!left->symbol->function || !right->symbol->function)
		return left == right;
	return same_text(left->symbol->function, right->symbol->function) &&
	       same_text(module_path(places, left), module_path(places, right));
}

static bool same_place(const struct places *places, const struct place *left,
		       const struct place *right)
{
	const struct profile_location *locations = places->profile->locations;

	if (!left->symbol->function && !right->symbol->function)
		return locations[left->location].offset == locations[right->location].offset &&
		       same_text(module_path(places, left), module_path(places, right));
	return same_function(places, left, right) && left->symbol->line == right->symbol->line &&
	       same_text(left->symbol->file, right->symbol->file);
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
	for (; text && *text; text++)
		hash = (hash ^ (uint8_t)*text) * UINT64_C(0x100000001b3);
	return hash * UINT64_C(0x9e3779b97f4a7c15);
}

static uint64_t hash_place(const struct places *places, const struct place *place)
{
	uint64_t hash = hash_text(UINT64_C(0xcbf29ce484222325), place->symbol->function);

	hash = hash_text(hash, module_path(places, place));
	if (!place->symbol->function)
		hash ^= places->profile->locations[place->location].offset;
	hash = (hash ^ place->symbol->line) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 32;
}

/* The slot of a place that places_find() knows, or a free one for it. */
static uint32_t *slot_of(const struct places *places, const struct place *place)
{
	size_t slot = hash_place(places, place) & places->slot_mask;

	while (places->slots[slot] != NONE &&
	       !same_place(places, &places->items[places->slots[slot]], place))
		slot = (slot + 1) & places->slot_mask;
	return &places->slots[slot];
}

/* The number of the place that the item behind the last one describes, which becomes a place if it is new. */
static uint32_t number_of(struct places *places)
{
	uint32_t *slot = slot_of(places, &places->items[places->count]);

	if (*slot == NONE)
		*slot = places->count++;
	return *slot;
}

uint32_t places_find(struct places *places, uint32_t location)
{
	struct place *place = &places->items[places->count];
	const struct symbol *found;

	if (places->of_location[location] != NONE)
		return places->of_location[location];
	place->location = location;
	names_at(places->names, location, &found);
	place->symbol = &found[names_shown(places->names, location)];
	place->own = names_is_own(places->names, location);
	return places->of_location[location] = number_of(places);
}

uint32_t places_find_fast(struct places *places, uint32_t location)
{
	struct place *place = &places->items[places->count];

	if (places->fast_of_location[location] != NONE)
		return places->fast_of_location[location];
	place->location = location;
	place->symbol = names_at_fast(places->names, location);
	place->own = names_is_own_fast(places->names, location);
	return places->fast_of_location[location] = number_of(places);
}

uint32_t places_limit(const struct places *places)
{
	return 2 * (places->profile->location_count ? places->profile->location_count : 1);
}

static void put_slot(struct places *places, uint32_t number)
{
	struct more *more = &places->more;
	size_t mask = 2 * (size_t)more->capacity - 1;
	size_t slot = hash_place(places, &more->items[number]) & mask;

	while (more->slots[slot] != NONE)
		slot = (slot + 1) & mask;
	more->slots[slot] = number;
}

static bool grow(struct places *places)
{
	struct more *more = &places->more;
	uint32_t capacity = more->capacity ? more->capacity * 2 : 64, i;
	struct place *items;
	uint32_t *slots;

	if (capacity > NONE / 4)
		return false;
	items = realloc(more->items, capacity * sizeof(*items));
	if (items)
		more->items = items;
	slots = malloc(2 * capacity * sizeof(*slots));
	if (!items || !slots) {
		free(slots);
		return false;
	}
	memset(slots, 0xff, 2 * capacity * sizeof(*slots));
	free(more->slots);
	more->slots = slots;
	more->capacity = capacity;
	for (i = 0; i < more->count; i++)
		put_slot(places, i);
	return true;
}

/* The index in more.items; NONE: it is not there. */
static uint32_t find_more(const struct places *places, const struct place *place)
{
	const struct more *more = &places->more;
	size_t mask = 2 * (size_t)more->capacity - 1;
	size_t slot = hash_place(places, place) & mask;

	if (!more->capacity)
		return NONE;
	while (more->slots[slot] != NONE &&
	       !same_place(places, &more->items[more->slots[slot]], place))
		slot = (slot + 1) & mask;
	return more->slots[slot];
}

uint32_t places_find_function(struct places *places, uint32_t location, size_t index)
{
	struct more *more = &places->more;
	const struct symbol *found;
	struct place place = {.location = location};
	uint32_t number;

	if (index >= names_at(places->names, location, &found) ||
	    index == names_shown(places->names, location))
		return places_find(places, location);
	place.symbol = &found[index];
	place.own = names_is_own_function(places->names, location, index);
	number = *slot_of(places, &place);
	if (number != NONE)
		return number;
	number = find_more(places, &place);
	if (number == NONE) {
		if (more->count == more->capacity && !grow(places))
			return places_find(places, location);
		number = more->count++;
		more->items[number] = place;
		put_slot(places, number);
	}
	return places_limit(places) + number;
}

const struct place *places_get(const struct places *places, uint32_t number)
{
	uint32_t limit = places_limit(places);

	return number < limit ? &places->items[number] : &places->more.items[number - limit];
}

uint32_t places_settled(const struct places *places, uint32_t number)
{
	uint32_t usual = number < places_limit(places)
				 ? NONE
				 : *slot_of(places, places_get(places, number));

	return usual == NONE ? number : usual;
}

bool places_same_function(const struct places *places, uint32_t left, uint32_t right)
{
	return left == right ||
	       same_function(places, places_get(places, left), places_get(places, right));
}
