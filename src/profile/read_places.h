/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * read_places.h - texts, modules and locations, while a profile is being opened.
 */
#ifndef PMEM_PROFILE_READ_PLACES_H
#define PMEM_PROFILE_READ_PLACES_H
#include "profile/read.h"

struct read_places_slot;

struct read_places {
	struct reader *reader;
	char *text;
	uint32_t text_size;
	struct format_module *modules;
	uint32_t module_count;
	struct format_region *regions;
	uint32_t region_count;
	uint32_t *same;			/* by region: the first one that is equal */
	struct read_places_slot *table; /* of pc32s that have a location */
	uint32_t table_size;
	struct profile_location *locations;
	uint32_t location_count;
	uint32_t wrong; /* pc32s that mean nothing */
};

/* Reads texts and modules, and begins an empty table of locations.  False: no memory.  read_places_end() must
 * follow in any case. */
bool read_places(struct reader *reader, struct read_places *places);

/* The location of a pc32, made at its first use.  False: no memory. */
bool read_places_find(struct read_places *places, uint32_t pc32, uint32_t *location);

/* Hands the locations to the profile. */
void read_places_end(struct read_places *places);

#endif
