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

enum { COLUMNS = 3, PIECES = 3, SCALES = 24, LAST_MIN = 3, LAST_SHARE = 12 };

/* Sums over points; those of a part of a series are the difference of two. */
struct sums {
	double count;
	double time;
	double times; /* of squares */
	double value;
	double values; /* of squares */
	double product;
};

/* What is the same for all curves of a series.  Times are shares of the span, values are above the mean. */
struct series {
	const struct robust_point *points;
	size_t count;
	double first;
	double span;
	double mean;
	double floor;
	struct sums sums[ROBUST_POINTS + 1]; /* over the points before each */
};

/* Part of a series in which each column of a model is a straight line. */
struct piece {
	size_t end; /* index behind its last point */
	double constant[COLUMNS];
	double slope[COLUMNS];
};

/* A linear model of up to COLUMNS functions of time, and what it leaves. */
struct model {
	unsigned columns;
	double sums[COLUMNS][COLUMNS + 1];
	double values; /* sum of squares */
	double factors[COLUMNS];
};

static double share_at(const struct series *series, size_t i)
{
	return (series->points[i].time - series->first) / series->span;
}

static void sum_up(struct series *series)
{
	series->sums[0] = (struct sums){0};
	for (size_t i = 0; i < series->count; i++) {
		const struct sums *before = &series->sums[i];
		double time = share_at(series, i), value = series->points[i].value - series->mean;

		series->sums[i + 1] = (struct sums){before->count + 1,
						    before->time + time,
						    before->times + time * time,
						    before->value + value,
						    before->values + value * value,
						    before->product + time * value};
	}
}

static void add_piece(const struct series *series, const struct piece *piece, size_t begin,
		      struct model *model)
{
	const struct sums *from = &series->sums[begin], *to = &series->sums[piece->end];
	double count = to->count - from->count, time = to->time - from->time;
	double times = to->times - from->times, value = to->value - from->value;
	double product = to->product - from->product;
	const double *c = piece->constant, *d = piece->slope;

	for (unsigned i = 0; i < model->columns; i++) {
		for (unsigned j = 0; j < model->columns; j++)
			model->sums[i][j] += c[i] * c[j] * count + d[i] * d[j] * times +
					     (c[i] * d[j] + c[j] * d[i]) * time;
		model->sums[i][COLUMNS] += c[i] * value + d[i] * product;
	}
	model->values += to->values - from->values;
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

/* The pieces of a kind of which the second begins at the point bend, or of a ramp the second at start and the third at bend.  Returns
 * how many columns it has. */
static unsigned pieces_of(const struct series *series, enum shapes_kind kind, size_t start,
			  size_t bend, struct piece pieces[PIECES])
{
	double from = share_at(series, start), to = share_at(series, bend);
	size_t end = series->count;

	switch (kind) {
	case SHAPES_LINE:
		pieces[0] = (struct piece){end, {1, 0}, {0, 1}};
		return 2;
	case SHAPES_BEND:
		pieces[0] = (struct piece){bend, {1, 0, 0}, {0, 1, 0}};
		pieces[1] = (struct piece){end, {1, to, -to}, {0, 0, 1}};
		return 3;
	case SHAPES_RISE_LEVEL:
		pieces[0] = (struct piece){bend, {1, 0}, {0, 1}};
		pieces[1] = (struct piece){end, {1, to}, {0, 0}};
		return 2;
	case SHAPES_LEVEL_RISE:
		pieces[0] = (struct piece){bend, {1, 0}, {0, 0}};
		pieces[1] = (struct piece){end, {1, -to}, {0, 1}};
		return 2;
	case SHAPES_RAMP:
		pieces[0] = (struct piece){start, {1, 0}, {0, 0}};
		pieces[1] = (struct piece){bend, {1, -from}, {0, 1}};
		pieces[2] = (struct piece){end, {1, to - from}, {0, 0}};
		return 2;
	case SHAPES_STEP:
		pieces[0] = (struct piece){bend, {1, 0}, {0, 0}};
		pieces[1] = (struct piece){end, {1, 1}, {0, 0}};
		return 2;
	default:
		pieces[0] = (struct piece){end, {1}, {0}};
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
	if (fit->kind == SHAPES_STEP || fit->kind == SHAPES_SATURATION || fit->kind == SHAPES_LATE)
		fit->height = first;
	else if (fit->kind != SHAPES_LEVEL_RISE)
		fit->before = first / series->span;
	if (fit->kind == SHAPES_LINE || fit->kind == SHAPES_LEVEL_RISE)
		fit->after = first / series->span;
	if (fit->kind == SHAPES_BEND)
		fit->after = model->factors[2] / series->span;
}

static void keep_better(const struct series *series, struct model *model, double bend,
			struct shapes_fit *fit, double *least)
{
	double left = solve(model);

	if (left >= *least)
		return;
	*least = left;
	keep(series, model, bend, fit);
}

/* Fits the kind with this bend, and start; keeps it if it leaves less than *least. */
static void try_pieces(const struct series *series, size_t start, size_t bend,
		       struct shapes_fit *fit, double *least)
{
	struct piece pieces[PIECES];
	struct model model = {.columns = pieces_of(series, fit->kind, start, bend, pieces)};

	for (size_t i = 0, begin = 0; begin < series->count; begin = pieces[i++].end)
		add_piece(series, &pieces[i], begin, &model);
	keep_better(series, &model, share_at(series, bend), fit, least);
}

/* Sums over all points from one on, of what is left of 1 there when it began to fall with the scale at the first point. */
struct falling {
	double sum;
	double squares;
	double products; /* with the values */
};

static void sum_falling(const struct series *series, double scale,
			struct falling falling[ROBUST_POINTS + 1])
{
	falling[series->count] = (struct falling){0, 0, 0};
	for (size_t i = series->count; i-- > 0;) {
		double left = exp(-share_at(series, i) / scale);

		falling[i] = (struct falling){
			falling[i + 1].sum + left,
			falling[i + 1].squares + left * left,
			falling[i + 1].products + left * (series->points[i].value - series->mean),
		};
	}
}

/* A saturation from a point on, level before it. */
static void try_saturation(const struct series *series, size_t start, const struct falling *from,
			   struct shapes_fit *fit, double *least)
{
	const struct sums *all = &series->sums[series->count], *before = &series->sums[start];
	double count = all->count - before->count, before_least = *least;
	double times = exp(share_at(series, start) / fit->scale);
	double sum = count - times * from->sum;
	double squares = count - 2 * times * from->sum + times * times * from->squares;
	double product = all->value - before->value - times * from->products;
	struct model model = {
		.columns = 2,
		.sums = {{all->count, sum, 0, all->value}, {sum, squares, 0, product}},
		.values = all->values,
	};

	keep_better(series, &model, 0, fit, least);
	if (*least < before_least)
		fit->start = series->points[start].time;
}

/* Of points of one moment only the first begins a part. */
static bool begins(const struct series *series, size_t i)
{
	return i == 0 || series->points[i].time > series->points[i - 1].time;
}

static void fit_bends(const struct series *series, struct shapes_fit *fit, double *least)
{
	/* A part of one point explains nothing, and one of a few at the end is no reason to forget what was before. */
	size_t last = series->count / LAST_SHARE > LAST_MIN ? series->count / LAST_SHARE : LAST_MIN;

	for (size_t i = 2; i + last <= series->count; i++)
		if (begins(series, i))
			try_pieces(series, i, i, fit, least);
}

enum { GRID = 20 }; /* steps of the first search for a ramp */

/* Both ends of a ramp from so many points around first and last, every step-th of them; writes the best ones there. */
static void fit_ramps(const struct series *series, size_t step, size_t around, size_t ends[2],
		      struct shapes_fit *fit, double *least)
{
	size_t first = ends[0] > around ? ends[0] - around : 0, middle = ends[1], i, j;
	size_t from = middle > around ? middle - around : 0;

	for (i = first; i + 2 < series->count && i <= first + 2 * around; i += step) {
		for (j = from > i ? from : i + step; j + 2 < series->count && j <= middle + around;
		     j += step) {
			double before = *least;

			if (begins(series, i) && begins(series, j))
				try_pieces(series, i, j, fit, least);
			if (*least >= before)
				continue;
			ends[0] = i;
			ends[1] = j;
		}
	}
}

/* On a grid first, then point by point around the best. */
static void fit_ramp(const struct series *series, struct shapes_fit *fit, double *least)
{
	size_t step = series->count / GRID + 1, ends[2] = {0, 0};

	fit_ramps(series, step, series->count, ends, fit, least);
	if (step > 1)
		fit_ramps(series, 1, step - 1, ends, fit, least);
	fit->start = series->points[ends[0]].time;
}

/* Scales from a fiftieth of the span to twice it; of a late one from each point on. */
static void fit_scales(const struct series *series, struct shapes_fit *fit, double *least)
{
	size_t last = fit->kind == SHAPES_LATE ? series->count - LAST_MIN : 0;
	double best = 0;

	for (unsigned i = 0; i < SCALES; i++) {
		struct falling falling[ROBUST_POINTS + 1];
		double before = *least;

		fit->scale = 0.02 * pow(100, (double)i / (SCALES - 1));
		sum_falling(series, fit->scale, falling);
		for (size_t j = fit->kind == SHAPES_LATE; j <= last; j++)
			if (begins(series, j))
				try_saturation(series, j, &falling[j], fit, least);
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
		[SHAPES_SATURATION] = 4, [SHAPES_RAMP] = 6,	  [SHAPES_LATE] = 7,
	};

	return parameters[kind] * log(count);
}

static void fit_kind(const struct series *series, struct shapes_fit *fit)
{
	double least = DBL_MAX, n = (double)series->count;

	if (fit->kind == SHAPES_LEVEL || fit->kind == SHAPES_LINE)
		try_pieces(series, 0, 0, fit, &least);
	else if (fit->kind == SHAPES_SATURATION || fit->kind == SHAPES_LATE)
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
	struct series series;

	series.points = points;
	series.count = count;
	series.first = points[0].time;
	series.span = points[count - 1].time - points[0].time;
	series.floor = floor;
	series.mean = 0;
	for (size_t i = 0; i < count; i++)
		series.mean += points[i].value / (double)count;
	sum_up(&series);
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
	case SHAPES_LATE:
		return fit->base + fit->height * (1 - exp(-fmax(time - fit->start, 0) / fit->scale));
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
