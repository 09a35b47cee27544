/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * verdict.h - what kind of growth a process has, and each of its allocation sites that matter (doc/VERDICT.md).
 *
 * Sites are told apart by their own series: a slow leak beside a large heap that does not move, or beside one that goes up and
 * down, shows in none of the process's figures.
 */
#ifndef PMEM_PROFILE_VERDICT_H
#define PMEM_PROFILE_VERDICT_H
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "profile/growth.h"
#include "profile/limit.h"
#include "profile/sites.h"
#include "profile/trend.h"

/* What counters and samples prove of a site's frees. */
enum verdict_frees {
	VERDICT_FREES_UNKNOWN,
	VERDICT_FREES_NONE,  /* no block was ever freed */
	VERDICT_FREES_SINCE, /* none since the growth began */
	VERDICT_FREES_KEPT, /* of what it held in the middle of the growth, so much at least was not freed */
};

struct verdict {
	uint32_t place;	    /* of the site, as in struct site; SITES_NONE: the process */
	uint32_t stack;	    /* index of the call stack that grew most; SITES_NONE: the process */
	struct trend trend; /* in bytes and seconds since start */
	uint64_t since_ns;
	int64_t growth;	     /* bytes since then, until the end of the interval */
	uint64_t live_bytes; /* at the end of the interval */
	enum verdict_frees frees;
	uint64_t live_count; /* blocks of the site */
	uint64_t middle_ns;  /* of VERDICT_FREES_KEPT */
	double kept;	     /* likewise: a share, 0 to 1 */
};

struct verdicts {
	struct verdict *items; /* that of the process first, then leaks, by rate, then the others */
	uint32_t count;	       /* at least 1 */
};

/* Of the sites those with the class TREND_NONE are left out.  interval is what growth_of_process() was asked about.  Names lines of the
 * sites that grow: call it before sites_sort(). */
bool verdicts_find(struct sites *sites, const struct growth *growth,
		   const struct growth_interval *interval, struct verdicts **found,
		   struct error *err);
void verdicts_free(struct verdicts *verdicts);

/* The site to blame for growth: the fastest leak, else the fastest cache that is still filling; NULL: none grows. */
const struct verdict *verdicts_culprit(const struct verdicts *verdicts);

/* The site of a verdict that is not the process's.  NULL: the sites' lines were divided since. */
const struct site *verdicts_site(const struct sites *sites, const struct verdict *verdict);

/* What the culprit (NULL: there is none) has of the growth; without it, or if it did not grow over the sites' interval, the site that made
 * most of it.  One answer for all who name it.  False: none grew. */
bool verdicts_grower(const struct sites *sites, const struct verdict *culprit,
		     struct sites_grower *grower);

/* The limit that the growth of the process reaches first, or, if it does not grow, that of the culprit.  False: none, or what grew was freed
 * at exit. */
bool verdicts_limit(const struct profile *profile, const struct growth *growth,
		    const struct verdicts *verdicts, struct limit *limit);

/* How many sites are leaks. */
uint32_t verdicts_leaks(const struct verdicts *verdicts);

#endif
