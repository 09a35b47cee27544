/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * estimate.h - how far off a figure of a sampled profile may be.
 *
 * Draws fall into bytes as a Poisson process with one in mean bytes: an estimate of so many bytes rests on bytes / mean draws.
 * The interval is Byar's approximation of the exact one of a Poisson count (Breslow and Day, Statistical Methods in Cancer
 * Research II, 1987): it holds the true value in 95 % of the cases, in more of them where blocks are larger than
 * the mean.
 */
#ifndef PMEM_PROFILE_ESTIMATE_H
#define PMEM_PROFILE_ESTIMATE_H
#include <stdint.h>

#include "base/units.h"

enum { ESTIMATE_PERCENT = 95 }; /* of the cases */

struct estimate {
	uint64_t low;
	uint64_t high;
};

/* The interval around bytes of a profile with that mean distance of draws; mean 0: exact, both are bytes. */
struct estimate estimate_of(uint64_t bytes, uint64_t mean);

/* The same as percent of bytes, the wider side, rounded up; UINT64_MAX if bytes is 0. */
uint64_t estimate_percent(uint64_t bytes, uint64_t mean);

/* Half of the interval's width, 0 if mean is 0; and that of the difference of two independent estimates. */
uint64_t estimate_error(uint64_t bytes, uint64_t mean);
uint64_t estimate_error_of_change(uint64_t error_a, uint64_t error_b);

/* "77.9 MiB +-1.8 MiB"; "77.9 MiB" if mean is 0. */
const char *estimate_bytes(uint64_t bytes, uint64_t mean, char text[UNITS_SIZE]);

#endif
