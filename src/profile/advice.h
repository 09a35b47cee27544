/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * advice.h - what a change at one site would spare, in calls or bytes.  doc/ADVICE.md has the rules and thresholds.
 */
#ifndef PMEM_PROFILE_ADVICE_H
#define PMEM_PROFILE_ADVICE_H
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "profile/pinned.h"
#include "profile/sites.h"

enum advice_kind {
	ADVICE_TEMPORARIES, /* calls: reuse a buffer */
	ADVICE_REALLOC,	    /* bytes copied: reserve */
	ADVICE_SLACK,	    /* bytes: sizes that fit a class */
	ADVICE_FOREIGN,	    /* calls: blocks that another thread frees */
	ADVICE_KINDS,
};

struct advice {
	enum advice_kind kind;
	const struct site *site;
	uint32_t stack; /* the one of its call stacks with the largest gain */
	uint64_t gain;	/* calls, or bytes */
	uint64_t whole; /* of which it is a part: all calls, bytes allocated, bytes in resident blocks, frees */
	uint64_t blocks; /* temporaries: 0; realloc: moved; slack: live; foreign: all freed ones of the site */
	uint64_t mean_bytes; /* of a block; after realloc: of one that grew no further, what to reserve */
	uint64_t lifetime_ns; /* temporaries: half of the site's blocks live less, about; 0 = not known */
	uint64_t grown;	      /* realloc: blocks that grew no further */
	uint64_t steps;	      /* realloc: calls */
};

struct advices {
	struct advice *items; /* the one that spares the largest part first */
	uint32_t count;
};

/* pinned: where slack is known from; may be NULL.  As long as the sites are not sorted. */
bool advice_find(const struct sites *sites, const struct pinned *pinned, struct advices *advices,
		 struct error *err);

void advice_free(struct advices *advices);

/* "temporaries" and so on. */
const char *advice_name(enum advice_kind kind);

/* What the gain counts: true: bytes, false: calls. */
static inline bool advice_is_bytes(enum advice_kind kind)
{
	return kind == ADVICE_REALLOC || kind == ADVICE_SLACK;
}

/* True if it is a large part, a tenth, and so for the first page. */
bool advice_is_large(const struct advice *advice);

#endif
