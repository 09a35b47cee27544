/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * thinning.h - which of many moments to forget, so that what remains says most of any stretch of time up to now.
 *
 * What is asked of a timeline is the last ten seconds as often as the last hour.  So two moments that stay are no further apart than a
 * part of their age; what is older than a fifth of the whole time is evenly spaced, for trends.  The latest ones all stay.
 */
#ifndef PMEM_LIBPMEM_THINNING_H
#define PMEM_LIBPMEM_THINNING_H
#include <stdbool.h>
#include <stdint.h>

enum {
	THINNING_RECENT = 5
}; /* one part in so many of the whole time is recent: distances grow with the age */

struct thinning {
	uint64_t (*time_at)(uint32_t i); /* of moment i, ascending with i */
	uint32_t count;
	uint32_t most; /* so many may stay; at least 2 */
	bool *drop; /* [count], zeroed: set for those to forget, which are never the first and the latest */
};

/* Returns how many stay: no more than most.  *spacing_ns: as far apart as those that stay may have become by this. */
uint32_t thinning_choose(const struct thinning *thinning, uint64_t *spacing_ns);

#endif
