/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * retained.h - free memory that stays resident: whether that is what a process's size is about, and not its live blocks.
 *
 * Every heap has some, and who frees everything at its end has nothing else then.  So it counts only where it is much, at least half of what
 * is in use, and was there for at least half of the time of late: all of it shares, whatever the length of the run.
 */
#ifndef PMEM_PROFILE_RETAINED_H
#define PMEM_PROFILE_RETAINED_H
#include <stdbool.h>
#include <stdint.h>

#include "profile/profile.h"
#include "profile/rss.h"

#define RETAINED_LEAST (UINT64_C(64) << 20)   /* bytes that are worth a word */
#define RETAINED_GROWING (UINT64_C(16) << 20) /* likewise, if they grow */

struct retained {
	struct rss rss;
	uint64_t used_bytes; /* resident, of live blocks, with what the allocator adds */
	uint64_t free_bytes; /* resident, of the heap, and free */
	uint64_t per_minute; /* bytes by which that grows, steadily; 0: it does not */
	uint64_t since_ns;   /* since when it grows */
	bool given_back; /* the heap was freed at the end: before it was so, but the lines of rss are not of that time */
};

/* rss: of this profile, as recorded or now.  False: it is not what the size is about, or too little is known. */
bool retained_find(const struct profile *profile, const struct rss *rss, struct retained *retained);

#endif
