/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * trend_judging.c - random numbers, and counting what trend_read() says of made series.
 */
#include "trend_judging.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { LEAST = 4096 };

#define SLOPE_ERROR 0.05
#define SLOPE_SIGMAS 4

static uint64_t seeded;

void judging_seed(uint64_t seed)
{
	seeded = seed;
}

/* Steele, Lea and Flood's SplitMix64. */
static uint64_t next_random(void)
{
	uint64_t x = seeded += UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

double judging_between(double low, double high)
{
	return low + (high - low) * (double)(next_random() >> 11) * 0x1p-53;
}

double judging_order(double low, double high)
{
	return low * pow(high / low, judging_between(0, 1));
}

double judging_normal(void)
{
	return sqrt(-2 * log(judging_between(1e-12, 1))) * cos(judging_between(0, 2 * M_PI));
}

uint64_t judging_seeds(uint64_t usual)
{
	const char *text = getenv("PMEM_TREND_SEEDS");
	uint64_t given = text ? strtoull(text, NULL, 10) : usual;

	return given ? given : 1;
}

/* The standard error, as part of the rate, with which the best straight line through the leak's points finds it. */
static double error_of(const struct judging_series *series)
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

void judging_count(const struct judging_series *series, struct judging_tally *tally)
{
	struct trend trend;

	trend_read(series->points, series->count, LEAST, &trend);
	tally->seeds++;
	tally->classes[trend.class]++;
	if (trend.class != TREND_LEAK || series->rate <= 0 ||
	    SLOPE_SIGMAS * error_of(series) >= SLOPE_ERROR)
		return;
	tally->slopes++;
	tally->wrong_slopes += fabs(trend.rate / series->rate - 1) > SLOPE_ERROR;
}

void judging_print_head(const char *title)
{
	print_message("# %-24s", title);
	for (int i = 0; i < TREND_CLASSES; i++)
		print_message(" %8s", trend_class_name((enum trend_class)i));
	print_message("   slopes > 5 %% off\n");
}

void judging_print(const struct judging_truth *truth, const struct judging_tally *tally)
{
	print_message("# %-24s", truth->name);
	for (int i = 0; i < TREND_CLASSES; i++)
		print_message(" %8llu", (unsigned long long)tally->classes[i]);
	if (tally->slopes)
		print_message("   %llu of %llu", (unsigned long long)tally->wrong_slopes,
			      (unsigned long long)tally->slopes);
	print_message("\n");
}

void judging_check_promise(const struct judging_truth *truth, const struct judging_tally *tally)
{
	if (tally->classes[truth->class] * 100 < truth->promised * tally->seeds)
		fail_msg("%s: %llu of %llu are right", truth->name,
			 (unsigned long long)tally->classes[truth->class],
			 (unsigned long long)tally->seeds);
}

void judging_check_alarms(const struct judging_truth *truth, const struct judging_tally *tally)
{
	if (truth->class != TREND_LEAK && tally->classes[TREND_LEAK] > tally->seeds / 100 + 2)
		fail_msg("%s: %llu false alarms", truth->name,
			 (unsigned long long)tally->classes[TREND_LEAK]);
	if (tally->wrong_slopes * 50 > tally->slopes)
		fail_msg("%s: %llu slopes are wrong", truth->name,
			 (unsigned long long)tally->wrong_slopes);
}
