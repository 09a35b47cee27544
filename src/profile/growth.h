/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * growth.h - what the timeline says: whether the heap grows, and what a call stack held at a time.
 *
 * Times are nanoseconds since the start of recording, as everywhere in the model.
 */
#ifndef PMEM_PROFILE_GROWTH_H
#define PMEM_PROFILE_GROWTH_H
#include <stdbool.h>
#include <stdint.h>

#include "profile/profile.h"
#include "profile/trend.h"

enum growth_kind {
	GROWTH_UNKNOWN, /* fewer than 4 points, or too little time: growth_too_little() */
	GROWTH_GROWING,
	GROWTH_SHRINKING,
	GROWTH_STEADY,
	GROWTH_VARYING, /* up and down, without a rate */
};

struct growth {
	enum growth_kind kind;
	struct trend trend; /* in bytes and seconds since start */
	int64_t per_minute; /* bytes: the trend's rate */
	uint64_t since_ns;  /* since when it is of this kind; 0 if unknown */
	uint64_t until_ns; /* where it ends: the interval's end, or the last point before most of it was freed */
	uint64_t low; /* least and most live bytes in between */
	uint64_t high;
	bool freed_at_end; /* it grew, and more than half of the growth was given back at exit */
};

/* A part of the timeline, both ends included. */
struct growth_interval {
	uint64_t since_ns;
	uint64_t until_ns;
};

/* The least rise of a heap or a site that is worth a word, of a process that held most bytes at most. */
double growth_least(double most);

/* The process's live bytes at the points of an interval, by time in seconds since start; in gaps, in which it made no events and so no
 * points, at moments in between too.  To be freed; NULL: no memory. */
struct robust_point *growth_points(const struct profile *profile,
				   const struct growth_interval *interval, size_t *count);

double growth_seconds(uint64_t time_ns);

/* Seconds since start in nanoseconds; 0 for negative ones. */
uint64_t growth_ns(double seconds);

/* A rate in bytes a second, a minute; 0 for negative ones. */
uint64_t growth_rate_per_minute(double rate);

#define GROWTH_SPAN_NS UINT64_C(2000000000)

/* Whether points are too little to say anything: fewer than TREND_POINTS_MIN, or of less than GROWTH_SPAN_NS or, where points were set to be
 * closer, eight of their distances. */
bool growth_too_little(const struct profile *profile, const struct robust_point *points,
		       size_t count);

/* The PMEM_TIMELINE_MS with which a run as short as this one is enough; 0: none. */
uint32_t growth_finer_ms(const struct profile *profile);

/* How the live bytes of the process move at the end of the interval. */
void growth_of_process(const struct profile *profile, const struct growth_interval *interval,
		       struct growth *growth);

/* "growing" and so on. */
const char *growth_kind_name(enum growth_kind kind);

/* The same as in the JSON: "grew" if it grew and most of that was freed at exit, so that nobody takes it for a leak. */
const char *growth_word(const struct growth *growth);

/* The moment nearest to a time of which all is known that the timeline knows: that of a point for which all call stacks were looked at,
 * or any in a time without events.  0 and the profile's duration are such moments. */
uint64_t growth_moment(const struct profile *profile, uint64_t time_ns);

struct growth_value {
	uint64_t live_bytes;
	uint64_t alloc_bytes; /* since start */
	uint64_t time_ns;     /* the moment at which that was so */
};

/* What a call stack held at a time: nothing before its first sample, and what the one before says until it changed.  Where samples were dropped
 * in between, the nearest one that is left says what was, and when: nothing is made up.  From the profile's duration on it is the final state. */
void growth_at(const struct profile *profile, const struct profile_series *series, uint64_t time_ns,
	       struct growth_value *value);

/* What its latest sample not after a time says: for what must not be later. */
void growth_before(const struct profile *profile, const struct profile_series *series,
		   uint64_t time_ns, struct growth_value *value);

/* Change of a call stack's live bytes over the interval; *over_ns: how long it really took, as samples may be of other moments. */
int64_t growth_change(const struct profile *profile, const struct profile_series *series,
		      const struct growth_interval *interval, uint64_t *over_ns);

/* The same per minute; 0 for an empty interval. */
int64_t growth_per_minute(int64_t change, const struct growth_interval *interval);

#endif
