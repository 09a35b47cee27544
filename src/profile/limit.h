/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * limit.h - which of a process's limits on memory growth reaches first, and when.
 */
#ifndef PMEM_PROFILE_LIMIT_H
#define PMEM_PROFILE_LIMIT_H
#include <stdbool.h>
#include <stdint.h>

#include "profile/profile.h"

enum limit_kind {
	LIMIT_CGROUP,  /* of memory; the resident set of this process alone is held against it */
	LIMIT_ADDRESS, /* RLIMIT_AS */
	LIMIT_DATA,    /* RLIMIT_DATA */
	LIMIT_KINDS,
};

struct limit {
	enum limit_kind kind;
	uint64_t bytes;
	uint64_t used;	  /* at the latest point */
	uint64_t left_ns; /* until it is reached */
};

/* False: there is none, or it is further away than a year.  rate: bytes/s. */
bool limit_next(const struct profile *profile, double rate, struct limit *limit);

/* "cgroup", "address", "data". */
const char *limit_name(enum limit_kind kind);

/* "the cgroup's limit", "the limit of the address space (RLIMIT_AS)" ... */
const char *limit_words(enum limit_kind kind);

#endif
