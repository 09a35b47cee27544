/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * when.h - moments of a profile: as text, and as a person gives them.
 */
#ifndef PMEM_PROFILE_WHEN_H
#define PMEM_PROFILE_WHEN_H
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "profile/profile.h"

enum { WHEN_SIZE = 32 };

/* CLOCK_REALTIME of a time since start. */
uint64_t when_realtime(const struct profile *profile, uint64_t time_ns);

/* "2026-11-29T10:31:02.123Z"; writes into text and returns it. */
const char *when_iso(uint64_t realtime_ns, char text[WHEN_SIZE]);

/* Time since start that a person means by "90s" or "10m" (since start), "-10m" (before the end) or "10:42:13", "10:42"
 * (local time of day, the first one after start).  False: malformed, or not in the profile's time. */
bool when_parse(const struct profile *profile, const char *text, uint64_t *time_ns,
		struct error *err);

/* True if that is not malformed; whether it is in the profile's time only when_parse() knows. */
bool when_is_time(const char *text);

#endif
