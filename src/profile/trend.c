/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * trend.c - what kind of series this is.
 */
#include "profile/trend.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "profile/drift.h"
#include "profile/shapes.h"

enum {
	LEAK_MIN = 8,	 /* points of a line before it is called a leak */
	FALLS_MIN = 2,	 /* of a saw */
	PARTS = 8,	 /* of a line, see drift_of() */
	CUTS_MAX = 3,	 /* of a start that gets slower */
	PART_MIN = 3,	 /* points of one */
	STEP_POINTS = 2, /* on its way a step may have */
	CYCLES_MIN = 5,	 /* lows of a saw before they are asked for a leak */
};

#define P_MAX 1e-3
#define FLOOR_SHARE (1.0 / 300) /* of the range: noise below it is no reason to see more */
#define COARSE_SHARE (1.0 / 50)
#define STEP_SHARE 0.08	 /* of the time: a ramp so short is a step */
#define SWING_SHARE 0.4	 /* of the range: less is no tooth of a saw */
#define SWING_NOISE 10.0 /* standard deviations of the noise, likewise */
#define PLATEAU_SHARE \
	0.3 /* of the time: who reached the level earlier was starting, who did later was filling */
#define NEW_SHARE 0.05 /* of the rise's time: a level so short may be chance */
#define SLOWS_MAX \
	0.01 /* the rate falls, more surely than that: a curve that bends little slows down */
#define REACHED 0.95	  /* of the rise: then the level counts as reached */
#define SLOWER (1.0 / 3)  /* of the rate before: a curve that bends so much is no line */
#define START_SHARE 0.1	  /* of the time: a step so early is the start */
#define DRIFT_MAX 6e-4	  /* less than P_MAX: where the line begins was chosen */
#define DRIFT_POINTS 50.0 /* in fewer noise and steps are hard to tell apart: still less */
#define PARTS_ODDS \
	20.0 /* a second question, and in so few points a walk passes for a line more often */

/* A series and what all questions about it need. */
struct asked {
	struct robust_point points[ROBUST_POINTS];
	size_t count;
	double low, high;
	double noise; /* standard deviation from one point to the next */
	double floor;
	double coarse; /* likewise for what a curve leaves: below it a misfit is no memory of the series */
	double least;
};

/* --- preparations ---------------------------------------------------------------------------- */

static double span_of(const struct robust_point *points, size_t count)
{
	return points[count - 1].time - points[0].time;
}

/* The usual distance of a point from the line between its neighbours, as a standard deviation. */
static double noise_of(const struct robust_point *points, size_t count)
{
	double distances[ROBUST_POINTS];
	size_t n = 0;

	for (size_t i = 1; i + 1 < count; i++) {
		double whole = points[i + 1].time - points[i - 1].time, part;

		if (!(whole > 0))
			continue;
		part = (points[i].time - points[i - 1].time) / whole;
		distances[n++] = fabs(points[i].value - points[i - 1].value * (1 - part) -
				      points[i + 1].value * part) /
				 sqrt(1 + part * part + (1 - part) * (1 - part));
	}
	return n ? 1.4826 * robust_median(distances, n) : 0;
}

static bool prepare(const struct robust_point *points, size_t count, double least,
		    struct asked *asked)
{
	if (count < TREND_POINTS_MIN || !(span_of(points, count) > 0))
		return false;
	asked->count = robust_thin(points, count, asked->points);
	if (asked->count < TREND_POINTS_MIN || !(span_of(asked->points, asked->count) > 0))
		return false;
	asked->low = asked->high = asked->points[0].value;
	for (size_t i = 1; i < asked->count; i++) {
		asked->low = fmin(asked->low, asked->points[i].value);
		asked->high = fmax(asked->high, asked->points[i].value);
	}
	asked->least = least;
	asked->noise = noise_of(asked->points, asked->count);
	asked->floor = fmax(least / 8, (asked->high - asked->low) * FLOOR_SHARE);
	asked->coarse = fmax(asked->floor, (asked->high - asked->low) * COARSE_SHARE);
	return true;
}

/* --- saws ------------------------------------------------------------------------------------ */

struct saw {
	struct robust_point lows[ROBUST_POINTS]; /* each between two high places */
	size_t low_count;
	unsigned falls;
	double depth; /* sum of the falls */
};

/* Follows the series from turn to turn; smaller turns than least are none. */
static void find_turns(const struct asked *asked, double least, struct saw *saw)
{
	struct robust_point low = asked->points[0], high = asked->points[0];
	bool rises = true;

	*saw = (struct saw){.low_count = 0};
	for (size_t i = 1; i < asked->count; i++) {
		const struct robust_point *point = &asked->points[i];

		if (rises && high.value - point->value >= least) {
			rises = false;
			low = *point;
			saw->falls++;
			saw->depth += high.value - point->value;
		} else if (!rises && point->value - low.value >= least) {
			rises = true;
			high = *point;
			saw->lows[saw->low_count++] = low;
		}
		if (rises && point->value > high.value)
			high = *point;
		if (!rises && point->value < low.value) {
			saw->depth += low.value - point->value;
			low = *point;
		}
	}
}

/* The lows rise, nearly all of them, until the end, and by more than they differ by themselves. */
static bool lows_rise(const struct saw *saw, struct trend *trend)
{
	size_t n = saw->low_count;
	double slope, rise;

	if (n < CYCLES_MIN)
		return false;
	slope = robust_slope(saw->lows, n);
	rise = slope * span_of(saw->lows, n);
	trend->p = robust_p(robust_kendall(saw->lows, n, (double)n));
	if (!(trend->p < P_MAX) || rise < saw->depth / saw->falls / 4 ||
	    saw->lows[n - 1].value < saw->lows[n / 2].value + rise / 4)
		return false;
	trend->rate = slope;
	return true;
}

static bool read_saw(const struct asked *asked, struct trend *trend)
{
	double least = fmax(SWING_NOISE * asked->noise, SWING_SHARE * (asked->high - asked->low));
	struct saw saw;

	find_turns(asked, fmax(least, asked->least), &saw);
	if (saw.falls < FALLS_MIN)
		return false;
	trend->class = TREND_SAWTOOTH;
	trend->course = TREND_SWINGING;
	trend->confidence = 1 - pow(2, -(double)saw.falls);
	if (lows_rise(&saw, trend)) {
		trend->class = TREND_LEAK;
		trend->course = TREND_RISING;
		trend->confidence = 1 - trend->p;
	}
	return true;
}

/* --- lines ----------------------------------------------------------------------------------- */

/* The end of a series that a fit says is a line. */
struct line {
	const struct robust_point *points;
	size_t count;
	double effective;
};

/* Student's t of the line's slope, as a normal deviate: how large the rise is against what is left of the noise. */
static double deviate_of(const struct line *line, double floor)
{
	double time = 0, value = 0, spread = 0, product = 0, left = 0, slope, freedom;
	double n = (double)line->count;
	size_t i;

	for (i = 0; i < line->count; i++) {
		time += line->points[i].time / n;
		value += line->points[i].value / n;
	}
	for (i = 0; i < line->count; i++) {
		spread += pow(line->points[i].time - time, 2);
		product += (line->points[i].time - time) * (line->points[i].value - value);
	}
	slope = product / spread;
	for (i = 0; i < line->count; i++)
		left += pow(line->points[i].value - value - slope * (line->points[i].time - time),
			    2);
	freedom = fmax(line->effective - 2, 1);
	return robust_deviate(
		slope * sqrt(spread / n) / sqrt(left / n + floor * floor) * sqrt(freedom), freedom);
}

static double correlation_of(const struct asked *asked, const struct shapes_fit *fit, double floor)
{
	double residuals[ROBUST_POINTS];

	for (size_t i = 0; i < asked->count; i++)
		residuals[i] = asked->points[i].value -
			       shapes_at(fit, asked->points[0].time, asked->points[i].time);
	return robust_autocorrelation(residuals, asked->count, floor);
}

/* The probability that chance makes such a drift, of the points, or of the means of parts: in these what goes up and down more often
 * than they come is noise no more. */
static double drift_of(const struct asked *asked, const struct line *line, double since)
{
	struct robust_point means[PARTS];
	struct drift drift = {line->points, line->count, since, asked->floor};
	double values[ROBUST_POINTS], p = drift_p(&drift);
	size_t begin = 0;

	if (line->count < PARTS * PART_MIN)
		return p;
	for (size_t i = 0; i < PARTS; i++) {
		size_t end = (i + 1) * line->count / PARTS;

		means[i] = robust_middle_point(line->points + begin, end - begin, values);
		begin = end;
	}
	drift.points = means;
	drift.count = PARTS;
	return fmin(p, PARTS_ODDS * drift_p(&drift));
}

/* The line from a time to the end.  Rising or falling, if chance does not do that; a leak, if both the drift and the order of its points say
 * so. */
static void judge_line(const struct asked *asked, const struct line *line, double drift,
		       struct trend *trend)
{
	double slope = robust_slope(line->points, line->count);

	trend->since = line->points[0].time;
	trend->course = TREND_STEADY;
	if (!(fmin(robust_p(deviate_of(line, asked->floor)), drift) < P_MAX) ||
	    fabs(slope * span_of(line->points, line->count)) < asked->least)
		return;
	trend->course = slope > 0 ? TREND_RISING : TREND_FALLING;
	trend->rate = slope;
	trend->p = fmax(drift, robust_p(robust_kendall(line->points, line->count, line->effective)));
	if (slope > 0 && line->count >= LEAK_MIN && trend->p < P_MAX &&
	    drift < DRIFT_MAX * fmin(1, (double)line->count / DRIFT_POINTS))
		trend->class = TREND_LEAK;
}

static struct line line_from(const struct asked *asked, double since, double correlation)
{
	struct line line = {asked->points, asked->count, 0};

	while (line.count > TREND_POINTS_MIN && line.points[0].time < since) {
		line.points++;
		line.count--;
	}
	line.effective = robust_effective(line.count, correlation);
	return line;
}

/* What was before it was level, and says how loud the noise is. */
static void read_level_line(const struct asked *asked, double since, double correlation,
			    struct trend *trend)
{
	const struct line whole = {asked->points, asked->count, 0};
	struct line line = line_from(asked, since, correlation);

	judge_line(asked, &line, drift_of(asked, &whole, since), trend);
}

/* What was before it has nothing to do with it. */
static void read_line(const struct asked *asked, double since, double correlation,
		      struct trend *trend)
{
	struct line line = line_from(asked, since, correlation);

	judge_line(asked, &line, drift_of(asked, &line, since), trend);
}

/* --- curves ---------------------------------------------------------------------------------- */

/* When the curve has done most of its rise. */
static double reached_at(const struct asked *asked, const struct shapes_fit *fit)
{
	double first = asked->points[0].time, last = asked->points[asked->count - 1].time;
	double wanted = fit->base + REACHED * (shapes_at(fit, first, last) - fit->base);
	double low = first, high = last;

	for (int i = 0; i < 40; i++) {
		double middle = (low + high) / 2;

		if (shapes_at(fit, first, middle) < wanted)
			low = middle;
		else
			high = middle;
	}
	return high;
}

/* A curve that rises ever less.  Who came to the level at once was starting, who came late was filling. */
static void read_slowing(const struct asked *asked, const struct shapes_fit *fit,
			 struct trend *trend)
{
	double first = asked->points[0].time, span = span_of(asked->points, asked->count);
	double reached = reached_at(asked, fit);

	if (trend->course != TREND_RISING)
		trend->since = reached;
	trend->class = trend->course == TREND_RISING || reached - first >= PLATEAU_SHARE * span
			       ? TREND_FILLING
			       : TREND_PLATEAU;
}

/* So short a way from one level to another, and not at the start, is a step. */
static bool is_short(const struct asked *asked, double start, double end)
{
	double first = asked->points[0].time, span = span_of(asked->points, asked->count);
	size_t between = 0;

	for (size_t i = 0; i < asked->count; i++)
		between += asked->points[i].time > start && asked->points[i].time < end;
	return (end - start <= STEP_SHARE * span || between <= STEP_POINTS) &&
	       end - first >= START_SHARE * span;
}

/* Steps that come at random make a line that bends, or ends with a level.  If the fit may be that, and the line is a leak, it is one. */
static bool read_random_steps(const struct asked *asked, const struct shapes_fit *fit,
			      double correlation, struct trend *trend)
{
	double last = asked->points[asked->count - 1].time;
	const struct drift drift = {asked->points, asked->count, fit->start, asked->floor};
	struct trend line = *trend;

	if (fit->kind == SHAPES_RAMP
		    ? fit->before <= 0 || last - fit->bend > NEW_SHARE * (last - fit->start)
		    : fit->height <= 0 || exp(-(last - fit->start) / fit->scale) < SLOWER ||
			      drift_slows_p(&drift) < SLOWS_MAX)
		return false;
	read_level_line(asked, fit->start, correlation, &line);
	if (line.class == TREND_LEAK)
		*trend = line;
	return line.class == TREND_LEAK;
}

/* Of a saturation that has most of its way behind it the rest is no rise worth a word. */
static void read_saturation(const struct asked *asked, const struct shapes_fit *fit,
			    struct trend *trend)
{
	double last = asked->points[asked->count - 1].time;
	double rest = exp(-(last - fit->start) / fit->scale);

	trend->course = TREND_STEADY;
	if (rest > 1 - REACHED) {
		trend->course = fit->height > 0 ? TREND_RISING : TREND_FALLING;
		trend->rate = fit->height / fit->scale * rest;
	}
	if (fit->height <= 0)
		return;
	read_slowing(asked, fit, trend);
	if (fit->kind == SHAPES_LATE && trend->course == TREND_STEADY &&
	    is_short(asked, fit->start, trend->since))
		trend->class = TREND_STEP;
}

static void read_bend(const struct asked *asked, const struct shapes_fit *fit, double correlation,
		      struct trend *trend)
{
	read_line(asked, fit->bend, correlation, trend);
	/* Too few points to tell, and not much slower than before: the bend is no reason to forget that. */
	if (trend->class != TREND_LEAK && fit->before > 0 && fit->after >= fit->before * SLOWER)
		read_line(asked, asked->points[0].time, correlation, trend);
	if (trend->class == TREND_NONE && fit->before > 0 && fabs(fit->after) < fit->before * SLOWER)
		read_slowing(asked, fit, trend);
}

/* From one level to another: at once, or as a cache that began to fill later. */
static void read_ramp(const struct asked *asked, const struct shapes_fit *fit, struct trend *trend)
{
	trend->course = TREND_STEADY;
	trend->since = fit->bend;
	if (fit->before > 0)
		read_slowing(asked, fit, trend);
	if (fit->before > 0 && is_short(asked, fit->start, fit->bend)) {
		trend->class = TREND_STEP;
		trend->since = fit->bend;
	}
}

static void read_step(const struct asked *asked, const struct shapes_fit *fit, struct trend *trend)
{
	double share = (fit->bend - asked->points[0].time) / span_of(asked->points, asked->count);

	trend->course = TREND_STEADY;
	trend->since = fit->bend;
	if (fit->height > 0)
		trend->class = share < START_SHARE ? TREND_PLATEAU : TREND_STEP;
}

/* Whether chance may have made a level look like the fit: the part of the spread that it explains, as a normal deviate. */
static bool is_chance(const struct asked *asked, const struct shapes_fit *fit)
{
	double correlation = correlation_of(asked, fit, asked->coarse);
	double mean = 0, spread = 0, left = 0, n = (double)asked->count, freedom;
	size_t i;

	for (i = 0; i < asked->count; i++)
		mean += asked->points[i].value / n;
	for (i = 0; i < asked->count; i++) {
		double at = shapes_at(fit, asked->points[0].time, asked->points[i].time);

		spread += pow(asked->points[i].value - mean, 2);
		left += pow(asked->points[i].value - at, 2);
	}
	left += n * asked->floor * asked->floor;
	freedom = fmax(
		robust_effective(asked->count, correlation) - (fit->kind == SHAPES_LINE ? 2 : 3), 1);
	return !(robust_p(robust_deviate(sqrt(fmax(spread - left, 0) / left * freedom), freedom)) <
		 P_MAX);
}

static void read_fit(const struct asked *asked, const struct shapes_fit *fit, struct trend *trend)
{
	double correlation = correlation_of(asked, fit, asked->floor);

	switch (fit->kind) {
	case SHAPES_LEVEL:
		trend->course = TREND_STEADY;
		break;
	case SHAPES_STEP:
		read_step(asked, fit, trend);
		break;
	case SHAPES_RAMP:
		if (!read_random_steps(asked, fit, correlation, trend))
			read_ramp(asked, fit, trend);
		break;
	case SHAPES_RISE_LEVEL:
		trend->course = TREND_STEADY;
		trend->since = fit->bend;
		if (fit->before > 0)
			read_slowing(asked, fit, trend);
		break;
	case SHAPES_SATURATION:
	case SHAPES_LATE:
		if (!read_random_steps(asked, fit, correlation, trend))
			read_saturation(asked, fit, trend);
		break;
	case SHAPES_LINE:
		read_line(asked, asked->points[0].time, correlation, trend);
		break;
	case SHAPES_LEVEL_RISE:
		read_level_line(asked, fit->bend, correlation, trend);
		break;
	default:
		read_bend(asked, fit, correlation, trend);
	}
}

/* Curves that mean the same to a person. */
static unsigned family_of(enum shapes_kind kind)
{
	static const unsigned families[SHAPES_KINDS] = {
		[SHAPES_LEVEL] = 0,	 [SHAPES_LINE] = 1,	  [SHAPES_BEND] = 1,
		[SHAPES_LEVEL_RISE] = 1, [SHAPES_RISE_LEVEL] = 2, [SHAPES_SATURATION] = 2,
		[SHAPES_STEP] = 3,	 [SHAPES_RAMP] = 2,	  [SHAPES_LATE] = 2,
	};

	return families[kind];
}

/* The one that explains most of those of any other family than the one given; NULL: of all. */
static const struct shapes_fit *best_of(const struct shapes_fit fits[SHAPES_KINDS],
					const struct shapes_fit *but)
{
	const struct shapes_fit *best = NULL;

	for (unsigned kind = 0; kind < SHAPES_KINDS; kind++) {
		if (but && family_of(fits[kind].kind) == family_of(but->kind))
			continue;
		if (!best || fits[kind].score < best->score)
			best = &fits[kind];
	}
	return best;
}

/* Only what is not before since.  False: too few points for a leak. */
static bool cut(struct asked *asked, double since)
{
	const struct line line = line_from(asked, since, 0);

	if (line.count < LEAK_MIN)
		return false;
	asked->count = line.count;
	memmove(asked->points, line.points, line.count * sizeof(*line.points));
	return true;
}

/* After a load, say, which may get slower before it ends: what comes then may have been level, or nearly, before it leaked, which takes
 * more pieces than two. */
static void read_rest(const struct asked *asked, double since, struct trend *trend)
{
	struct shapes_fit fits[SHAPES_KINDS];
	const struct shapes_fit *best = NULL;
	struct trend later = *trend;
	struct asked rest = *asked;

	for (unsigned cuts = 0; cuts < CUTS_MAX && cut(&rest, since); cuts++) {
		shapes_fit(rest.points, rest.count, rest.floor, fits);
		best = best_of(fits, NULL);
		if (best->kind != SHAPES_BEND || best->after > best->before * SLOWER)
			break;
		since = best->bend;
	}
	if (!best || rest.points[0].time < since)
		return;
	later.class = TREND_NONE;
	if (best->kind == SHAPES_LEVEL_RISE)
		read_level_line(&rest, best->bend, correlation_of(&rest, best, rest.floor), &later);
	else if (best->kind == SHAPES_BEND && best->before < best->after * SLOWER)
		read_line(&rest, best->bend, correlation_of(&rest, best, rest.floor), &later);
	if (later.class == TREND_LEAK)
		*trend = later;
}

/* Confidence is the weight of the winner against the best curve that means something else, neighbours that are alike counted as one. */
static void read_shape(const struct asked *asked, struct trend *trend)
{
	struct shapes_fit fits[SHAPES_KINDS];
	const struct shapes_fit *best, *other;
	double independent;

	shapes_fit(asked->points, asked->count, asked->floor, fits);
	best = best_of(fits, NULL);
	if (is_chance(asked, best)) {
		trend->confidence = 0.5;
		return;
	}
	other = best_of(fits, best);
	independent = robust_effective(asked->count, correlation_of(asked, best, asked->floor)) /
		      (double)asked->count;
	trend->confidence = 1 / (1 + exp(-(other->score - best->score) * independent / 2));
	read_fit(asked, best, trend);
	if (best->kind == SHAPES_BEND)
		read_rest(asked, best->bend, trend);
	if (trend->class == TREND_LEAK)
		trend->confidence = fmin(trend->confidence, 1 - trend->p);
}

const char *trend_class_name(enum trend_class class)
{
	static const char *const names[TREND_CLASSES] = {
		[TREND_NONE] = "none",	       [TREND_LEAK] = "leak", [TREND_FILLING] = "filling",
		[TREND_SAWTOOTH] = "sawtooth", [TREND_STEP] = "step", [TREND_PLATEAU] = "plateau",
	};

	return names[class];
}

static void read_bounds(const struct asked *asked, struct trend *trend)
{
	trend->low = asked->high;
	trend->high = asked->low;
	for (size_t i = 0; i < asked->count; i++) {
		if (asked->points[i].time < trend->since)
			continue;
		trend->low = fmin(trend->low, asked->points[i].value);
		trend->high = fmax(trend->high, asked->points[i].value);
	}
}

void trend_read(const struct robust_point *points, size_t count, double least, struct trend *trend)
{
	struct asked asked;

	*trend = (struct trend){.class = TREND_NONE, .course = TREND_UNKNOWN, .p = 1};
	if (!prepare(points, count, least, &asked))
		return;
	trend->since = asked.points[0].time;
	trend->course = TREND_STEADY;
	if (asked.high - asked.low < least)
		trend->confidence = 1;
	else if (!read_saw(&asked, trend))
		read_shape(&asked, trend);
	read_bounds(&asked, trend);
	/* The first of the thinned points may be the mean of some. */
	if (trend->since <= asked.points[0].time)
		trend->since = points[0].time;
}
