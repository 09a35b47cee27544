/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * robust.c - statistics of a series that a third of wild points cannot move.
 */
#include "profile/robust.h"

#include <math.h>
#include <stdlib.h>

enum { PAIRS = ROBUST_POINTS * (ROBUST_POINTS - 1) / 2 };

#define CORRELATION_MAX 0.98

static void swap(double *a, double *b)
{
	double keep = *a;

	*a = *b;
	*b = keep;
}

/* Moves the value of rank k to place k, what is less before it, what is larger behind it. */
static double select_rank(double *values, size_t count, size_t k)
{
	size_t low = 0, high = count - 1;

	while (low < high) {
		double pivot = values[low + (high - low) / 2];
		size_t i = low, j = high;

		for (;;) {
			while (values[i] < pivot)
				i++;
			while (values[j] > pivot)
				j--;
			if (i >= j)
				break;
			swap(&values[i++], &values[j--]);
		}
		/* Now none up to j is larger than the pivot, and none behind it less. */
		if (k <= j)
			high = j;
		else
			low = j + 1;
	}
	return values[k];
}

double robust_median(double *values, size_t count)
{
	double upper = select_rank(values, count, count / 2), lower = values[0];

	if (count % 2)
		return upper;
	for (size_t i = 1; i < count / 2; i++)
		lower = values[i] > lower ? values[i] : lower;
	return (lower + upper) / 2;
}

double robust_middle(double *values, size_t count)
{
	size_t cut = count / 4, i;
	double sum = 0;

	if (cut) {
		select_rank(values, count, cut);
		select_rank(values + cut, count - cut, count - 2 * cut - 1);
	}
	for (i = cut; i < count - cut; i++)
		sum += values[i];
	return sum / (double)(count - 2 * cut);
}

struct robust_point robust_middle_point(const struct robust_point *points, size_t count,
					double *values)
{
	struct robust_point point = {0, 0};

	for (size_t i = 0; i < count; i++) {
		point.time += (points[i].time - points[0].time) / (double)count;
		values[i] = points[i].value;
	}
	point.time += points[0].time;
	point.value = robust_middle(values, count);
	return point;
}

size_t robust_thin(const struct robust_point *points, size_t count,
		   struct robust_point thinned[ROBUST_POINTS])
{
	double *values, part;
	size_t kept = 0, begin = 0;

	if (count <= ROBUST_POINTS) {
		for (size_t i = 0; i < count; i++)
			thinned[i] = points[i];
		return count;
	}
	values = malloc(count * sizeof(*values));
	if (!values)
		return 0;
	part = (points[count - 1].time - points[0].time) / ROBUST_POINTS;
	while (begin < count && kept < ROBUST_POINTS) {
		double number = floor((points[begin].time - points[0].time) / part);
		double until = points[0].time + part * (number + 1);
		size_t end = begin + 1;

		while (end < count && (points[end].time < until || kept == ROBUST_POINTS - 1))
			end++;
		thinned[kept++] = robust_middle_point(points + begin, end - begin, values);
		begin = end;
	}
	free(values);
	return kept;
}

double robust_slope(const struct robust_point *points, size_t count)
{
	double slopes[PAIRS];
	size_t i, j, n = 0;

	for (i = 0; i < count; i++)
		for (j = i + 1; j < count; j++)
			if (points[j].time > points[i].time)
				slopes[n++] = (points[j].value - points[i].value) /
					      (points[j].time - points[i].time);
	return n ? robust_median(slopes, n) : 0;
}

static int by_value(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

static double pairs_of(double n)
{
	return n * (n - 1) * (2 * n + 5);
}

/* The sum over groups of equal values. */
static double tied(const struct robust_point *points, size_t count)
{
	double values[ROBUST_POINTS], sum = 0;
	size_t i, begin = 0;

	for (i = 0; i < count; i++)
		values[i] = points[i].value;
	qsort(values, count, sizeof(*values), by_value);
	for (i = 1; i <= count; i++)
		if (i == count || values[i] > values[begin]) {
			sum += pairs_of((double)(i - begin));
			begin = i;
		}
	return sum;
}

double robust_kendall(const struct robust_point *points, size_t count, double effective)
{
	double s = 0, variance;
	size_t i, j;

	for (i = 0; i < count; i++)
		for (j = i + 1; j < count; j++)
			s += (points[j].value > points[i].value) -
			     (points[j].value < points[i].value);
	variance = (pairs_of((double)count) - tied(points, count)) / 18;
	variance *= (double)count / effective;
	if (!(variance > 0) || s == 0)
		return 0;
	return (s > 0 ? s - 1 : s + 1) / sqrt(variance);
}

double robust_autocorrelation(const double *residuals, size_t count, double floor)
{
	double n = (double)count, all = 0, neighbours = 0, found;

	if (count < 6)
		return 0;
	for (size_t i = 0; i < count; i++) {
		all += residuals[i] * residuals[i];
		if (i)
			neighbours += residuals[i] * residuals[i - 1];
	}
	found = (n * neighbours + 2 * all) / (all + n * floor * floor) / (n - 4) - 1 / sqrt(n);
	return found < 0 ? 0 : found > CORRELATION_MAX ? CORRELATION_MAX : found;
}

double robust_effective(size_t count, double autocorrelation)
{
	double effective = (double)count * (1 - autocorrelation) / (1 + autocorrelation);

	return effective < 1 ? 1 : effective;
}

double robust_deviate(double t, double freedom)
{
	double deviate = sqrt(freedom * log1p(t * t / freedom)) * (8 * freedom + 1) /
			 (8 * freedom + 3);

	return t < 0 ? -deviate : deviate;
}

double robust_p(double deviate)
{
	return erfc(fabs(deviate) / sqrt(2));
}
