/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arena.c - see arena.h.
 */
#include "symbol/arena.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK_SIZE = 64 * 1024, ALIGN = 16, SLOTS_MIN = 256 };

struct arena_chunk {
	struct arena_chunk *next;
	size_t used;
	size_t size;
	_Alignas(ALIGN) char bytes[];
};

void arena_free(struct arena *arena)
{
	while (arena->chunks) {
		struct arena_chunk *chunk = arena->chunks;

		arena->chunks = chunk->next;
		free(chunk);
	}
	free(arena->slots);
	*arena = (struct arena){0};
}

void *arena_allocate(struct arena *arena, size_t size)
{
	struct arena_chunk *chunk = arena->chunks;
	size_t want = (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);

	if (!chunk || want > chunk->size - chunk->used) {
		size_t room = want > CHUNK_SIZE ? want : CHUNK_SIZE;

		chunk = malloc(sizeof(*chunk) + room);
		if (!chunk)
			return NULL;
		*chunk = (struct arena_chunk){.next = arena->chunks, .size = room};
		arena->chunks = chunk;
		arena->bytes += sizeof(*chunk) + room;
	}
	chunk->used += want;
	return chunk->bytes + chunk->used - want;
}

const char *arena_keep(struct arena *arena, const char *text, size_t length)
{
	char *copy = arena_allocate(arena, length + 1);

	if (copy) {
		memcpy(copy, text, length);
		copy[length] = 0;
	}
	return copy;
}

static uint64_t hash_of(const char *text)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (; *text; text++)
		hash = (hash ^ (uint8_t)*text) * UINT64_C(0x100000001b3);
	return hash ^ hash >> 32;
}

/* Makes room for one more.  False: no memory, and no slots yet. */
static bool make_room(struct arena *arena)
{
	size_t count = arena->slot_count ? arena->slot_count * 2 : SLOTS_MIN;
	struct arena_text **slots;

	if (arena->text_count < arena->slot_count)
		return true;
	slots = calloc(count, sizeof(struct arena_text *));
	if (!slots)
		return arena->slot_count > 0;
	for (size_t i = 0; i < arena->slot_count; i++) {
		while (arena->slots[i]) {
			struct arena_text *text = arena->slots[i];

			arena->slots[i] = text->next;
			text->next = slots[text->hash & (count - 1)];
			slots[text->hash & (count - 1)] = text;
		}
	}
	free(arena->slots);
	arena->bytes += (count - arena->slot_count) * sizeof(*slots);
	arena->slots = slots;
	arena->slot_count = count;
	return true;
}

struct arena_text *arena_intern(struct arena *arena, const char *text)
{
	uint64_t hash = hash_of(text);
	size_t size = strlen(text) + 1;
	struct arena_text *found;

	if (!make_room(arena))
		return NULL;
	found = arena->slots[hash & (arena->slot_count - 1)];
	while (found && (found->hash != hash || strcmp(found->text, text) != 0))
		found = found->next;
	if (found)
		return found;
	found = arena_allocate(arena, sizeof(*found) + size);
	if (!found)
		return NULL;
	*found = (struct arena_text){.next = arena->slots[hash & (arena->slot_count - 1)],
				     .hash = hash};
	memcpy(found->text, text, size);
	arena->slots[hash & (arena->slot_count - 1)] = found;
	arena->text_count++;
	return found;
}
