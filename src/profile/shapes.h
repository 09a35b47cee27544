/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * shapes.h - which simple curve a series follows: level, line, bend, ramp, step or saturation.  Pure functions.
 *
 * Each curve is fitted by least squares; the one that explains most for its number of parameters wins (Schwarz's
 * criterion).  Slopes said to people are Theil and Sen's (robust.h) over the part that the winner names.
 */
#ifndef PMEM_PROFILE_SHAPES_H
#define PMEM_PROFILE_SHAPES_H
#include <stddef.h>

#include "profile/robust.h"

enum shapes_kind {
	SHAPES_LEVEL,
	SHAPES_LINE,
	SHAPES_BEND,	   /* two lines that meet at bend */
	SHAPES_RISE_LEVEL, /* a line up to bend, level from there on */
	SHAPES_LEVEL_RISE, /* level up to bend, a line from there on */
	SHAPES_RAMP,	   /* level up to start, a line up to bend, level from there on */
	SHAPES_STEP,	   /* one level before bend, another from there on */
	SHAPES_SATURATION, /* base + height * (1 - exp(-(time since start) / scale)), start being the first point */
	SHAPES_LATE, /* level up to start, a saturation from there on */
	SHAPES_KINDS,
};

struct shapes_fit {
	enum shapes_kind kind;
	double score;  /* less is better */
	double bend;   /* time: of the first point that belongs to the second part */
	double start;  /* time: where a ramp or a saturation begins */
	double scale;  /* of a saturation, in units of time */
	double base;   /* value at the first point; of a step: before it */
	double before; /* slope before the bend; of a line: its slope */
	double after;  /* slope after it; of a line: its slope */
	double height; /* of a step or a saturation */
};

/* Points by time, 4 to ROBUST_POINTS of them, the last later than the first.  floor: standard deviation of noise that
 * is no reason for a better fit.  Writes one fit of each kind. */
void shapes_fit(const struct robust_point *points, size_t count, double floor,
		struct shapes_fit fits[SHAPES_KINDS]);

/* What the fit says for a time. */
double shapes_at(const struct shapes_fit *fit, double first_time, double time);

#endif
