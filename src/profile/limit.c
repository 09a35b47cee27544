/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * limit.c - which of a process's limits on memory growth reaches first, and when.
 */
#include "profile/limit.h"

#define SECOND_NS 1e9
#define YEAR (365.0 * 24 * 60 * 60)

static uint64_t loaded(const _Atomic uint64_t *field)
{
	return atomic_load_explicit((_Atomic uint64_t *)(uintptr_t)field, memory_order_relaxed);
}

static uint64_t limit_bytes(const struct profile *profile, enum limit_kind kind)
{
	switch (kind) {
	case LIMIT_CGROUP:
		return profile->header.cgroup_limit;
	case LIMIT_ADDRESS:
		return profile->header.address_limit;
	default:
		return profile->header.data_limit;
	}
}

/* Pages that nobody touched are no resident memory, but live they are: the larger counts.  0: not known. */
static uint64_t used_bytes(const struct profile *profile, enum limit_kind kind)
{
	uint64_t live = profile_live_bytes(&profile->totals);

	if (kind == LIMIT_ADDRESS)
		return loaded(&profile->header.address_bytes);
	if (kind == LIMIT_DATA)
		return loaded(&profile->header.data_bytes);
	if (profile->point_count && profile->points[profile->point_count - 1].rss_bytes > live)
		return profile->points[profile->point_count - 1].rss_bytes;
	return live;
}

bool limit_next(const struct profile *profile, double rate, struct limit *limit)
{
	double least = YEAR;

	if (!(rate > 0))
		return false;
	for (unsigned kind = 0; kind < LIMIT_KINDS; kind++) {
		uint64_t bytes = limit_bytes(profile, (enum limit_kind)kind);
		uint64_t used = used_bytes(profile, (enum limit_kind)kind);
		double seconds;

		if (!used || bytes <= used)
			continue;
		seconds = (double)(bytes - used) / rate;
		if (seconds >= least)
			continue;
		least = seconds;
		*limit = (struct limit){(enum limit_kind)kind, bytes, used,
					(uint64_t)(seconds * SECOND_NS)};
	}
	return least < YEAR;
}

const char *limit_name(enum limit_kind kind)
{
	static const char *const names[LIMIT_KINDS] = {"cgroup", "address", "data"};

	return names[kind];
}

const char *limit_words(enum limit_kind kind)
{
	static const char *const words[LIMIT_KINDS] = {
		[LIMIT_CGROUP] = "the cgroup's limit",
		[LIMIT_ADDRESS] = "the address space's limit (RLIMIT_AS)",
		[LIMIT_DATA] = "the data limit (RLIMIT_DATA)",
	};

	return words[kind];
}
