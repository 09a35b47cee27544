/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * former.h - which location of an opening of a profile is which of a later one.
 *
 * A profile that is opened again has the same places, and more, but not always in the same order.
 */
#ifndef PMEM_PROFILE_FORMER_H
#define PMEM_PROFILE_FORMER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"

struct former {
	const struct profile *profile;
	uint32_t *slots; /* open addressing: index + 1; 0 = free */
	size_t mask;
};

/* False: no memory.  profile, the one opened before, must outlive it. */
bool former_begin(struct former *former, const struct profile *profile);
void former_end(struct former *former);

/* The index of the location of the same module and offset.  False: there was none.  Special locations are not found. */
bool former_find(const struct former *former, const struct profile_location *location,
		 uint32_t *index);

#endif
