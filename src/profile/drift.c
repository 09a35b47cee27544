/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * drift.c - whether a series drifts, or only wanders.
 *
 * The differences of neighbours are the drift, and a kept step, and the noise of one less that of the other.  Their covariance has three
 * diagonals: whitened by its Cholesky factor they follow a line by least squares.  Slope and variance are integrated over (Student's t, and
 * the restricted likelihood as the mixture's weight).
 *
 * The answers' mean is that of their square roots, squared: between the mean, in which a walk decides that the series makes unlikely, and the
 * logarithms' mean, in which a noise does that is unlikely.
 */
#include "profile/drift.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

enum { MIXTURES = 24, POINTS_MIN = 5, PARTS = 9, PART_MIN = 3 };

/* Of neighbours; times as multiples of their mean. */
struct difference {
	double time;
	double late; /* the part of it that is not before the drift */
	double value;
};

struct differences {
	struct difference items[ROBUST_POINTS];
	size_t count;
	double floor;
};

struct answer {
	double weight; /* logarithm */
	double p;
};

static void make_differences(const struct drift *drift, struct differences *differences)
{
	const struct robust_point *points = drift->points;
	double span = points[drift->count - 1].time - points[0].time;
	double mean = span / (double)(drift->count - 1);

	differences->count = drift->count - 1;
	differences->floor = drift->floor;
	for (size_t i = 0; i < differences->count; i++) {
		double from = points[i].time, to = points[i + 1].time;

		differences->items[i] = (struct difference){
			(to - from) / mean,
			(fmax(to, drift->since) - fmax(from, drift->since)) / mean,
			points[i + 1].value - points[i].value,
		};
	}
}

/* Sums over whitened differences, and the logarithm of the covariance's determinant. */
struct sums {
	double lates; /* of squares */
	double values;
	double product;
	double determinant;
};

static void whiten(const struct differences *differences, double steps, struct sums *sums)
{
	double noise = (1 - steps) / 2, factor = 0, late = 0, value = 0;

	*sums = (struct sums){.determinant = 0};
	for (size_t i = 0; i < differences->count; i++) {
		const struct difference *item = &differences->items[i];
		double variance = steps * item->time + 2 * noise - factor * factor;
		double root = sqrt(fmax(variance, DBL_EPSILON));

		late = (item->late + factor * late) / root;
		value = (item->value + factor * value) / root;
		sums->lates += late * late;
		sums->values += value * value;
		sums->product += late * value;
		sums->determinant += 2 * log(root);
		factor = noise / root;
	}
}

/* If so large a share of the differences' variance is that of steps. */
static struct answer ask(const struct differences *differences, double steps)
{
	double n = (double)differences->count, freedom = n - 1, left;
	struct sums sums;

	whiten(differences, steps, &sums);
	left = fmax(sums.values - sums.product * sums.product / sums.lates, 0) +
	       n * differences->floor * differences->floor;
	return (struct answer){
		-(sums.determinant + log(sums.lates) + freedom * log(left)) / 2,
		robust_p(robust_deviate(sums.product / sqrt(sums.lates * left / freedom), freedom)),
	};
}

double drift_p(const struct drift *drift)
{
	struct differences differences;
	struct answer answers[MIXTURES];
	double best = -DBL_MAX, sum = 0, roots = 0, n = (double)drift->count;

	if (drift->count < POINTS_MIN || !(drift->points[drift->count - 1].time > drift->since))
		return 1;
	make_differences(drift, &differences);
	for (unsigned i = 0; i < MIXTURES; i++) {
		/* From what over all points is no more than the noise of one, to nothing but steps. */
		answers[i] = ask(&differences, pow(n, -2 + 2 * (double)i / (MIXTURES - 1)));
		best = fmax(best, answers[i].weight);
	}
	for (unsigned i = 0; i < MIXTURES; i++) {
		double weight = exp(answers[i].weight - best);

		sum += weight;
		roots += weight * sqrt(answers[i].p);
	}
	return pow(roots / sum, 2);
}

/* Student's t of the line through rates at equal distances; what is left of them is how much they differ by chance. */
static double deviate_of_rates(const double rates[PARTS - 1])
{
	double n = PARTS - 1, mean = 0, spread = 0, product = 0, left = 0, slope;

	for (int i = 0; i < PARTS - 1; i++)
		mean += rates[i] / n;
	for (int i = 0; i < PARTS - 1; i++) {
		double at = i - (n - 1) / 2;

		spread += at * at;
		product += at * (rates[i] - mean);
	}
	slope = product / spread;
	for (int i = 0; i < PARTS - 1; i++)
		left += pow(rates[i] - mean - slope * (i - (n - 1) / 2), 2);
	return robust_deviate(slope * sqrt(spread / (left / (n - 2) + DBL_MIN)), n - 2);
}

double drift_slows_p(const struct drift *drift)
{
	const struct robust_point *points = drift->points;
	size_t count = drift->count, begin = 0;
	struct robust_point means[PARTS];
	double values[ROBUST_POINTS], rates[PARTS - 1], deviate;

	while (count > 0 && points->time < drift->since) {
		points++;
		count--;
	}
	if (count < PARTS * PART_MIN)
		return 1;
	for (size_t i = 0; i < PARTS; i++) {
		size_t end = (i + 1) * count / PARTS;

		means[i] = robust_middle_point(points + begin, end - begin, values);
		begin = end;
	}
	for (size_t i = 0; i + 1 < PARTS; i++) {
		double time = means[i + 1].time - means[i].time;

		rates[i] = time > 0 ? (means[i + 1].value - means[i].value) / time : 0;
	}
	deviate = deviate_of_rates(rates);
	return deviate < 0 ? robust_p(deviate) : 1;
}
