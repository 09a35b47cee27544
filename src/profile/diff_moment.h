/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * diff_moment.h - "FILE@TIME": a profile at a moment, as a person gives it.
 */
#ifndef PMEM_PROFILE_DIFF_MOMENT_H
#define PMEM_PROFILE_DIFF_MOMENT_H
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "profile/profile.h"

struct diff_moment {
	char *path;	  /* of the profile */
	const char *time; /* in the text given, behind the last @; NULL = there is none: the end */
};

/* Finds the profile of "NAME" or "NAME@TIME", where NAME is what find_profile() takes, nothing in front of the @ meaning
 * the newest profile in the current folder.  A file whose name contains an @ wins. */
bool diff_moment_find(const char *text, struct diff_moment *moment, struct error *err);
void diff_moment_free(struct diff_moment *moment);

/* False: what stands behind the last @ of "NAME@TIME" is no time of any profile.  Opens nothing. */
bool diff_moment_is_well_formed(const char *text);

/* True if both are of one file, which is to be opened once: two states of a running process would not be two moments of one profile. */
bool diff_moment_is_one_file(const struct diff_moment *a, const struct diff_moment *b);

/* The time since start: DIFF_END for "end" and NULL, else the moment nearest to that of when_parse() at which the timeline knows all. */
bool diff_moment_time(const struct profile *profile, const char *time, uint64_t *time_ns,
		      struct error *err);

#endif
