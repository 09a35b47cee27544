/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * places.h - locations that are one place to a person: one function, or one line of it where lines are known.
 *
 * A function allocates at several return addresses; a table with a row for each would be noise.  Two locations
 * are one place if function, module, file and line are equal, or, without a function, module and offset.
 * Names are looked up only for locations that are asked for.
 *
 * A location can be asked for twice: in a hurry, when its place is a whole function, and in full, when it is the line of the function
 * that names_shown() chooses.  Where no lines are known both are the same place.
 */
#ifndef PMEM_PROFILE_PLACES_H
#define PMEM_PROFILE_PLACES_H
#include <stdbool.h>
#include <stdint.h>

#include "profile/names.h"
#include "profile/profile.h"

struct place {
	uint32_t location;	     /* the first one seen */
	const struct symbol *symbol; /* its function: names_shown(), or names_at_fast() */
	bool own;		     /* the user's code: names_is_own() */
};

struct places;

/* NULL: no memory.  profile and names must outlive it. */
struct places *places_new(const struct profile *profile, struct names *names);
void places_free(struct places *places);

/* Number of a location's place; equal places have equal numbers, below places_limit().  The fast one knows symbol tables only. */
uint32_t places_find(struct places *places, uint32_t location);
uint32_t places_find_fast(struct places *places, uint32_t location);
uint32_t places_limit(const struct places *places);

/* The place of one function at the location, an index in names_at().  Those other than names_shown() may have numbers from places_limit()
 * on: they are no sites.  Without memory it is places_find(). */
uint32_t places_find_function(struct places *places, uint32_t location, size_t index);

/* The number by which places_find() knows the place of such a function by now, else the same number. */
uint32_t places_settled(const struct places *places, uint32_t number);

const struct place *places_get(const struct places *places, uint32_t number);

/* True if two places lie in the same function of the same module. */
bool places_same_function(const struct places *places, uint32_t left, uint32_t right);

/* The module of a place; NULL for a special location. */
const struct profile_module *places_module(const struct places *places, const struct place *place);

#endif
