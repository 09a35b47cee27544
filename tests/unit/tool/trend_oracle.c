/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * trend_oracle.c - what few points can show at best: the power of the optimal detector, beside that of trend_read().
 *
 * The leak of the judge's rows: a line that begins at the start or later, in normal noise ten times what it adds from point to point.  What it must be told
 * from: a level whose steps, by chance, are kept, in the same noise.  Who knows all of it (rate, begin, noise, size of the steps) can do no better than
 * Neyman and Pearson's ratio of the two likelihoods, with the threshold that gives 5 false alarms in 1,000; the size of the steps is the one
 * that is worst for it.  Levels are not known: the ratio is that of the differences of neighbours.
 *
 *   PMEM_TREND_SEEDS=20000 trend_oracle
 *
 * prints per cent of leaks found, for numbers of points and begins; then the same of trend_read(), of a tenth of the series, and its false alarms on
 * the steps that were worst.  What comes out of it is in doc/VERDICT.md.
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "profile/trend.h"
#include "trend_judging.h"

enum { SEEDS = 2000, POINTS_MAX = 200, READ_PART = 10, LEAST = 4096 };

#define FALSE_ALARMS 0.005
#define RATE 1e5 /* bytes a point: far above what trend_read() takes for nothing */
#define NOISE (10 * RATE)

struct question {
	size_t points;
	double begin; /* a share of the time */
	double steps; /* standard deviation of what is kept from point to point */
};

struct power {
	double found;
	double steps; /* the worst ones */
};

static double line_at(const struct question *question, size_t i)
{
	return RATE * fmax(0, (double)i - question->begin * (double)(question->points - 1));
}

static void make(const struct question *question, bool leak, double values[POINTS_MAX])
{
	double kept = 0;

	for (size_t i = 0; i < question->points; i++) {
		values[i] = (leak ? line_at(question, i) : kept) + NOISE * judging_normal();
		kept += question->steps * judging_normal();
	}
}

/* Minus twice the logarithm of the likelihood of the differences, but for a constant: noise of one less that of the other, and steps. */
static double unlikely(const struct question *question, const double values[POINTS_MAX], bool leak)
{
	double steps = leak ? 0 : question->steps * question->steps, noise = NOISE * NOISE;
	double factor = 0, white = 0, sum = 0;

	for (size_t i = 0; i + 1 < question->points; i++) {
		double value = values[i + 1] - values[i];
		double root = sqrt(steps + 2 * noise - factor * factor);

		if (leak)
			value -= line_at(question, i + 1) - line_at(question, i);
		white = (value + factor * white) / root;
		sum += white * white + 2 * log(root);
		factor = noise / root;
	}
	return sum;
}

static double ratio(const struct question *question, bool leak)
{
	double values[POINTS_MAX];

	make(question, leak, values);
	return unlikely(question, values, false) - unlikely(question, values, true);
}

static int by_value(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

static double found_with(const struct question *question, size_t seeds)
{
	double *ratios = calloc(seeds, sizeof(*ratios)), threshold;
	size_t found = 0;

	if (!ratios)
		exit(1);
	for (size_t i = 0; i < seeds; i++)
		ratios[i] = ratio(question, false);
	qsort(ratios, seeds, sizeof(*ratios), by_value);
	threshold = ratios[seeds - 1 - (size_t)((double)seeds * FALSE_ALARMS)];
	for (size_t i = 0; i < seeds; i++)
		found += ratio(question, true) > threshold;
	free(ratios);
	return (double)found / (double)seeds;
}

/* Steps of ever other sizes: small ones never rise so far, large ones show. */
static struct power worst(struct question *question, size_t seeds)
{
	struct power power = {2, 0};

	for (double steps = RATE / 4; steps < 8 * RATE; steps *= 1.25) {
		double found;

		question->steps = steps;
		found = found_with(question, seeds);
		if (found < power.found)
			power = (struct power){found, steps};
	}
	question->steps = power.steps;
	return power;
}

/* The share of series that trend_read() calls leaks. */
static double read_as_leaks(const struct question *question, bool leak, size_t seeds)
{
	struct robust_point points[POINTS_MAX];
	double values[POINTS_MAX];
	size_t found = 0;

	for (size_t n = 0; n < seeds; n++) {
		struct trend trend;

		make(question, leak, values);
		for (size_t i = 0; i < question->points; i++)
			points[i] = (struct robust_point){(double)i, 1e9 + values[i]};
		trend_read(points, question->points, LEAST, &trend);
		found += trend.class == TREND_LEAK;
	}
	return (double)found / (double)seeds;
}

int main(void)
{
	static const size_t points[] = {60, 70, 80, 100, 120, 160, 200};
	static const double begins[] = {0, 0.1, 0.3, 0.5};
	size_t seeds = judging_seeds(SEEDS), some = seeds / READ_PART + 1;

	judging_seed(1);
	printf("points  begin  oracle  worst steps  trend_read  its false alarms\n");
	for (unsigned b = 0; b < sizeof(begins) / sizeof(*begins); b++)
		for (unsigned p = 0; p < sizeof(points) / sizeof(*points); p++) {
			struct question question = {points[p], begins[b], 0};
			struct power power = worst(&question, seeds);

			printf("%6zu  %3.0f %%  %5.1f %%  %4.1f x rate  %10.1f %%  %15.1f %%\n",
			       points[p], begins[b] * 100, power.found * 100, power.steps / RATE,
			       read_as_leaks(&question, true, some) * 100,
			       read_as_leaks(&question, false, some) * 100);
			fflush(stdout);
		}
	return 0;
}
