/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * shapes.c - which simple curve a series follows.
 *
 * Times are counted from the first point, and values from the series' mean, before they are squared: a heap of
 * 2^40 bytes that grows by some KiB loses no digits then.
 */
#include "profile/shapes.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

enum { COLUMNS = 3, SCALES = 24, LAST_MIN = 3, LAST_SHARE = 12 };

/* What is the same for all curves of a series. */
struct series {
	const struct robust_point *points;
	size_t count;
	double first;
	double span;
	double mean;
	double floor;
};

/* A linear model of up to COLUMNS functions of time, and what it leaves. */
struct model {
	unsigned columns;
	double sums[COLUMNS][COLUMNS + 1];
	double values; /* sum of squares */
	double factors[COLUMNS];
};

static void add_row(struct model *model, const double row[COLUMNS], double value)
{
	for (unsigned i = 0; i < model->columns; i++) {
		for (unsigned j = 0; j < model->columns; j++)
			model->sums[i][j] += row[i] * row[j];
		model->sums[i][COLUMNS] += row[i] * value;
	}
	model->values += value * value;
}

static void eliminate(double sums[COLUMNS][COLUMNS + 1], unsigned columns, unsigned at)
{
	for (unsigned i = 0; i < columns; i++) {
		double factor = sums[i][at] / sums[at][at];

		if (i == at)
			continue;
		for (unsigned j = 0; j < columns; j++)
			sums[i][j] -= factor * sums[at][j];
		sums[i][COLUMNS] -= factor * sums[at][COLUMNS];
	}
}

/* Sum of squares that the best factors leave; DBL_MAX if two columns are the same. */
static double solve(struct model *model)
{
	double sums[COLUMNS][COLUMNS + 1], left = model->values;
	unsigned i, j;

	for (i = 0; i < model->columns; i++)
		for (j = 0; j <= COLUMNS; j++)
			sums[i][j] = model->sums[i][j];
	for (i = 0; i < model->columns; i++) {
		if (!(fabs(sums[i][i]) > 1e-9 * (model->sums[i][i] + DBL_MIN)))
			return DBL_MAX;
		eliminate(sums, model->columns, i);
	}
	for (i = 0; i < model->columns; i++) {
		model->factors[i] = sums[i][COLUMNS] / sums[i][i];
		left -= model->factors[i] * model->sums[i][COLUMNS];
	}
	return left > 0 ? left : 0;
}

/* The functions of time of a kind; times in units of the span.  Returns how many. */
static unsigned columns_of(const struct shapes_fit *fit, double time, double bend,
			   double row[COLUMNS])
{
	row[0] = 1;
	switch (fit->kind) {
	case SHAPES_LINE:
		row[1] = time;
		return 2;
	case SHAPES_BEND:
		row[1] = time < bend ? time : bend;
		row[2] = time < bend ? 0 : time - bend;
		return 3;
	case SHAPES_RISE_LEVEL:
		row[1] = time < bend ? time : bend;
		return 2;
	case SHAPES_LEVEL_RISE:
		row[1] = time < bend ? 0 : time - bend;
		return 2;
	case SHAPES_RAMP:
		row[1] = fmin(fmax(time - fit->start, 0), bend - fit->start);
		return 2;
	case SHAPES_STEP:
		row[1] = time < bend ? 0 : 1;
		return 2;
	case SHAPES_SATURATION:
		row[1] = 1 - exp(-time / fit->scale);
		return 2;
	default:
		return 1;
	}
}

static void keep(const struct series *series, const struct model *model, double bend,
		 struct shapes_fit *fit)
{
	double first = model->columns > 1 ? model->factors[1] : 0;

	fit->base = model->factors[0] + series->mean;
	fit->bend = series->first + bend * series->span;
	fit->before = fit->after = fit->height = 0;
	if (fit->kind == SHAPES_STEP || fit->kind == SHAPES_SATURATION)
		fit->height = first;
	else if (fit->kind != SHAPES_LEVEL_RISE)
		fit->before = first / series->span;
	if (fit->kind == SHAPES_LINE || fit->kind == SHAPES_LEVEL_RISE)
		fit->after = first / series->span;
	if (fit->kind == SHAPES_BEND)
		fit->after = model->factors[2] / series->span;
}

/* Fits the kind with this bend (or scale, in fit); keeps it if it leaves less than *least. */
static void try_one(const struct series *series, double bend, struct shapes_fit *fit, double *least)
{
	struct model model = {.values = 0};
	double row[COLUMNS], left;

	for (size_t i = 0; i < series->count; i++) {
		double time = (series->points[i].time - series->first) / series->span;

		model.columns = columns_of(fit, time, bend, row);
		add_row(&model, row, series->points[i].value - series->mean);
	}
	left = solve(&model);
	if (left >= *least)
		return;
	*least = left;
	keep(series, &model, bend, fit);
}

static void fit_bends(const struct series *series, struct shapes_fit *fit, double *least)
{
	/* A part of one point explains nothing, and one of a few at the end is no reason to forget what was before. */
	size_t last = series->count / LAST_SHARE > LAST_MIN ? series->count / LAST_SHARE : LAST_MIN;

	for (size_t i = 2; i + last <= series->count; i++)
		try_one(series, (series->points[i].time - series->first) / series->span, fit, least);
}

static double share_at(const struct series *series, size_t i)
{
	return (series->points[i].time - series->first) / series->span;
}

enum { GRID = 20 }; /* steps of the first search for a ramp */

/* Both ends of a ramp from so many points around first and last, every step-th of them; writes the best ones there. */
static void fit_ramps(const struct series *series, size_t step, size_t around, size_t ends[2],
		      struct shapes_fit *fit, double *least)
{
	size_t first = ends[0] > around ? ends[0] - around : 0, middle = ends[1], i, j;
	size_t from = middle > around ? middle - around : 0;
	double best = fit->start;

	for (i = first; i + 2 < series->count && i <= first + 2 * around; i += step) {
		for (j = from > i ? from : i + step; j + 2 < series->count && j <= middle + around;
		     j += step) {
			double before = *least;

			fit->start = share_at(series, i);
			if (share_at(series, j) > fit->start)
				try_one(series, share_at(series, j), fit, least);
			if (*least >= before)
				continue;
			best = fit->start;
			ends[0] = i;
			ends[1] = j;
		}
	}
	fit->start = best;
}

/* On a grid first, then point by point around the best. */
static void fit_ramp(const struct series *series, struct shapes_fit *fit, double *least)
{
	size_t step = series->count / GRID + 1, ends[2] = {0, 0};

	fit_ramps(series, step, series->count, ends, fit, least);
	if (step > 1)
		fit_ramps(series, 1, step - 1, ends, fit, least);
	fit->start = series->first + fit->start * series->span;
}

/* Scales from a fiftieth of the span to twice it. */
static void fit_scales(const struct series *series, struct shapes_fit *fit, double *least)
{
	double best = 0;

	for (unsigned i = 0; i < SCALES; i++) {
		double before = *least;

		fit->scale = 0.02 * pow(100, (double)i / (SCALES - 1));
		try_one(series, 0, fit, least);
		if (*least < before)
			best = fit->scale;
	}
	fit->scale = best * series->span;
}

/* Parameters of each kind, where the bend is counts as one. */
static double cost_of(enum shapes_kind kind, double count)
{
	static const double parameters[SHAPES_KINDS] = {
		[SHAPES_LEVEL] = 1,	 [SHAPES_LINE] = 2,	  [SHAPES_BEND] = 5,
		[SHAPES_RISE_LEVEL] = 4, [SHAPES_LEVEL_RISE] = 4, [SHAPES_STEP] = 4,
		[SHAPES_SATURATION] = 4, [SHAPES_RAMP] = 6,
	};

	return parameters[kind] * log(count);
}

static void fit_kind(const struct series *series, struct shapes_fit *fit)
{
	double least = DBL_MAX, n = (double)series->count;

	if (fit->kind == SHAPES_LEVEL || fit->kind == SHAPES_LINE)
		try_one(series, 0, fit, &least);
	else if (fit->kind == SHAPES_SATURATION)
		fit_scales(series, fit, &least);
	else if (fit->kind == SHAPES_RAMP)
		fit_ramp(series, fit, &least);
	else
		fit_bends(series, fit, &least);
	fit->score = least < DBL_MAX ? n * log(least / n + series->floor * series->floor) +
					       cost_of(fit->kind, n)
				     : DBL_MAX;
}

void shapes_fit(const struct robust_point *points, size_t count, double floor,
		struct shapes_fit fits[SHAPES_KINDS])
{
	struct series series = {
		points, count, points[0].time, points[count - 1].time - points[0].time, 0, floor};

	for (size_t i = 0; i < count; i++)
		series.mean += points[i].value / (double)count;
	for (unsigned kind = 0; kind < SHAPES_KINDS; kind++) {
		fits[kind] = (struct shapes_fit){.kind = (enum shapes_kind)kind};
		fit_kind(&series, &fits[kind]);
	}
}

double shapes_at(const struct shapes_fit *fit, double first_time, double time)
{
	double since_first = time - first_time, since_bend = time - fit->bend;

	switch (fit->kind) {
	case SHAPES_LINE:
		return fit->base + fit->before * since_first;
	case SHAPES_STEP:
		return fit->base + (since_bend < 0 ? 0 : fit->height);
	case SHAPES_SATURATION:
		return fit->base + fit->height * (1 - exp(-since_first / fit->scale));
	case SHAPES_LEVEL:
		return fit->base;
	case SHAPES_RAMP:
		return fit->base +
		       fit->before * fmin(fmax(time - fit->start, 0), fit->bend - fit->start);
	default:
		if (since_bend < 0)
			return fit->base + fit->before * since_first;
		return fit->base + fit->before * (fit->bend - first_time) + fit->after * since_bend;
	}
}
