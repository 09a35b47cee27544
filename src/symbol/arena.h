/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arena.h - memory that is freed as a whole, and texts of which one copy is kept.
 *
 * Names and paths of source files repeat for every frame.
 */
#ifndef PMEM_SYMBOL_ARENA_H
#define PMEM_SYMBOL_ARENA_H
#include <stddef.h>
#include <stdint.h>

/* The one copy of a text. */
struct arena_text {
	struct arena_text *next; /* with the same hash */
	const char *value;	 /* for the arena's user; NULL at first */
	uint64_t hash;
	char text[];
};

struct arena {
	struct arena_chunk *chunks;
	struct arena_text **slots;
	size_t slot_count; /* a power of 2; 0 = none yet */
	size_t text_count;
	size_t bytes; /* of all of it */
};

/* An arena whose bytes are all 0 is empty. */
void arena_free(struct arena *arena);

/* Aligned for any type; NULL: no memory. */
void *arena_allocate(struct arena *arena, size_t size);

/* A copy of length bytes and a NUL; NULL: no memory. */
const char *arena_keep(struct arena *arena, const char *text, size_t length);

/* The copy of this text, made at the first question; NULL: no memory. */
struct arena_text *arena_intern(struct arena *arena, const char *text);

#endif
