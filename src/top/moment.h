/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * moment.h - what each call stack had at a moment: for rates and changes between two openings of a profile.
 *
 * Call stacks are matched by their call-stack id, which is theirs for as long as the process image lives.
 */
#ifndef PMEM_TOP_MOMENT_H
#define PMEM_TOP_MOMENT_H
#include <stdbool.h>
#include <stdint.h>

#include "profile/profile.h"

struct moment_counts {
	uint64_t live_bytes;
	uint64_t live_count;
	uint64_t alloc_bytes;
	uint64_t alloc_count;
	uint64_t temporary_count;
};

/* All 0 = none was taken. */
struct moment {
	uint64_t time_ns; /* CLOCK_MONOTONIC; 0 = none */
	struct moment_counts totals;
	uint32_t limit;
	struct moment_counts *by_number; /* [limit]: by call-stack id */
};

/* False: no memory, and the moment is as before. */
bool moment_take(struct moment *moment, const struct profile *profile, uint64_t time_ns);

/* Takes another one over, which is none then. */
void moment_move(struct moment *to, struct moment *from);
bool moment_copy(struct moment *to, const struct moment *from);
void moment_end(struct moment *moment);

/* Of a call stack that was not there yet: zeros. */
struct moment_counts moment_at(const struct moment *moment, const struct profile_stack *stack);

struct moment_counts moment_counts_of(const struct profile_counts *counts);

/* later - earlier, 0 if it is less. */
static inline uint64_t moment_more(uint64_t later, uint64_t earlier)
{
	return later > earlier ? later - earlier : 0;
}

#endif
