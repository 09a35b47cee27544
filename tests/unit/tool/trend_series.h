/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * trend_series.h - made series of which it is known what they are: the ground truth for verdicts.
 *
 * Each follows from its seed alone.  Lengths, distances of the points (even or not, with gaps), the heap below, the kind of noise (normal or
 * with heavy tails, independent or not) and the shape's own numbers are drawn anew for each seed.
 */
#ifndef PMEM_TEST_TREND_SERIES_H
#define PMEM_TEST_TREND_SERIES_H
#include <stdint.h>

#include "profile/trend.h"

enum { SERIES_MAX = 2500 };

struct made {
	struct robust_point points[SERIES_MAX];
	unsigned count;
	double rate;	/* of a leak */
	uint64_t state; /* of the random numbers */
	double unit;	/* bytes that the shape is made of */
	double below;	/* heap that does nothing */
	double noise;	/* the last one */
	double memory;	/* 0: independent noise; below 1: each takes so much of the last one */
	int heavy;	/* noise with heavy tails */
};

struct made_kind {
	const char *name;
	void (*make)(struct made *made);
	enum trend_class truth;
	int promised; /* of doc/VERDICT.md: right in 95 % and more */
};

/* A row without name ends the table. */
extern const struct made_kind made_kinds[];

void made_series(const struct made_kind *kind, unsigned seed, struct made *made);

#endif
