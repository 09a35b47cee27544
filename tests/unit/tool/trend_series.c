/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * trend_series.c - made series of which it is known what they are.
 */
#include "trend_series.h"

#include <math.h>

/* splitmix64: 0 up to 1. */
static double any(struct made *made)
{
	uint64_t bits = made->state += UINT64_C(0x9e3779b97f4a7c15);

	bits = (bits ^ bits >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	bits = (bits ^ bits >> 27) * UINT64_C(0x94d049bb133111eb);
	return (double)((bits ^ bits >> 31) >> 11) * 0x1p-53;
}

static double between(struct made *made, double low, double high)
{
	return low + (high - low) * any(made);
}

/* As many small ones as large ones. */
static double of_any_size(struct made *made, double low, double high)
{
	return exp(between(made, log(low), log(high)));
}

static int half(struct made *made)
{
	return any(made) < 0.5;
}

static double normal(struct made *made)
{
	double length = sqrt(-2 * log(1 - any(made)));

	return length * cos(2 * M_PI * any(made));
}

static double heavy_tailed(struct made *made)
{
	double x = any(made) - 0.5;

	return (x < 0 ? 1 : -1) * log(1 - 2 * fabs(x) + 1e-300) / sqrt(2);
}

/* Of standard deviation 1. */
static double noise(struct made *made)
{
	double fresh = made->heavy ? heavy_tailed(made) : normal(made);

	made->noise = made->memory * made->noise + sqrt(1 - made->memory * made->memory) * fresh;
	return made->noise;
}

static void use_noise(struct made *made, double memory)
{
	made->memory = memory;
	made->noise = 0;
	made->heavy = any(made) < 0.3;
}

static void use_points(struct made *made, double low, double high)
{
	double time = 1, distance = between(made, 0.25, 8);
	int uneven = half(made);

	made->count = (unsigned)of_any_size(made, low, high);
	for (unsigned i = 0; i < made->count; i++) {
		made->points[i].time = time;
		time += distance * (uneven ? exp(normal(made) / 2) : 1);
		if (uneven && any(made) < 0.01)
			time += distance * between(made, 1, 5);
	}
}

static double span(const struct made *made)
{
	return made->points[made->count - 1].time - made->points[0].time;
}

static double share(const struct made *made, unsigned i)
{
	return (made->points[i].time - made->points[0].time) / span(made);
}

static void set_value(struct made *made, unsigned i, double value)
{
	made->points[i].value = fmax(made->below + value, 0);
}

/* The growth from one point to the next is a tenth of the noise's standard deviation.  Half of them begin late. */
static void make_leak(struct made *made)
{
	double begin = half(made) ? 0 : between(made, 0, 0.5);

	use_points(made, 300, SERIES_MAX);
	made->rate = made->unit * (made->count - 1) / span(made);
	use_noise(made, half(made) ? 0 : between(made, 0, 0.4));
	for (unsigned i = 0; i < made->count; i++)
		set_value(made, i,
			  fmax(share(made, i) - begin, 0) * span(made) * made->rate +
				  10 * made->unit * noise(made));
}

static void make_short_leak(struct made *made)
{
	double loud = between(made, 0, 0.7);

	use_points(made, 10, 50);
	made->rate = made->unit * (made->count - 1) / span(made);
	use_noise(made, 0);
	for (unsigned i = 0; i < made->count; i++)
		set_value(made, i,
			  share(made, i) * span(made) * made->rate + loud * made->unit * noise(made));
}

/* 0 to 1 and back. */
static double tooth(double cycle, double rising)
{
	double at = cycle - floor(cycle);

	return at < rising ? at / rising : (1 - at) / (1 - rising);
}

/* Each tooth is ten times as high as the lows rise from one to the next. */
static void make_leak_below_a_saw(struct made *made)
{
	double cycles = between(made, 12, 30), rising = between(made, 0.3, 0.95), phase = any(made);
	double height;

	use_points(made, 400, SERIES_MAX);
	made->rate = made->unit * (made->count - 1) / span(made);
	height = 10 * made->unit * made->count / cycles;
	use_noise(made, 0);
	for (unsigned i = 0; i < made->count; i++)
		set_value(made, i,
			  share(made, i) * span(made) * made->rate +
				  height * tooth(share(made, i) * cycles + phase, rising) +
				  0.03 * height * noise(made));
}

/* A cache: of new keys only; of random keys from a set that fits; or from one that does not fit, so that it reaches its bound. */
static void make_filling(struct made *made)
{
	double way = any(made), full = between(made, 0.4, 0.95), scale = between(made, 0.15, 0.35);
	double bound = made->unit * between(made, 200, 2000);
	double loud = bound * between(made, 0.001, 0.03), keys = 1.3;

	use_points(made, 60, SERIES_MAX);
	use_noise(made, between(made, 0, 0.5));
	for (unsigned i = 0; i < made->count; i++) {
		double at = share(made, i), filled;

		if (way < 1.0 / 3)
			filled = at / full;
		else if (way < 2.0 / 3)
			filled = 1 - exp(-at / scale);
		else
			filled = keys * (1 - pow(1 - 1 / keys, at / full));
		set_value(made, i, bound * fmin(filled, 1) + loud * noise(made));
	}
}

/* Days: sines or teeth, no two of the same height, cut off anywhere. */
static void make_sawtooth(struct made *made)
{
	double rising = between(made, 0.3, 0.97), phase = any(made), height, loud, cycles, part = 1;
	int is_sine = any(made) < 0.3, last = -1;

	use_points(made, 60, SERIES_MAX);
	cycles = between(made, 2.5, fmin(made->count / 12.0, 24));
	height = made->unit * between(made, 100, 1000);
	loud = height * between(made, 0, 0.05);
	use_noise(made, 0);
	for (unsigned i = 0; i < made->count; i++) {
		double cycle = share(made, i) * cycles + phase;

		if ((int)cycle != last)
			part = between(made, 0.85, 1);
		last = (int)cycle;
		set_value(made, i,
			  part * height *
					  (is_sine ? 0.5 - 0.5 * cos(2 * M_PI * cycle)
						   : tooth(cycle, rising)) +
				  loud * noise(made));
	}
}

/* A reload: in one to three points to another level. */
static void make_step(struct made *made)
{
	double at = between(made, 0.15, 0.85), height = made->unit * between(made, 50, 1000);
	double loud = height * between(made, 0.005, 0.2), way = 0;
	double part = 1 / ceil(between(made, 0, 3) + 1e-9);

	use_points(made, 20, SERIES_MAX);
	use_noise(made, half(made) ? 0 : between(made, 0, 0.5));
	for (unsigned i = 0; i < made->count; i++) {
		if (share(made, i) >= at)
			way = fmin(way + part, 1);
		set_value(made, i, height * way + loud * noise(made));
	}
}

/* Loads in the first quarter or earlier, then stays. */
static void make_plateau(struct made *made)
{
	double there = between(made, 0.03, 0.25), height = made->unit * between(made, 50, 1000);
	double loud = height * between(made, 0.002, 0.05);
	int bends = half(made);

	use_points(made, 40, SERIES_MAX);
	use_noise(made, between(made, 0, 0.6));
	for (unsigned i = 0; i < made->count; i++) {
		double at = share(made, i) / there;

		set_value(made, i,
			  height * (bends ? 1 - exp(-3 * at) : fmin(at, 1)) + loud * noise(made));
	}
}

static void make_noise(struct made *made)
{
	double loud = made->unit * between(made, 1, 100);

	use_points(made, 10, SERIES_MAX);
	use_noise(made, half(made) ? 0 : between(made, 0, 0.7));
	for (unsigned i = 0; i < made->count; i++)
		set_value(made, i, loud * (6 + noise(made)));
}

static void make_slow_noise(struct made *made)
{
	double loud = made->unit * between(made, 10, 100);

	use_points(made, 20, SERIES_MAX);
	use_noise(made, between(made, 0.7, 0.98));
	for (unsigned i = 0; i < made->count; i++)
		set_value(made, i, loud * (6 + noise(made)));
}

static void make_random_walk(struct made *made)
{
	double pace = made->unit * between(made, 1, 30), at = 0, least = 0;

	use_points(made, 20, SERIES_MAX);
	for (unsigned i = 0; i < made->count; i++) {
		at += pace * normal(made);
		least = fmin(least, at);
		made->points[i].value = at;
	}
	for (unsigned i = 0; i < made->count; i++)
		set_value(made, i, made->points[i].value - least);
}

const struct made_kind made_kinds[] = {
	{"leak in 10x noise", make_leak, TREND_LEAK, 1},
	{"short leak", make_short_leak, TREND_LEAK, 0},
	{"leak below a saw", make_leak_below_a_saw, TREND_LEAK, 0},
	{"cache filling", make_filling, TREND_FILLING, 1},
	{"sawtooth", make_sawtooth, TREND_SAWTOOTH, 1},
	{"step", make_step, TREND_STEP, 1},
	{"plateau", make_plateau, TREND_PLATEAU, 1},
	{"noise", make_noise, TREND_NONE, 1},
	{"slow noise", make_slow_noise, TREND_NONE, 0},
	{"random walk", make_random_walk, TREND_NONE, 0},
	{NULL, NULL, TREND_NONE, 0},
};

void made_series(const struct made_kind *kind, unsigned seed, struct made *made)
{
	made->state = (seed + 1) * UINT64_C(1000003) + (uint64_t)(kind - made_kinds) * 7919;
	made->rate = 0;
	made->unit = of_any_size(made, 2048, 1048576);
	made->below = made->unit * between(made, 0, 20000);
	kind->make(made);
}
