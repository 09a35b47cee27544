/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * trend.h - what kind of series this is: a leak, a cache that fills, a saw and so on.  Pure functions, see doc/VERDICT.md.
 *
 * A leak must pass three questions: do later points lie above earlier ones more often than chance explains, if neighbours that are
 * alike count as one (Mann and Kendall); is the rise large against what is left of the noise (Student's t); and is it even.  A random
 * walk passes the first two now and then, but rarely the third.
 */
#ifndef PMEM_PROFILE_TREND_H
#define PMEM_PROFILE_TREND_H
#include <stddef.h>

#include "profile/robust.h"

enum trend_class {
	TREND_NONE,
	TREND_LEAK,
	TREND_FILLING,
	TREND_SAWTOOTH,
	TREND_STEP,
	TREND_PLATEAU,
	TREND_CLASSES,
};

/* Which way it goes at its end. */
enum trend_course {
	TREND_UNKNOWN, /* too few points: less than TREND_POINTS_MIN, or of one moment */
	TREND_RISING,
	TREND_FALLING,
	TREND_STEADY,
	TREND_SWINGING, /* up and down */
};

enum { TREND_POINTS_MIN = 4 };

struct trend {
	enum trend_class class;
	enum trend_course course;
	double rate;  /* value per time at the end; 0 unless rising or falling */
	double since; /* time: when the rate began, or the step was, or the level was reached; of the rest the first point */
	double p;     /* of a leak: the probability that chance does as much; 1 = not asked */
	double confidence; /* 0 to 1: doc/VERDICT.md */
	double low;	   /* least and most, from since on */
	double high;
};

/* "leak" and so on. */
const char *trend_class_name(enum trend_class class);

/* Points by time, any number, any distances.  A rise of less than least (> 0) is none. */
void trend_read(const struct robust_point *points, size_t count, double least, struct trend *trend);

#endif
