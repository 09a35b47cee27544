/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_trend_judge.c - how often the class of a series is right, by a third set of made series: the judge.
 *
 * The rules of trend.c were set with the first two sets in view.  This one was written before the last of them changed, has other forms of noise (one-sided,
 * spikes, heavy tails, ripples, steps of a quantum) and other ways to leak and to fill, and no constant was set by what it says.
 *
 * PMEM_TREND_SEEDS=1000 in the environment: so many of each kind, not 300.  What comes out of it is in doc/VERDICT.md.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "trend_judging.h"

enum { SEEDS = 300 };

enum noise {
	NOISE_NORMAL,
	NOISE_UNIFORM,
	NOISE_STUDENT, /* three degrees of freedom */
	NOISE_SPIKES,  /* a large request is under way in one of thirty points */
	NOISE_MOVING,  /* blocks that live for two or three points */
	NOISE_QUANTUM, /* buffers of one size */
	NOISE_HALF,    /* never below the level */
	NOISE_RIPPLE,  /* a small wave */
	NOISES,
};

enum kind {
	KIND_LEAK,
	KIND_LEAK_LONG,
	KIND_LATE,
	KIND_LATE_LONG,
	KIND_BLOCKS,
	KIND_LRU,
	KIND_LRU_LATE,
	KIND_COLLECTOR,
	KIND_STEP,
	KIND_STAGES,
	KIND_STEADY,
	KIND_QUEUE,
	KIND_WALK,
	KINDS,
};

/* Of the leaks and of a level the noise is ten times what a leak adds from point to point. */
static const struct judging_truth truths[KINDS] = {
	[KIND_LEAK] = {"leak, 60 to 200 points", TREND_LEAK, 85},
	[KIND_LEAK_LONG] = {"leak, 200 to 3,000", TREND_LEAK, 95},
	[KIND_LATE] = {"later leak, 60 to 200", TREND_LEAK, 75},
	[KIND_LATE_LONG] = {"later leak, 200 to 3,000", TREND_LEAK, 95},
	[KIND_BLOCKS] = {"leak of single blocks", TREND_LEAK, 93},
	[KIND_LRU] = {"cache of Zipf's keys", TREND_FILLING, 95},
	[KIND_LRU_LATE] = {"the same, used later", TREND_FILLING, 95},
	[KIND_COLLECTOR] = {"collector", TREND_SAWTOOTH, 95},
	[KIND_STEP] = {"step", TREND_STEP, 95},
	[KIND_STAGES] = {"start in stages", TREND_PLATEAU, 95},
	[KIND_STEADY] = {"steady", TREND_NONE, 90},
	[KIND_QUEUE] = {"queue", TREND_NONE, 0},
	[KIND_WALK] = {"walk of rare large steps", TREND_NONE, 0},
};

/* --- noise of standard deviation 1 ----------------------------------------------------------- */

struct noisy {
	enum noise form;
	double last[2]; /* normal ones before */
	double period;	/* points */
	double phase;
};

static void choose_noise(struct noisy *noisy)
{
	noisy->form = (enum noise)judging_between(0, NOISES);
	noisy->last[0] = judging_normal();
	noisy->last[1] = judging_normal();
	noisy->period = judging_between(3, 15);
	noisy->phase = judging_between(0, 2 * M_PI);
}

static double student(void)
{
	double squares = 0;

	for (int i = 0; i < 3; i++)
		squares += pow(judging_normal(), 2);
	return judging_normal() / sqrt(squares / 3) / sqrt(3);
}

static double moving(struct noisy *noisy)
{
	double fresh = judging_normal(), sum = fresh + noisy->last[0] + 0.5 * noisy->last[1];

	noisy->last[1] = noisy->last[0];
	noisy->last[0] = fresh;
	return sum / 1.5;
}

static double noise_at(struct noisy *noisy, size_t i)
{
	double fresh;

	switch (noisy->form) {
	case NOISE_UNIFORM:
		return judging_between(-sqrt(3), sqrt(3));
	case NOISE_STUDENT:
		return student();
	case NOISE_SPIKES:
		fresh = judging_between(0, 1) < 1.0 / 30 ? judging_between(3, 12) : 0;
		return (fresh + judging_normal()) / 1.74;
	case NOISE_MOVING:
		return moving(noisy);
	case NOISE_QUANTUM:
		return 1.5 * floor(judging_normal() / 1.5 + 0.5);
	case NOISE_HALF:
		return fabs(judging_normal()) / sqrt(1 - 2 / M_PI);
	case NOISE_RIPPLE:
		return sin((double)i * 2 * M_PI / noisy->period + noisy->phase) +
		       judging_normal() / sqrt(2);
	default:
		return judging_normal();
	}
}

static void add_noise(struct judging_series *series, double size)
{
	struct noisy noisy;

	choose_noise(&noisy);
	series->noise = size;
	for (size_t i = 0; i < series->count; i++)
		series->points[i].value += size * noise_at(&noisy, i);
}

/* --- what it is below the noise -------------------------------------------------------------- */

static double share_at(const struct judging_series *series, size_t i)
{
	return series->points[i].time / series->points[series->count - 1].time;
}

/* A point per interval, some of which are missing. */
static void make_times(struct judging_series *series, double least, double most)
{
	double interval = judging_order(0.1, 600), missing = judging_between(-0.2, 0.3), time = 0;

	series->count = (size_t)judging_order(least, most);
	for (size_t i = 0; i < series->count; i++) {
		series->points[i] = (struct robust_point){time, 0};
		do
			time += interval;
		while (judging_between(0, 1) < missing);
	}
}

static void add_leak(struct judging_series *series, double begin, double size)
{
	double last = series->points[series->count - 1].time;

	series->since = begin * last;
	series->rate = size * (double)(series->count - 1) / last;
	for (size_t i = 0; i < series->count; i++)
		series->points[i].value += series->rate *
					   fmax(0, series->points[i].time - series->since);
	add_noise(series, 10 * size);
}

/* A block of one size every few points, and a little noise. */
static void add_blocks(struct judging_series *series, double size)
{
	double every = judging_between(1, 4), sum = 0;

	for (size_t i = 0; i < series->count; i++) {
		series->points[i].value += sum;
		if (judging_between(0, 1) < 1 / every)
			sum += size;
	}
	series->rate = sum / series->points[series->count - 1].time;
	add_noise(series, size / 2);
	series->noise = size * (double)series->count; /* its line is a walk's: not asked */
}

enum { KEYS = 1500 };

/* Keys come as Zipf says: true for one that was not seen. */
static bool is_new(bool seen[KEYS])
{
	size_t key = (size_t)pow(KEYS, judging_between(0.35, 1)) - 1;
	bool fresh = !seen[key];

	seen[key] = true;
	return fresh;
}

/* How many requests find so many keys. */
static double requests_until(double bound)
{
	bool seen[KEYS] = {false};
	double requests = 0;

	for (double held = 0; held < bound; requests++)
		held += is_new(seen);
	return requests;
}

/* A cache that keeps the last bound keys: until it is full it holds all that were seen. */
static void add_lru(struct judging_series *series, double begin, double size)
{
	bool seen[KEYS] = {false};
	double held = 0, bound = judging_between(300, 700), until = judging_between(0.5, 0.9);
	double requests = requests_until(bound) / (until - begin), done = 0;

	for (size_t i = 0; i < series->count; i++) {
		for (; done < (share_at(series, i) - begin) * requests; done++)
			held += is_new(seen) && held < bound;
		series->points[i].value += size * held / bound;
	}
	add_noise(series, size * judging_order(0.001, 0.02));
}

/* Rises until a random bound, then falls to what is in use. */
static void add_collector(struct judging_series *series, double size)
{
	double used = judging_between(0, 0.2), held = judging_between(0.2, 0.7), bound = 1;
	double pace = judging_between(3, 20) / (double)series->count;

	for (size_t i = 0; i < series->count; i++) {
		held += pace * judging_between(0.5, 1.5);
		if (held > bound) {
			held = used + judging_between(0, 0.1);
			bound = judging_between(0.85, 1);
		}
		series->points[i].value += size * held;
	}
	add_noise(series, size * judging_order(0.001, 0.03));
}

static void add_step(struct judging_series *series, double size)
{
	double at = judging_between(0.15, 0.85) * (double)series->count;
	double width = judging_between(0.05, 0.6);

	for (size_t i = 0; i < series->count; i++)
		series->points[i].value += size / (1 + exp(-((double)i - at) / width));
	add_noise(series, size * judging_order(0.005, 0.15));
}

static void add_stages(struct judging_series *series, double size)
{
	int stages = (int)judging_between(2, 6);
	double last = judging_between(0.02, 0.18);

	for (size_t i = 0; i < series->count; i++) {
		double way = fmin(share_at(series, i) / last, 1);

		series->points[i].value += size * floor(way * stages + 1) / (stages + 1);
	}
	add_noise(series, size * judging_order(0.002, 0.05));
}

/* Requests come and go: how many are there changes by chance, around a mean. */
static void add_queue(struct judging_series *series, double size)
{
	double stay = judging_order(1, 100), mean = judging_order(5, 500), there = mean;

	for (size_t i = 0; i < series->count; i++) {
		there += (mean - there) / stay + sqrt(2 * mean / stay) * judging_normal();
		there = fmax(there, 0);
		series->points[i].value += size * floor(there);
	}
}

static void add_walk(struct judging_series *series, double size)
{
	double at = 0, often = judging_order(0.05, 1), least = 0;

	for (size_t i = 0; i < series->count; i++) {
		series->points[i].value += at;
		if (judging_between(0, 1) < often)
			at += size * judging_normal() * judging_order(0.1, 10);
		least = fmin(least, at);
	}
	for (size_t i = 0; i < series->count; i++)
		series->points[i].value -= least;
}

/* How many points; those of the kinds that a few points show. */
static void make_points(enum kind kind, struct judging_series *series)
{
	switch (kind) {
	case KIND_LEAK:
	case KIND_LATE:
		make_times(series, 60, 200);
		break;
	case KIND_LEAK_LONG:
	case KIND_LATE_LONG:
		make_times(series, 200, 3000);
		break;
	case KIND_COLLECTOR:
		make_times(series, 100 * judging_order(1, 10), 3000);
		break;
	default:
		make_times(series, 60, 3000);
		break;
	}
}

static void make_series(enum kind kind, uint64_t seed, struct judging_series *series)
{
	double size;

	judging_seed((seed * KINDS + kind) * UINT64_C(0x2545f4914f6cdd1d));
	memset(series, 0, sizeof(*series));
	make_points(kind, series);
	size = judging_order(1 << 18, 1 << 28);
	switch (kind) {
	case KIND_LEAK:
	case KIND_LEAK_LONG:
		add_leak(series, 0, size / 100);
		break;
	case KIND_LATE:
	case KIND_LATE_LONG:
		add_leak(series, judging_between(0.1, 0.5), size / 100);
		break;
	case KIND_BLOCKS:
		add_blocks(series, size / 100);
		break;
	case KIND_LRU:
		add_lru(series, 0, size);
		break;
	case KIND_LRU_LATE:
		add_lru(series, judging_between(0.05, 0.25), size);
		break;
	case KIND_COLLECTOR:
		add_collector(series, size);
		break;
	case KIND_STEP:
		add_step(series, size);
		break;
	case KIND_STAGES:
		add_stages(series, size);
		break;
	case KIND_STEADY:
		add_noise(series, size * judging_order(0.01, 0.3));
		break;
	case KIND_QUEUE:
		add_queue(series, size / 100);
		break;
	default:
		add_walk(series, size / 100);
		break;
	}
	for (size_t i = 0; i < series->count; i++)
		series->points[i].value += 2 * size;
}

static void test_judge(void **state)
{
	static struct judging_series series;
	struct judging_tally tallies[KINDS] = {{0}};

	(void)state;
	judging_print_head("the third set");
	for (unsigned kind = 0; kind < KINDS; kind++) {
		for (uint64_t seed = 0; seed < judging_seeds(SEEDS); seed++) {
			make_series((enum kind)kind, seed, &series);
			judging_count(&series, &tallies[kind]);
		}
		judging_print(&truths[kind], &tallies[kind]);
	}
	for (unsigned kind = 0; kind < KINDS; kind++) {
		judging_check_alarms(&truths[kind], &tallies[kind]);
		judging_check_promise(&truths[kind], &tallies[kind]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_judge)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
