/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * robust.h - statistics of a series that a third of wild points cannot move.  Pure functions: numbers in, numbers out.
 *
 * Theil and Sen's slope is the median of the slopes between all pairs of points.  Mann and Kendall's test asks whether more
 * pairs rise than chance explains; neighbours that are alike (autocorrelation) make it see trends everywhere, so it is
 * told how many independent points the series is worth.
 */
#ifndef PMEM_PROFILE_ROBUST_H
#define PMEM_PROFILE_ROBUST_H
#include <stddef.h>

/* Most points of a series: the slope looks at all pairs. */
enum { ROBUST_POINTS = 200 };

struct robust_point {
	double time;
	double value;
};

/* Their order changes.  count > 0. */
double robust_median(double *values, size_t count);

/* The mean of the middle half: nearly as exact as the mean, nearly as hard to move as the median.  Their order changes; count > 0. */
double robust_middle(double *values, size_t count);

/* The mean of the middle half of their values, at their mean time.  values: scratch for count of them; count > 0. */
struct robust_point robust_middle_point(const struct robust_point *points, size_t count,
					double *values);

/* Thins out to ROBUST_POINTS: parts of equal length in time become one point each, the mean of the middle half of theirs.
 * Returns how many; 0: no memory. */
size_t robust_thin(const struct robust_point *points, size_t count,
		   struct robust_point thinned[ROBUST_POINTS]);

/* Points by time, not more than ROBUST_POINTS.  0 if no two have different times. */
double robust_slope(const struct robust_point *points, size_t count);

/* The normal deviate of Mann and Kendall's S, with ties and continuity corrected; its variance is that of a series in which only
 * effective (1 to count) points are independent.  > 0: it rises; 0 if all values are equal. */
double robust_kendall(const struct robust_point *points, size_t count, double effective);

/* Correlation of neighbours, as it is in series of residuals: corrected for the bias of a few points, 0 to 0.98.  What is below
 * floor (> 0, a standard deviation) counts as independent noise. */
double robust_autocorrelation(const double *residuals, size_t count, double floor);

/* How many independent points count ones are worth. */
double robust_effective(size_t count, double autocorrelation);

/* The normal deviate that is as rare as Student's t (Wallace's approximation). */
double robust_deviate(double t, double freedom);

/* The probability that chance gives so large a deviate, of either sign. */
double robust_p(double deviate);

#endif
