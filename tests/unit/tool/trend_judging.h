/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * trend_judging.h - what sets of made series share: random numbers, and counting what trend_read() says of them.
 */
#ifndef PMEM_TESTS_TREND_JUDGING_H
#define PMEM_TESTS_TREND_JUDGING_H
#include <stddef.h>
#include <stdint.h>

#include "profile/trend.h"

/* The same seed, the same numbers. */
void judging_seed(uint64_t seed);
double judging_between(double low, double high);
double judging_order(double low, double high); /* on a logarithmic scale */
double judging_normal(void);

enum { JUDGING_POINTS = 4096 };

struct judging_series {
	struct robust_point points[JUDGING_POINTS];
	size_t count;
	double noise; /* standard deviation of what is added */
	double since; /* of a leak */
	double rate;
};

struct judging_tally {
	uint64_t seeds;
	uint64_t classes[TREND_CLASSES];
	uint64_t slopes; /* that could be exact: four standard errors of the best line are less than 5 % */
	uint64_t wrong_slopes;
};

/* What a kind of series is, and per cent that must be told right. */
struct judging_truth {
	const char *name;
	enum trend_class class;
	unsigned promised;
};

/* PMEM_TREND_SEEDS, or without it so many. */
uint64_t judging_seeds(uint64_t usual);

void judging_count(const struct judging_series *series, struct judging_tally *tally);
void judging_print_head(const char *title);
void judging_print(const struct judging_truth *truth, const struct judging_tally *tally);

/* Fails unless as many are right as promised. */
void judging_check_promise(const struct judging_truth *truth, const struct judging_tally *tally);

/* Fails if of what is no leak more than one in a hundred is called one (of few seeds two more), or if more than two in a hundred slopes are
 * off by more than 5 %. */
void judging_check_alarms(const struct judging_truth *truth, const struct judging_tally *tally);

#endif
