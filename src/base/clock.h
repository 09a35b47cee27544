/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * clock.h - the time in nanoseconds.
 */
#ifndef PMEM_BASE_CLOCK_H
#define PMEM_BASE_CLOCK_H
#include <stdint.h>
#include <time.h>

static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* CLOCK_MONOTONIC, as in profiles. */
static inline uint64_t clock_monotonic_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/* CLOCK_REALTIME: since 1970. */
static inline uint64_t clock_realtime_ns(void)
{
	return clock_ns(CLOCK_REALTIME);
}

#endif
