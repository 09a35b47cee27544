/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * timeline_fakes.h - a store in shared memory, for the tests of points.c, series.c and timeline.c.
 *
 * Shared, so that a test can look at what a process leaves that is killed: fakes_step() runs a piece of work in a child, one
 * instruction at a time, and has the store checked after each.
 */
#ifndef PMEM_TESTS_UNIT_TIMELINE_FAKES_H
#define PMEM_TESTS_UNIT_TIMELINE_FAKES_H
#include <stdbool.h>
#include <stdint.h>

#include "core/format.h"
#include "libpmem/mappings.h"

enum { FAKES_BLOCKS = 1100 }; /* of each kind, at most */

/* How many blocks of a kind there can be; fewer: no memory. */
extern uint32_t fakes_block_limit[FORMAT_KINDS];

/* What the program maps itself: the first one without calls ends them. */
extern struct mappings_counts fakes_mapped[200];

/* An empty store. */
void fakes_clear_store(void);

/* The slot, which lies in one of the blocks. */
struct format_point *fakes_point(uint32_t index);
struct format_series *fakes_series(uint32_t index);

/* Samples of a call stack, by time, each time once; returns how many.  Fails if two of the same time differ. */
uint32_t fakes_samples(uint32_t stack_id, struct format_sample *samples, uint32_t room);

/* Whether others were dropped before the sample of that time. */
bool fakes_gap(uint32_t stack_id, uint64_t time_ns);

/* Runs work in a child and check before each of its instructions; skips the test where that is not allowed.  Returns the
 * number of instructions. */
uint64_t fakes_step(void (*work)(void), void (*check)(void));

#endif
