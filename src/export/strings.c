/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strings.c - gives each distinct text a number: a hash table with open addressing, at most half full.
 */
#include "export/strings.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/stack_hash.h"

void strings_free(struct strings *strings)
{
	uint32_t i;

	for (i = 0; i < strings->count; i++)
		free(strings->items[i]);
	free(strings->items);
	free(strings->slots);
	*strings = (struct strings){0};
}

/* The slot that text has, or gets. */
static uint32_t *slot_of(const struct strings *strings, const char *text)
{
	uint64_t hash = stack_hash_bytes(STACK_HASH_START, text, strlen(text));
	uint32_t at = (uint32_t)(hash ^ hash >> 32);

	for (;; at++) {
		uint32_t *slot = &strings->slots[at & (strings->slot_count - 1)];

		if (*slot == 0 || strcmp(strings->items[*slot - 1], text) == 0)
			return slot;
	}
}

static bool grow_slots(struct strings *strings)
{
	uint32_t count = strings->slot_count ? strings->slot_count * 2 : 256, i;
	uint32_t *slots = count ? calloc(count, sizeof(*slots)) : NULL;

	if (!slots)
		return false;
	free(strings->slots);
	strings->slots = slots;
	strings->slot_count = count;
	for (i = 0; i < strings->count; i++)
		*slot_of(strings, strings->items[i]) = i + 1;
	return true;
}

static bool make_room(struct strings *strings)
{
	uint32_t capacity = strings->capacity ? strings->capacity * 2 : 128;
	char **items;

	if (strings->count >= strings->slot_count / 2 && !grow_slots(strings))
		return false;
	if (strings->count < strings->capacity)
		return true;
	items = realloc(strings->items, capacity * sizeof(*items));
	if (!items)
		return false;
	strings->items = items;
	strings->capacity = capacity;
	return true;
}

uint32_t strings_add(struct strings *strings, const char *text)
{
	uint32_t *slot;
	char *copy;

	if (strings->failed || !make_room(strings)) {
		strings->failed = true;
		return 0;
	}
	slot = slot_of(strings, text);
	if (*slot)
		return *slot - 1;
	copy = strdup(text);
	if (!copy) {
		strings->failed = true;
		return 0;
	}
	strings->items[strings->count++] = copy;
	*slot = strings->count;
	return strings->count - 1;
}

uint32_t strings_add_key(struct strings *strings, uint32_t a, uint32_t b, uint32_t c)
{
	char key[40];

	snprintf(key, sizeof(key), "%" PRIx32 ",%" PRIx32 ",%" PRIx32, a, b, c);
	return strings_add(strings, key);
}
