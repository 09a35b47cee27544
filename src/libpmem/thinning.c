/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * thinning.c - which moments to forget, see thinning.h.
 *
 * From the latest one backwards: a moment goes if those on both sides of it are close enough without it.  How close that is follows from
 * how many may stay, by trial: distances become larger until it is enough.
 */
#include "libpmem/thinning.h"

/* The largest distance between two moments of which the later one has that age. */
static uint64_t allowed(uint64_t age_ns, uint64_t span_ns, uint32_t parts)
{
	uint64_t recent_ns = span_ns / THINNING_RECENT;

	return (age_ns < recent_ns ? age_ns : recent_ns) / parts;
}

static uint32_t try(const struct thinning *thinning, uint32_t parts)
{
	uint64_t now_ns = thinning->time_at(thinning->count - 1);
	uint64_t span_ns = now_ns - thinning->time_at(0);
	uint64_t later_ns = now_ns;
	uint32_t kept = thinning->count, i;

	for (i = thinning->count - 2; i > 0; i--) {
		uint64_t before_ns = thinning->time_at(i - 1);

		thinning->drop[i] = later_ns - before_ns <=
				    allowed(now_ns - later_ns, span_ns, parts);
		kept -= thinning->drop[i];
		if (!thinning->drop[i])
			later_ns = thinning->time_at(i);
	}
	return kept;
}

/* Where moments are too uneven for distances: all but the first and the latest ones. */
static uint32_t drop_oldest(const struct thinning *thinning)
{
	for (uint32_t i = 1; i + 1 < thinning->count; i++)
		thinning->drop[i] = i + thinning->most <= thinning->count;
	return thinning->most;
}

uint32_t thinning_choose(const struct thinning *thinning, uint64_t *spacing_ns)
{
	uint64_t span_ns = thinning->time_at(thinning->count - 1) - thinning->time_at(0);
	uint32_t parts = thinning->count, kept;

	do {
		parts -= (parts + 7) / 8;
		kept = try(thinning, parts ? parts : 1);
	} while (kept > thinning->most && parts > 1);
	*spacing_ns = span_ns / THINNING_RECENT / (parts ? parts : 1);
	return kept <= thinning->most ? kept : drop_oldest(thinning);
}
