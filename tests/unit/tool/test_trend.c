/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_trend.c - the statistics by hand-made examples, and the classes of made series: how many are right, how many false alarms.
 *
 * PMEM_TREND_SEEDS: series of each kind, 500 by default.  The table in doc/VERDICT.md is what 1000 print.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "profile/drift.h"
#include "trend_series.h"

enum { LEAST = 16384 };

static void assert_near(double value, double wanted, double allowed)
{
	if (!(fabs(value - wanted) <= allowed))
		fail_msg("%g is not %g +- %g", value, wanted, allowed);
}

/* Against a sort, for all lengths and many equal values. */
static int compare(const void *a, const void *b)
{
	return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

static void test_median(void **state)
{
	double values[60], sorted[60];
	unsigned random = 1;

	(void)state;
	for (unsigned round = 0; round < 3000; round++) {
		unsigned count = 1 + round % 60, range = 1 + round % 7 * 9;

		for (unsigned i = 0; i < count; i++) {
			random = random * 1103515245 + 12345;
			values[i] = sorted[i] = (random >> 16) % range;
		}
		qsort(sorted, count, sizeof(*sorted), compare);
		assert_near(robust_median(values, count),
			    (sorted[count / 2] + sorted[(count - 1) / 2]) / 2, 0);
	}
}

static void test_middle(void **state)
{
	double few[] = {4, 1, 100}, eight[] = {1000, 5, 4, 3, 2, 6, -9000, 1};

	(void)state;
	assert_near(robust_middle(few, 3), 35, 1e-12);
	assert_near(robust_middle(eight, 8), 3.5, 1e-12);
}

/* A third of wild points does not move it. */
static void test_slope(void **state)
{
	struct robust_point points[30];

	(void)state;
	for (unsigned i = 0; i < 30; i++)
		points[i] = (struct robust_point){i * 2, i % 7 < 2 ? 1e9 : 100 + 6.0 * i};
	assert_near(robust_slope(points, 30), 3, 1e-9);
	points[1].time = points[0].time;
	assert_near(robust_slope(points, 2), 0, 0);
}

/* Without ties: S = 45, variance 10 * 9 * 25 / 18 = 125.  With: 1 2 2 3 3 3: S = 11, variance (6 * 5 * 17 - 2 * 9 - 3 * 2 * 11) / 18. */
static void test_kendall(void **state)
{
	struct robust_point points[10];
	const double tied[] = {1, 2, 2, 3, 3, 3};

	(void)state;
	for (unsigned i = 0; i < 10; i++)
		points[i] = (struct robust_point){i, i * i};
	assert_near(robust_kendall(points, 10, 10), 44 / sqrt(125), 1e-12);
	assert_near(robust_kendall(points, 10, 2.5), 22 / sqrt(125), 1e-12);
	for (unsigned i = 0; i < 6; i++)
		points[i].value = -tied[i];
	assert_near(robust_kendall(points, 6, 6), -10 / sqrt(426.0 / 18), 1e-12);
	for (unsigned i = 0; i < 6; i++)
		points[i].value = 7;
	assert_near(robust_kendall(points, 6, 6), 0, 0);
}

/* Two-sided 5 % and 0.1 %: Student's tables. */
static void test_deviates(void **state)
{
	(void)state;
	assert_near(robust_p(robust_deviate(2.228, 10)), 0.05, 0.0005);
	assert_near(robust_p(robust_deviate(-4.587, 10)), 0.001, 0.00005);
	assert_near(robust_p(1.959964), 0.05, 1e-6);
	assert_near(robust_effective(100, 0.5), 100 / 3.0, 1e-9);
	assert_near(robust_effective(10, 0.98), 1, 0);
}

/* A drift of 1 below noise of 3 shows; one that is said to begin in the middle, where it does not, shows less.  Steps of 3 that are kept drift by chance. */
static void test_drift(void **state)
{
	struct robust_point noisy[60], walked[60];
	struct drift drift = {noisy, 60, 0, 0.01};
	unsigned random = 1;
	double at = 0;

	(void)state;
	for (unsigned i = 0; i < 60; i++) {
		double value = (random = random * 1103515245 + 12345) >> 24 & 1 ? 3 : -3;

		at += value;
		noisy[i] = (struct robust_point){i, i + value};
		walked[i] = (struct robust_point){i, at};
	}
	assert_true(drift_p(&drift) < 1e-8);
	drift.points = walked;
	assert_true(drift_p(&drift) > 0.01);
	drift.points = noisy;
	drift.since = 30;
	assert_true(drift_p(&drift) > 0.001);
	drift.since = 59;
	assert_near(drift_p(&drift), 1, 0);
	drift.since = 0;
	drift.count = 4;
	assert_near(drift_p(&drift), 1, 0);
}

/* A curve that bends little falls for sure; steps of 0 or 2 that came more often at first may have done so by chance; a line, and one that rises ever
 * faster, do not fall. */
static void test_slowing(void **state)
{
	struct robust_point curve[60], walked[60];
	struct drift drift = {curve, 60, 0, 0.01};
	unsigned random = 14;
	double at = 0;

	(void)state;
	for (unsigned i = 0; i < 60; i++) {
		at += (random = random * 1103515245 + 12345) >> 24 & 1 ? 2 : 0;
		curve[i] = (struct robust_point){i, 1 - exp(-(double)i / 60)};
		walked[i] = (struct robust_point){i, at};
	}
	assert_true(drift_slows_p(&drift) < 1e-4);
	drift.points = walked;
	assert_true(drift_slows_p(&drift) > 0.01);
	for (unsigned i = 0; i < 60; i++)
		curve[i].value = exp((double)i / 60);
	drift.points = curve;
	assert_near(drift_slows_p(&drift), 1, 0);
	for (unsigned i = 0; i < 60; i++)
		curve[i].value = 1 - exp(-(double)i / 60);
	/* Fewer than three points in each of nine parts. */
	drift.since = 34;
	assert_near(drift_slows_p(&drift), 1, 0);
	drift.since = 33;
	assert_true(drift_slows_p(&drift) < 0.01);
}

static struct trend read_all(const double *values, unsigned count)
{
	struct robust_point points[64];
	struct trend trend;

	for (unsigned i = 0; i < count; i++)
		points[i] = (struct robust_point){100 + i, values[i] * 1e6};
	trend_read(points, count, LEAST, &trend);
	return trend;
}

static void test_exact_shapes(void **state)
{
	const double line[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10},
		     level[] = {3, 3, 3, 3, 3, 3, 3, 3, 3, 3},
		     step[] = {1, 1, 1, 1, 1, 5, 5, 5, 5, 5},
		     late[] = {2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 4, 5, 6, 7, 8, 9, 10},
		     saw[] = {1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6,
			      1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6},
		     down[] = {10, 9, 8, 7, 6, 5, 4, 3, 2, 1};
	struct trend trend;

	(void)state;
	trend = read_all(line, 10);
	assert_int_equal(trend.class, TREND_LEAK);
	assert_near(trend.rate, 1e6, 1);
	assert_near(trend.since, 100, 0);
	assert_true(trend.p < 1e-3 && trend.confidence > 0.9);
	trend = read_all(late, 18);
	assert_int_equal(trend.class, TREND_LEAK);
	assert_near(trend.since, 109, 1);
	assert_near(trend.rate, 1e6, 1);
	trend = read_all(step, 10);
	assert_int_equal(trend.class, TREND_STEP);
	assert_near(trend.since, 105, 0);
	assert_near(trend.rate, 0, 0);
	trend = read_all(saw, 24);
	assert_int_equal(trend.class, TREND_SAWTOOTH);
	assert_int_equal(trend.course, TREND_SWINGING);
	trend = read_all(level, 10);
	assert_int_equal(trend.class, TREND_NONE);
	assert_int_equal(trend.course, TREND_STEADY);
	trend = read_all(down, 10);
	assert_int_equal(trend.class, TREND_NONE);
	assert_int_equal(trend.course, TREND_FALLING);
	assert_near(trend.rate, -1e6, 1);
}

/* Seen up to its time constant a cache that fills bends little, but surely; and one that has been full for a tenth of the time has a level. */
static void test_caches_that_bend_little(void **state)
{
	double values[60];

	(void)state;
	for (unsigned i = 0; i < 60; i++)
		values[i] = i < 20 ? 1 : 1 + 20 * (1 - exp((20 - (double)i) / 40));
	assert_int_equal(read_all(values, 60).class, TREND_FILLING);
	for (unsigned i = 0; i < 60; i++)
		values[i] = i < 20 ? 1 : 1 + (i < 55 ? i - 20 : 35);
	assert_int_equal(read_all(values, 60).class, TREND_FILLING);
	/* A level that is one point old is none yet. */
	for (unsigned i = 0; i < 60; i++)
		values[i] = i < 20 ? 1 : 1 + (i < 59 ? i - 20 : 38);
	assert_int_equal(read_all(values, 60).class, TREND_LEAK);
}

/* A load, a level, and then a leak: it did not begin when the load was over. */
static void test_leak_after_a_load_and_a_level(void **state)
{
	double values[60];
	struct trend trend;

	(void)state;
	for (unsigned i = 0; i < 60; i++)
		values[i] = (i < 3 ? 4 * i : 12) + (i < 6 ? 0 : 0.5) +
			    (i > 25 ? 0.1 * (i - 25) : 0) + 0.01 * (i % 3);
	trend = read_all(values, 60);
	assert_int_equal(trend.class, TREND_LEAK);
	assert_near(trend.since, 125, 1);
	assert_near(trend.rate, 0.1e6, 1e3);
}

/* Neither too little nor odd times make trouble. */
static void test_too_little(void **state)
{
	struct robust_point points[8];
	struct trend trend;

	(void)state;
	for (unsigned i = 0; i < 8; i++)
		points[i] = (struct robust_point){5, i * 1e6};
	for (unsigned count = 0; count <= 8; count++) {
		trend_read(points, count, LEAST, &trend);
		assert_int_equal(trend.course, TREND_UNKNOWN);
		assert_int_equal(trend.class, TREND_NONE);
	}
	/* What is less than the least is no rise. */
	for (unsigned i = 0; i < 8; i++)
		points[i] = (struct robust_point){i, i * 2000};
	trend_read(points, 8, LEAST, &trend);
	assert_int_equal(trend.course, TREND_STEADY);
}

/* All points of a part of the time become one; nearly all at one moment, and the rest far away, are few parts. */
static void test_thinning(void **state)
{
	static struct robust_point points[1000];
	struct robust_point thinned[ROBUST_POINTS];

	(void)state;
	for (unsigned i = 0; i < 1000; i++)
		points[i] = (struct robust_point){i, i};
	assert_int_equal(robust_thin(points, 1000, thinned), ROBUST_POINTS);
	assert_near(thinned[0].time, 2, 1e-9);
	assert_near(thinned[0].value, 2, 1e-9);
	assert_near(thinned[100].time - thinned[0].time, thinned[100].value - thinned[0].value,
		    1e-6);
	for (unsigned i = 0; i < 999; i++)
		points[i].time = i * 1e-9;
	assert_int_equal(robust_thin(points, 1000, thinned), 2);
	assert_near(thinned[1].value, 999, 0);
}

struct tally {
	unsigned classes[TREND_CLASSES];
	unsigned near; /* rate within 5 % */
	double errors[10000];
};

static unsigned seeds(void)
{
	const char *given = getenv("PMEM_TREND_SEEDS");
	unsigned count = given ? (unsigned)atoi(given) : 500;

	return count < 1 ? 1 : count > 10000 ? 10000 : count;
}

static void count_kind(const struct made_kind *kind, struct tally *tally)
{
	static struct made made;

	*tally = (struct tally){.near = 0};
	for (unsigned seed = 0; seed < seeds(); seed++) {
		struct trend trend;

		made_series(kind, seed, &made);
		trend_read(made.points, made.count, LEAST, &trend);
		tally->classes[trend.class]++;
		assert_true(trend.confidence >= 0 && trend.confidence <= 1);
		tally->errors[seed] = made.rate > 0 ? fabs(trend.rate / made.rate - 1) : 0;
		tally->near += tally->errors[seed] <= 0.05;
	}
}

static void print_row(const struct made_kind *kind, struct tally *tally)
{
	printf("# | %-17s |", kind->name);
	for (unsigned class = 0; class < TREND_CLASSES; class ++)
		printf(" %5.1f", 100.0 * tally->classes[class] / seeds());
	if (kind->truth == TREND_LEAK)
		printf(" | %5.1f | %.1f %%", 100.0 * tally->near / seeds(),
		       100 * robust_median(tally->errors, seeds()));
	printf("\n");
}

static void test_made_series(void **state)
{
	static struct tally tally;

	(void)state;
	printf("# %% of %u seeds      | none leak filling sawtooth step plateau | rate within 5 %% "
	       "| median error\n",
	       seeds());
	for (const struct made_kind *kind = made_kinds; kind->name; kind++) {
		count_kind(kind, &tally);
		print_row(kind, &tally);
		if (kind->promised && tally.classes[kind->truth] * 100 < seeds() * 95)
			fail_msg("%s: %u of %u right", kind->name, tally.classes[kind->truth],
				 seeds());
		if (kind->truth == TREND_LEAK && tally.classes[TREND_LEAK] * 100 < seeds() * 90)
			fail_msg("%s: %u of %u found", kind->name, tally.classes[TREND_LEAK],
				 seeds());
		if (kind->promised && kind->truth == TREND_LEAK && tally.near * 100 < seeds() * 95)
			fail_msg("%s: %u of %u rates are right", kind->name, tally.near, seeds());
		if (kind->truth != TREND_LEAK && tally.classes[TREND_LEAK] > seeds() / 100 + 2)
			fail_msg("%s: %u of %u false alarms", kind->name, tally.classes[TREND_LEAK],
				 seeds());
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_median),
		cmocka_unit_test(test_middle),
		cmocka_unit_test(test_slope),
		cmocka_unit_test(test_kendall),
		cmocka_unit_test(test_deviates),
		cmocka_unit_test(test_drift),
		cmocka_unit_test(test_slowing),
		cmocka_unit_test(test_caches_that_bend_little),
		cmocka_unit_test(test_exact_shapes),
		cmocka_unit_test(test_leak_after_a_load_and_a_level),
		cmocka_unit_test(test_too_little),
		cmocka_unit_test(test_thinning),
		cmocka_unit_test(test_made_series),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
