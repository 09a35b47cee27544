/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bundle_before.h - the names in a bundle that a new one of the same process is about to replace.
 *
 * Files that were there when it was made may be gone by now: what it knows and the new one does not must not be lost.
 */
#ifndef PMEM_PROFILE_BUNDLE_BEFORE_H
#define PMEM_PROFILE_BUNDLE_BEFORE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/given_names.h"
#include "profile/profile.h"

struct bundle_before;

/* The bundle at path, if there is one, it can be read and it is of profile's process; else NULL, as without memory.  profile must
 * outlive it. */
struct bundle_before *bundle_before_open(const char *path, const struct profile *profile);
void bundle_before_close(struct bundle_before *before);

/* What it says of a location of profile; NULL: it has no function's name there.  Lives as long as before. */
const struct given_frames *bundle_before_at(const struct bundle_before *before, uint32_t location);

/* True if it has names for this module of profile. */
bool bundle_before_has_module(const struct bundle_before *before, uint32_t module);

#endif
