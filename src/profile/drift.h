/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * drift.h - whether a series drifts, or only wanders.  A pure function.
 *
 * A heap is a level with noise on it, or what random steps have made of one, or both.  Steps that are kept make lines out of nothing, noise
 * does not; which of the two it is the series itself says, more or less clearly.  So the drift is asked for under each mixture, and the answers
 * are weighed by how well the mixture explains the series.
 */
#ifndef PMEM_PROFILE_DRIFT_H
#define PMEM_PROFILE_DRIFT_H
#include <stddef.h>

#include "profile/robust.h"

struct drift {
	const struct robust_point *points; /* by time, up to ROBUST_POINTS, the last later than the first */
	size_t count;
	double since; /* no drift before it */
	double floor; /* > 0: standard deviation of noise that is always there */
};

/* The probability, of either sign, that chance makes a drift so large from since on; 1: too few points. */
double drift_p(const struct drift *drift);

/* The probability that chance makes the rate fall so, from part to part of the series since then, of what rises by steps that come at random: such
 * a line bends now and then as a curve does that slows down.  1: too few points, or it does not fall. */
double drift_slows_p(const struct drift *drift);

#endif
