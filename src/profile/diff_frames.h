/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * diff_frames.h - numbers for the names of frames, equal for equal names in two profiles.
 *
 * A name is the function and the last part of its module's path: neither addresses nor lines, which change from run to
 * run and from build to build.  The program's own module is one name whatever its file is called, so that server-1.2 and
 * server-1.3 compare.  What compilers append to a variant of a function (".constprop.0", ".part.1") is cut off.
 * A frame without a function is module and offset if both profiles have that very file (build-id),
 * else the module alone.
 */
#ifndef PMEM_PROFILE_DIFF_FRAMES_H
#define PMEM_PROFILE_DIFF_FRAMES_H
#include <stdbool.h>
#include <stdint.h>

#include "profile/profile.h"
#include "symbol/symbols.h"

struct diff_frames;

/* A function at a location of one of the profiles. */
struct diff_frames_place {
	unsigned side; /* 0 or 1 */
	uint32_t location;
	const struct symbol *symbol;
};

/* The two may be one.  NULL: no memory.  They must outlive it. */
struct diff_frames *diff_frames_new(const struct profile *a, const struct profile *b);
void diff_frames_free(struct diff_frames *frames);

/* The number, from 1 on, of a place's name; 0: no memory. */
uint32_t diff_frames_find(struct diff_frames *frames, const struct diff_frames_place *place);

/* How many numbers there are. */
uint32_t diff_frames_count(const struct diff_frames *frames);

/* True if both profiles have the very file that the location is in: functions are inlined there in the same places. */
bool diff_frames_is_shared(const struct diff_frames *frames, unsigned side, uint32_t location);

/* True if the code is a part that a compiler split off the function that calls it, and has its name. */
bool diff_frames_is_part(const struct symbol *symbol);

#endif
