/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * leaks.h - what a process cannot reach any more: blocks to which no pointer is left.
 */
#ifndef PMEM_LEAKS_LEAKS_H
#define PMEM_LEAKS_LEAKS_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "leaks/stop.h"
#include "leaks/suppress.h"
#include "profile/names.h"
#include "profile/profile.h"

struct leaks_counts {
	uint64_t direct_bytes;
	uint64_t direct_blocks;
	uint64_t indirect_bytes;
	uint64_t indirect_blocks;
};

static inline uint64_t leaks_bytes(const struct leaks_counts *counts)
{
	return counts->direct_bytes + counts->indirect_bytes;
}

static inline uint64_t leaks_blocks(const struct leaks_counts *counts)
{
	return counts->direct_blocks + counts->indirect_blocks;
}

struct leaks {
	struct leaks_counts
		*stacks; /* by index in the profile's stacks; unknown ones are in the totals only */
	struct leaks_counts totals;
	uint64_t suppressed_bytes; /* also of blocks that only suppressed ones lead to */
	uint64_t suppressed_blocks;
	uint64_t live_bytes; /* of the live table */
	uint64_t live_blocks;
	uint64_t scanned; /* bytes that were searched for pointers */
	uint64_t took_ns;
	uint32_t thread_count;
};

struct leaks_source {
	const struct profile *profile; /* as it was when the process was stopped, or later */
	struct names *names;
	struct suppress *suppress; /* counts what its rules match */
	const struct stop *stop;   /* the threads */
	pid_t pid;		   /* whose memory is looked at, which does not run */
	pid_t original;		   /* the process that it is a copy of, or itself */
};

/* False: the process is recorded in a way that does not tell all blocks. */
bool leaks_can(const struct profile *profile, struct error *err);

/* Ends with leaks_free(), also after a failure. */
bool leaks_find(const struct leaks_source *source, struct leaks *leaks, struct error *err);
void leaks_free(struct leaks *leaks);

/* Makes what was lost the live bytes and blocks of the profile's call stacks, for views of it. */
void leaks_apply(const struct leaks *leaks, struct profile *profile);

#endif
