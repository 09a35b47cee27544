/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_trend_truth.c - how often the class of a series is right, by a second set of made series.
 *
 * They were written without a look at trend_series.c, whose kinds they repeat in another way, so that the classifier is not fitted to
 * one author's idea of a leak.
 *
 * PMEM_TREND_SEEDS=1000 in the environment: so many of each kind, not 100.  What comes out of it is in doc/VERDICT.md.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "profile/trend.h"

enum { TRUTH_POINTS = 4096 };

enum truth_kind {
	TRUTH_LEAK,	       /* below noise of ten times what it rises from point to point */
	TRUTH_LEAK_LATE,       /* the same, from somewhere in the first half on */
	TRUTH_LEAK_WALK,       /* each step is what some requests of random number leaked */
	TRUTH_LEAK_AFTER_LOAD, /* data are loaded fast, then it begins */
	TRUTH_FILLING_KEYS,    /* a cache of random keys: the fuller, the slower */
	TRUTH_FILLING_BOUND,   /* straight up to the bound */
	TRUTH_SAWTOOTH,	       /* days of random height */
	TRUTH_STEP,	       /* a reload; in one of two the old data live on for a moment */
	TRUTH_PLATEAU,	       /* a start, then one level with noise that may remember */
	TRUTH_STEADY,	       /* one level from the beginning */
	TRUTH_WALK,	       /* random steps, up and down alike */
	TRUTH_KINDS,
};

struct truth {
	const char *name;
	enum trend_class class;
	unsigned promised; /* per cent that are told right */
};

struct truth_series {
	struct robust_point points[TRUTH_POINTS];
	size_t count;
	double noise; /* standard deviation of what is added */
	double since; /* of a leak */
	double rate;
};

/* How many points: 60 to 4,096, or 10 to 60. */
enum truth_size { TRUTH_MANY, TRUTH_FEW };

/* Of a leak that noise hides for most of its time, or that took a dozen of requests, some are not claimed. */
static const struct truth truth_kinds[TRUTH_KINDS] = {
	[TRUTH_LEAK] = {"leak in 10x noise", TREND_LEAK, 90},
	[TRUTH_LEAK_LATE] = {"leak that begins later", TREND_LEAK, 80},
	[TRUTH_LEAK_WALK] = {"leak by random requests", TREND_LEAK, 85},
	[TRUTH_LEAK_AFTER_LOAD] = {"leak after a load", TREND_LEAK, 95},
	[TRUTH_FILLING_KEYS] = {"cache of random keys", TREND_FILLING, 95},
	[TRUTH_FILLING_BOUND] = {"cache to its bound", TREND_FILLING, 95},
	[TRUTH_SAWTOOTH] = {"sawtooth", TREND_SAWTOOTH, 95},
	[TRUTH_STEP] = {"step after reload", TREND_STEP, 95},
	[TRUTH_PLATEAU] = {"plateau", TREND_PLATEAU, 95},
	[TRUTH_STEADY] = {"steady", TREND_NONE, 90},
	[TRUTH_WALK] = {"random walk", TREND_NONE, 0},
};

static uint64_t seeded;

/* Steele, Lea and Flood's SplitMix64. */
static uint64_t next_random(void)
{
	uint64_t x = seeded += UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

static double between(double low, double high)
{
	return low + (high - low) * (double)(next_random() >> 11) * 0x1p-53;
}

/* On a logarithmic scale. */
static double order(double low, double high)
{
	return low * pow(high / low, between(0, 1));
}

static double normal(void)
{
	return sqrt(-2 * log(between(1e-12, 1))) * cos(between(0, 2 * M_PI));
}

/* Times from 0 to 1 go to when. */
static void make_times(struct truth_series *series, double span, double when[TRUTH_POINTS])
{
	double step = 1 / (double)(series->count - 1), uneven = between(0, 0.8) * step;

	for (size_t i = 0; i < series->count; i++) {
		bool is_end = i == 0 || i + 1 == series->count;

		when[i] = (double)i * step + (is_end ? 0 : between(-uneven / 2, uneven / 2));
		series->points[i].time = when[i] * span;
	}
}

/* memory: how much of the noise of the point before is left. */
static void add_noise(struct truth_series *series, double noise, double memory)
{
	double rest = normal();

	for (size_t i = 0; i < series->count; i++) {
		series->points[i].value += noise * rest;
		rest = memory * rest + sqrt(1 - memory * memory) * normal();
	}
	series->noise = noise;
}

static void add_leak(struct truth_series *series, double since, double rate)
{
	double span = series->points[series->count - 1].time;

	for (size_t i = 0; i < series->count; i++)
		series->points[i].value += rate * fmax(0, series->points[i].time - since * span);
	series->since = since * span;
	series->rate = rate;
}

/* Random requests leak blocks of one size: some each time, or none. */
static void add_requests(struct truth_series *series)
{
	double size = order(1024, 65536), mean = order(0.3, 100), sum = 0, limit = exp(-mean),
	       product;

	for (size_t i = 0; i < series->count; i++) {
		for (product = between(0, 1); product > limit; product *= between(0, 1))
			sum += size;
		series->points[i].value += sum;
	}
	/* The true rate is that of what came; the error is that of a walk's line. */
	series->rate = sum / series->points[series->count - 1].time;
	series->noise = size * sqrt(mean) * (double)series->count / 3;
}

static void add_load(struct truth_series *series, const double *when, double size)
{
	double end = between(0.02, 0.12);

	for (size_t i = 0; i < series->count; i++)
		series->points[i].value += size * fmin(1, when[i] / end);
	add_leak(series, end, size * between(0.1, 1) / series->points[series->count - 1].time);
}

static void add_cache(struct truth_series *series, const double *when, double size)
{
	double constant = order(1.0 / 6, 0.6);

	for (size_t i = 0; i < series->count; i++)
		series->points[i].value += size * (1 - exp(-when[i] / constant));
}

static void add_bound(struct truth_series *series, const double *when, double size)
{
	double begin = between(0, 0.2), end = between(begin + 0.3, 0.9);

	for (size_t i = 0; i < series->count; i++)
		series->points[i].value += size *
					   fmin(1, fmax(0, (when[i] - begin) / (end - begin)));
}

static void add_days(struct truth_series *series, const double *when, double size)
{
	double length = 1 / between(3, 12), fall = between(0.02, 0.3), phase = between(0, 1);
	double height[32], day, part;

	for (size_t i = 0; i < 32; i++)
		height[i] = size * between(0.8, 1.2);
	for (size_t i = 0; i < series->count; i++) {
		day = when[i] / length + phase;
		part = day - floor(day);
		series->points[i].value += height[(size_t)day] *
					   (part < 1 - fall ? part / (1 - fall) : (1 - part) / fall);
	}
}

static void add_step(struct truth_series *series, const double *when, double size)
{
	double at = between(0.12, 0.88), both = between(0, 0.02);
	bool overlaps = between(0, 1) < 0.5;

	for (size_t i = 0; i < series->count; i++) {
		if (when[i] >= at)
			series->points[i].value += size;
		if (overlaps && when[i] >= at && when[i] < at + both)
			series->points[i].value += size;
	}
}

static void add_start(struct truth_series *series, const double *when, double size)
{
	double constant = order(0.002, 0.05);

	for (size_t i = 0; i < series->count; i++)
		series->points[i].value += size * (1 - exp(-when[i] / constant));
}

static void add_walk(struct truth_series *series, double step)
{
	double sum = 0;

	for (size_t i = 0; i < series->count; i++) {
		series->points[i].value += sum;
		sum += step * normal();
	}
	/* A heap is never below 0. */
	for (size_t i = 0; i < series->count; i++)
		series->points[i].value += step * 10 * sqrt((double)series->count);
}

static void make_leak(enum truth_kind kind, struct truth_series *series, const double *when,
		      double size)
{
	double last = series->points[series->count - 1].time, steps = (double)series->count - 1;

	switch (kind) {
	case TRUTH_LEAK:
	case TRUTH_LEAK_LATE:
		size *= between(0.2, 2);
		add_leak(series, kind == TRUTH_LEAK ? 0 : between(0.1, 0.5), size / last);
		add_noise(series, 10 * size / steps, between(0, 0.3));
		break;
	case TRUTH_LEAK_WALK:
		add_requests(series);
		break;
	default:
		add_load(series, when, size);
		add_noise(series, size * order(0.001, 0.02), between(0, 0.5));
		break;
	}
}

/* The same series for the same arguments; points are at uneven distances, over 5 s to 10 days. */
static void truth_make(enum truth_kind kind, enum truth_size few, uint64_t seed,
		       struct truth_series *series)
{
	static double when[TRUTH_POINTS];
	double size, span;

	seeded = seed * TRUTH_KINDS + kind;
	memset(series, 0, sizeof(*series));
	series->count = (size_t)(few ? order(10, 60) : order(60, TRUTH_POINTS));
	span = order(5, 864000);
	size = order(1 << 20, 1 << 30);
	make_times(series, span, when);
	for (size_t i = 0; i < series->count; i++)
		series->points[i].value = kind == TRUTH_PLATEAU || kind == TRUTH_WALK ? 0 : size;
	switch (kind) {
	case TRUTH_FILLING_KEYS:
		add_cache(series, when, size);
		add_noise(series, size * order(0.001, 0.03), between(0, 0.5));
		break;
	case TRUTH_FILLING_BOUND:
		add_bound(series, when, size);
		add_noise(series, size * order(0.001, 0.05), between(0, 0.5));
		break;
	case TRUTH_SAWTOOTH:
		add_days(series, when, size);
		add_noise(series, size * order(0.001, 0.1), between(0, 0.5));
		break;
	case TRUTH_STEP:
		add_step(series, when, size * between(0.1, 1));
		add_noise(series, size * order(0.001, 0.02), between(0, 0.5));
		break;
	case TRUTH_PLATEAU:
		add_start(series, when, size);
		add_noise(series, size * order(0.0001, 0.1), between(0, 0.9));
		break;
	case TRUTH_STEADY:
		add_noise(series, size * order(0.0001, 0.1), between(0, 0.9));
		break;
	case TRUTH_WALK:
		add_walk(series, size * order(0.0001, 0.1));
		break;
	default:
		make_leak(kind, series, when, size);
		break;
	}
}

/* The standard error, as part of the rate, with which the best straight line through the leak's points finds it. */
static double truth_error(const struct truth_series *series)
{
	double mean = 0, squares = 0, n = 0;

	for (size_t i = 0; i < series->count; i++) {
		if (series->points[i].time < series->since)
			continue;
		mean += series->points[i].time;
		n++;
	}
	mean /= n;
	for (size_t i = 0; i < series->count; i++)
		if (series->points[i].time >= series->since)
			squares += (series->points[i].time - mean) * (series->points[i].time - mean);
	return series->noise / sqrt(squares) / series->rate;
}

/* --- what comes of it ------------------------------------------------------------------------ */

enum { SEEDS = 100, LEAST = 4096 };

#define SLOPE_ERROR 0.05
#define SLOPE_SIGMAS 4 /* a slope can be that exact if this many standard errors are less */

struct tally {
	uint64_t classes[TREND_CLASSES];
	uint64_t slopes; /* that could be exact */
	uint64_t wrong_slopes;
};

static uint64_t seeds(void)
{
	const char *text = getenv("PMEM_TREND_SEEDS");

	return text ? strtoull(text, NULL, 10) : SEEDS;
}

static void check_slope(const struct truth_series *series, const struct trend *trend,
			struct tally *tally)
{
	if (trend->class != TREND_LEAK || series->rate <= 0 ||
	    SLOPE_SIGMAS * truth_error(series) >= SLOPE_ERROR)
		return;
	tally->slopes++;
	tally->wrong_slopes += fabs(trend->rate / series->rate - 1) > SLOPE_ERROR;
}

static void count(enum truth_kind kind, enum truth_size size, struct tally *tally)
{
	static struct truth_series series;
	struct trend trend;
	uint64_t seed;

	memset(tally, 0, sizeof(*tally));
	for (seed = 1; seed <= seeds(); seed++) {
		truth_make(kind, size, seed, &series);
		trend_read(series.points, series.count, LEAST, &trend);
		tally->classes[trend.class]++;
		check_slope(&series, &trend, tally);
	}
}

static void print_head(const char *title)
{
	print_message("# %-24s", title);
	for (int i = 0; i < TREND_CLASSES; i++)
		print_message(" %8s", trend_class_name((enum trend_class)i));
	print_message("   slopes > 5 %% off\n");
}

static void print_row(const char *name, const struct tally *tally)
{
	print_message("# %-24s", name);
	for (int i = 0; i < TREND_CLASSES; i++)
		print_message(" %8llu", (unsigned long long)tally->classes[i]);
	if (tally->slopes)
		print_message("   %llu of %llu", (unsigned long long)tally->wrong_slopes,
			      (unsigned long long)tally->slopes);
	print_message("\n");
}

/* One in a hundred of what is no leak may be called one, and of few seeds two more; two in a hundred slopes may be more than 5 % off. */
static void check(const struct truth *truth, const struct tally *tally)
{
	if (truth->class != TREND_LEAK && tally->classes[TREND_LEAK] > seeds() / 100 + 2)
		fail_msg("%s: %llu false alarms", truth->name,
			 (unsigned long long)tally->classes[TREND_LEAK]);
	if (tally->wrong_slopes * 50 > tally->slopes)
		fail_msg("%s: %llu slopes are wrong", truth->name,
			 (unsigned long long)tally->wrong_slopes);
}

static void test_many_points(void **state)
{
	struct tally tally;

	(void)state;
	print_head("60 to 4,096 points");
	for (unsigned i = 0; i < TRUTH_KINDS; i++) {
		const struct truth *truth = &truth_kinds[i];

		count((enum truth_kind)i, TRUTH_MANY, &tally);
		print_row(truth->name, &tally);
		check(truth, &tally);
		if (tally.classes[truth->class] * 100 < truth->promised * seeds())
			fail_msg("%s: %llu are right", truth->name,
				 (unsigned long long)tally.classes[truth->class]);
	}
}

/* What few points do not show is not claimed. */
static void test_few_points(void **state)
{
	struct tally tally;

	(void)state;
	print_head("10 to 60 points");
	for (unsigned i = 0; i < TRUTH_KINDS; i++) {
		count((enum truth_kind)i, TRUTH_FEW, &tally);
		print_row(truth_kinds[i].name, &tally);
		check(&truth_kinds[i], &tally);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_many_points),
		cmocka_unit_test(test_few_points),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
