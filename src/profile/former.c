/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * former.c - which location of an opening of a profile is which of a later one.
 */
#include "profile/former.h"

#include <stdlib.h>

/* Where it is, or the free slot for it. */
static uint32_t *slot_of(const struct former *former, const struct profile_location *location)
{
	uint64_t hash = (location->offset ^ (uint64_t)location->module << 40) *
			UINT64_C(0x9e3779b97f4a7c15);
	size_t slot = (hash >> 32) & former->mask;

	while (former->slots[slot] != 0) {
		const struct profile_location *other = &former->profile
								->locations[former->slots[slot] - 1];

		if (other->module == location->module && other->offset == location->offset)
			break;
		slot = (slot + 1) & former->mask;
	}
	return &former->slots[slot];
}

bool former_begin(struct former *former, const struct profile *profile)
{
	size_t size = 16;

	while (size < (size_t)profile->location_count * 2)
		size *= 2;
	*former = (struct former){.profile = profile, .mask = size - 1};
	former->slots = calloc(size, sizeof(*former->slots));
	if (!former->slots)
		return false;
	for (uint32_t i = 0; i < profile->location_count; i++)
		if (!profile->locations[i].special)
			*slot_of(former, &profile->locations[i]) = i + 1;
	return true;
}

void former_end(struct former *former)
{
	free(former->slots);
	former->slots = NULL;
}

bool former_find(const struct former *former, const struct profile_location *location,
		 uint32_t *index)
{
	uint32_t found = location->special ? 0 : *slot_of(former, location);

	if (found == 0)
		return false;
	*index = found - 1;
	return true;
}
