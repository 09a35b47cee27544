/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_trend_truth.c - how often the class of a series is right, by a second set of made series.
 *
 * They were written without a look at trend_series.c, whose kinds they repeat in another way, so that the classifier is not fitted to
 * one author's idea of a leak.
 *
 * PMEM_TREND_SEEDS=1000 in the environment: so many of each kind, not 300.  What comes out of it is in doc/VERDICT.md.
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

#include "trend_judging.h"

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

/* How many points: 60 to 4,096, or 10 to 60. */
enum truth_size { TRUTH_MANY, TRUTH_FEW };

static const struct judging_truth truth_kinds[TRUTH_KINDS] = {
	[TRUTH_LEAK] = {"leak in 10x noise", TREND_LEAK, 95},
	[TRUTH_LEAK_LATE] = {"leak that begins later", TREND_LEAK, 95},
	[TRUTH_LEAK_WALK] = {"leak by random requests", TREND_LEAK, 95},
	[TRUTH_LEAK_AFTER_LOAD] = {"leak after a load", TREND_LEAK, 95},
	[TRUTH_FILLING_KEYS] = {"cache of random keys", TREND_FILLING, 95},
	[TRUTH_FILLING_BOUND] = {"cache to its bound", TREND_FILLING, 95},
	[TRUTH_SAWTOOTH] = {"sawtooth", TREND_SAWTOOTH, 95},
	[TRUTH_STEP] = {"step after reload", TREND_STEP, 95},
	[TRUTH_PLATEAU] = {"plateau", TREND_PLATEAU, 95},
	[TRUTH_STEADY] = {"steady", TREND_NONE, 90},
	[TRUTH_WALK] = {"random walk", TREND_NONE, 0},
};

/* Times from 0 to 1 go to when. */
static void make_times(struct judging_series *series, double span, double when[JUDGING_POINTS])
{
	double step = 1 / (double)(series->count - 1), uneven = judging_between(0, 0.8) * step;

	for (size_t i = 0; i < series->count; i++) {
		bool is_end = i == 0 || i + 1 == series->count;

		when[i] = (double)i * step + (is_end ? 0 : judging_between(-uneven / 2, uneven / 2));
		series->points[i].time = when[i] * span;
	}
}

/* memory: how much of the noise of the point before is left. */
static void add_noise(struct judging_series *series, double noise, double memory)
{
	double rest = judging_normal();

	for (size_t i = 0; i < series->count; i++) {
		series->points[i].value += noise * rest;
		rest = memory * rest + sqrt(1 - memory * memory) * judging_normal();
	}
	series->noise = noise;
}

static void add_leak(struct judging_series *series, double since, double rate)
{
	double span = series->points[series->count - 1].time;

	for (size_t i = 0; i < series->count; i++)
		series->points[i].value += rate * fmax(0, series->points[i].time - since * span);
	series->since = since * span;
	series->rate = rate;
}

/* Random requests leak blocks of one size: some each time, or none. */
static void add_requests(struct judging_series *series)
{
	double size = judging_order(1024, 65536), mean = judging_order(0.3, 100), sum = 0,
	       limit = exp(-mean), product;

	for (size_t i = 0; i < series->count; i++) {
		for (product = judging_between(0, 1); product > limit;
		     product *= judging_between(0, 1))
			sum += size;
		series->points[i].value += sum;
	}
	/* The true rate is that of what came; the error is that of a walk's line. */
	series->rate = sum / series->points[series->count - 1].time;
	series->noise = size * sqrt(mean) * (double)series->count / 3;
}

static void add_load(struct judging_series *series, const double *when, double size)
{
	double end = judging_between(0.02, 0.12);

	for (size_t i = 0; i < series->count; i++)
		series->points[i].value += size * fmin(1, when[i] / end);
	add_leak(series, end,
		 size * judging_between(0.1, 1) / series->points[series->count - 1].time);
}

static void add_cache(struct judging_series *series, const double *when, double size)
{
	double constant = judging_order(1.0 / 6, 0.6);

	for (size_t i = 0; i < series->count; i++)
		series->points[i].value += size * (1 - exp(-when[i] / constant));
}

static void add_bound(struct judging_series *series, const double *when, double size)
{
	double begin = judging_between(0, 0.2), end = judging_between(begin + 0.3, 0.9);

	for (size_t i = 0; i < series->count; i++)
		series->points[i].value += size *
					   fmin(1, fmax(0, (when[i] - begin) / (end - begin)));
}

static void add_days(struct judging_series *series, const double *when, double size)
{
	double length = 1 / judging_between(3, 12), fall = judging_between(0.02, 0.3),
	       phase = judging_between(0, 1);
	double height[32], day, part;

	for (size_t i = 0; i < 32; i++)
		height[i] = size * judging_between(0.8, 1.2);
	for (size_t i = 0; i < series->count; i++) {
		day = when[i] / length + phase;
		part = day - floor(day);
		series->points[i].value += height[(size_t)day] *
					   (part < 1 - fall ? part / (1 - fall) : (1 - part) / fall);
	}
}

static void add_step(struct judging_series *series, const double *when, double size)
{
	double at = judging_between(0.12, 0.88), both = judging_between(0, 0.02);
	bool overlaps = judging_between(0, 1) < 0.5;

	for (size_t i = 0; i < series->count; i++) {
		if (when[i] >= at)
			series->points[i].value += size;
		if (overlaps && when[i] >= at && when[i] < at + both)
			series->points[i].value += size;
	}
}

static void add_start(struct judging_series *series, const double *when, double size)
{
	double constant = judging_order(0.002, 0.05);

	for (size_t i = 0; i < series->count; i++)
		series->points[i].value += size * (1 - exp(-when[i] / constant));
}

static void add_walk(struct judging_series *series, double step)
{
	double sum = 0;

	for (size_t i = 0; i < series->count; i++) {
		series->points[i].value += sum;
		sum += step * judging_normal();
	}
	/* A heap is never below 0. */
	for (size_t i = 0; i < series->count; i++)
		series->points[i].value += step * 10 * sqrt((double)series->count);
}

static void make_leak(enum truth_kind kind, struct judging_series *series, const double *when,
		      double size)
{
	double last = series->points[series->count - 1].time, steps = (double)series->count - 1;

	switch (kind) {
	case TRUTH_LEAK:
	case TRUTH_LEAK_LATE:
		size *= judging_between(0.2, 2);
		add_leak(series, kind == TRUTH_LEAK ? 0 : judging_between(0.1, 0.5), size / last);
		add_noise(series, 10 * size / steps, judging_between(0, 0.3));
		break;
	case TRUTH_LEAK_WALK:
		add_requests(series);
		break;
	default:
		add_load(series, when, size);
		add_noise(series, size * judging_order(0.001, 0.02), judging_between(0, 0.5));
		break;
	}
}

/* The same series for the same arguments; points are at uneven distances, over 5 s to 10 days. */
static void truth_make(enum truth_kind kind, enum truth_size few, uint64_t seed,
		       struct judging_series *series)
{
	static double when[JUDGING_POINTS];
	double size, span;

	judging_seed(seed * TRUTH_KINDS + kind);
	memset(series, 0, sizeof(*series));
	series->count = (size_t)(few ? judging_order(10, 60) : judging_order(60, JUDGING_POINTS));
	span = judging_order(5, 864000);
	size = judging_order(1 << 20, 1 << 30);
	make_times(series, span, when);
	for (size_t i = 0; i < series->count; i++)
		series->points[i].value = kind == TRUTH_PLATEAU || kind == TRUTH_WALK ? 0 : size;
	switch (kind) {
	case TRUTH_FILLING_KEYS:
		add_cache(series, when, size);
		add_noise(series, size * judging_order(0.001, 0.03), judging_between(0, 0.5));
		break;
	case TRUTH_FILLING_BOUND:
		add_bound(series, when, size);
		add_noise(series, size * judging_order(0.001, 0.05), judging_between(0, 0.5));
		break;
	case TRUTH_SAWTOOTH:
		add_days(series, when, size);
		add_noise(series, size * judging_order(0.001, 0.1), judging_between(0, 0.5));
		break;
	case TRUTH_STEP:
		add_step(series, when, size * judging_between(0.1, 1));
		add_noise(series, size * judging_order(0.001, 0.02), judging_between(0, 0.5));
		break;
	case TRUTH_PLATEAU:
		add_start(series, when, size);
		add_noise(series, size * judging_order(0.0001, 0.1), judging_between(0, 0.9));
		break;
	case TRUTH_STEADY:
		add_noise(series, size * judging_order(0.0001, 0.1), judging_between(0, 0.9));
		break;
	case TRUTH_WALK:
		add_walk(series, size * judging_order(0.0001, 0.1));
		break;
	default:
		make_leak(kind, series, when, size);
		break;
	}
}

/* --- what comes of it ------------------------------------------------------------------------ */

enum { SEEDS = 300 };

static void count(enum truth_kind kind, enum truth_size size, struct judging_tally *tally)
{
	static struct judging_series series;
	uint64_t seed;

	memset(tally, 0, sizeof(*tally));
	for (seed = 1; seed <= judging_seeds(SEEDS); seed++) {
		truth_make(kind, size, seed, &series);
		judging_count(&series, tally);
	}
}

static void test_many_points(void **state)
{
	struct judging_tally tally;

	(void)state;
	judging_print_head("60 to 4,096 points");
	for (unsigned i = 0; i < TRUTH_KINDS; i++) {
		count((enum truth_kind)i, TRUTH_MANY, &tally);
		judging_print(&truth_kinds[i], &tally);
		judging_check_alarms(&truth_kinds[i], &tally);
		judging_check_promise(&truth_kinds[i], &tally);
	}
}

/* What few points do not show is not claimed. */
static void test_few_points(void **state)
{
	struct judging_tally tally;

	(void)state;
	judging_print_head("10 to 60 points");
	for (unsigned i = 0; i < TRUTH_KINDS; i++) {
		count((enum truth_kind)i, TRUTH_FEW, &tally);
		judging_print(&truth_kinds[i], &tally);
		judging_check_alarms(&truth_kinds[i], &tally);
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
