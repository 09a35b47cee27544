/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pinned.h - which call stacks' live blocks pin how many free bytes (core/pins.h): as recorded at the end, or measured now.
 *
 * The sum over all call stacks, inherited and others is the line FORMAT_RSS_FRAGMENTS of the resident set: free bytes in pages with at
 * least one live block.  Pages without one are FORMAT_RSS_KEPT, and nobody pins them.
 */
#ifndef PMEM_PROFILE_PINNED_H
#define PMEM_PROFILE_PINNED_H
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "profile/profile.h"
#include "profile/rss.h"
#include "profile/sites.h"

struct pinned_part {
	uint64_t bytes;
	uint64_t slack; /* what size classes add to its blocks, as far as it is resident */
	uint64_t pages; /* partly free ones in which its blocks lie: they may count for several parts */
};

struct pinned {
	struct rss rss;
	struct pinned_part all;
	struct pinned_part *stacks;   /* by index of the call stack */
	struct pinned_part inherited; /* what the parent process's blocks pin, from before the fork */
	struct pinned_part others; /* call stacks that are not in the profile, or found no room */
};

/* As rss_of(). */
bool pinned_of(const struct profile *profile, struct pinned **pinned, struct error *err);

/* What was recorded; NULL: nothing, or no memory. */
struct pinned *pinned_recorded(const struct profile *profile);

void pinned_free(struct pinned *pinned);

struct pinned_site {
	const struct site *site;
	struct pinned_part part;
	uint32_t stack; /* the one of its call stacks that pins most */
};

/* The sites that pin something, most first: array of *count, to be freed; NULL: no memory.  As long as the sites are not sorted. */
struct pinned_site *pinned_sites(const struct pinned *pinned, const struct sites *sites,
				 uint32_t *count);

#endif
