/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_mapped_truth.c - whether growth by mmap is told from all else, and who is to blame, by made profiles.
 *
 * A made process has a heap of three allocation sites and maps memory from five others: one of these is what the kind says, the others are
 * buffers that come and go, teeth, pools that are mapped at the start, and segments that stay.  What comes and goes makes, in all that
 * is mapped, noise of about ten times what the grower adds from point to point.  Judged is what `pmem report` and the summary of `pmem run` ask:
 * the class and the culprit among the mappings, and that nobody of the heap is blamed.
 *
 * PMEM_TREND_SEEDS=1000 in the environment: so many of each kind, not 100.  What comes out of it is in doc/VERDICT.md.
 */
#include "report_fixture.h"

#include <math.h>

#include "profile/verdict.h"
#include "trend_judging.h"

enum {
	SEEDS = 100,
	TIMES = 2000,
	HEAP = 3,
	MAPPED = 5,
	LEAST_POINTS = 200,
	PAGE = 4096,
};

/* What a site does. */
enum course {
	COURSE_GROWS,  /* maps a segment now and then, and keeps it */
	COURSE_FILLS,  /* the same up to a bound: a cache */
	COURSE_STEPS,  /* maps one more, once: a reload */
	COURSE_STARTS, /* maps all at the start */
	COURSE_TEETH,
	COURSE_CHURNS, /* buffers of which each lives for some points */
	COURSES,
};

struct truth {
	const char *name;
	enum course course; /* of the first site */
	enum trend_class class;
	unsigned promised; /* per cent */
};

static const struct truth truths[] = {
	{"mmap growth", COURSE_GROWS, TREND_LEAK, 95},
	{"mmap cache filling", COURSE_FILLS, TREND_FILLING, 95},
	{"mmap step", COURSE_STEPS, TREND_STEP, 95},
	{"mmap plateau", COURSE_STARTS, TREND_PLATEAU, 95},
	{"mmap come and go", COURSE_CHURNS, TREND_NONE, 0},
};

/* A made process. */
struct world {
	struct model *model;
	struct profile mapped;
	uint32_t count; /* of points */
	double span;	/* seconds */
	double pace;	/* bytes that the grower adds from point to point */
	double rate;	/* of the grower since it began, bytes a second: what chance is around */
	uint64_t segment;
	struct profile_point points[2][TIMES]; /* of the heap; of what is mapped */
	struct profile_sample samples[HEAP + MAPPED][TIMES];
	struct profile_series series[HEAP + MAPPED];
	struct profile_stack stacks[HEAP + MAPPED];
};

static uint64_t pages(double bytes)
{
	return (uint64_t)fmax(1, bytes / PAGE) * PAGE;
}

/* How many come in one point, if it is mean on average. */
static uint32_t arrivals(double mean)
{
	double limit = exp(-mean), product = judging_between(0, 1);
	uint32_t count = 0;

	for (; product > limit; product *= judging_between(0, 1))
		count++;
	return count;
}

static double when(const struct world *world, uint32_t i)
{
	return (double)i / (world->count - 1);
}

/* --- what sites do ---------------------------------------------------------------------------- */

/* Sets live bytes at all points, and what was mapped so far. */
static void put(struct profile_sample *samples, uint32_t i, uint64_t live)
{
	uint64_t before = i ? samples[i - 1].live_bytes : 0,
		 all = i ? samples[i - 1].alloc_bytes : 0;

	samples[i].live_bytes = live;
	samples[i].alloc_bytes = all + (live > before ? live - before : 0);
}

static void grow(struct world *world, struct profile_sample *samples)
{
	double begin = judging_between(0, 1) < 0.5 ? 0 : judging_between(0.1, 0.5);
	double mean = judging_order(0.5, 20);
	uint64_t sum = 0;

	world->segment = pages(world->pace / mean);
	world->rate = mean * (double)world->segment * (world->count - 1) / world->span;
	for (uint32_t i = 0; i < world->count; i++) {
		if (when(world, i) >= begin)
			sum += arrivals(mean) * world->segment;
		put(samples, i, sum);
	}
}

/* Full after a good part of the time: straight on, or ever more slowly. */
static void fill_up(const struct world *world, struct profile_sample *samples)
{
	double full = judging_between(0.4, 0.9), bound = world->pace * world->count,
	       scale = judging_between(0.15, 0.35);
	bool bends = judging_between(0, 1) < 0.5;
	uint64_t segment = pages(bound / judging_between(100, 400));

	for (uint32_t i = 0; i < world->count; i++) {
		double at = when(world, i), part = bends ? 1 - exp(-at / scale) : fmin(1, at / full);

		put(samples, i, (uint64_t)(bound * part) / segment * segment);
	}
}

static void step(const struct world *world, struct profile_sample *samples)
{
	double at = judging_between(0.15, 0.85), base = world->pace * judging_between(10, 100);
	uint64_t low = pages(base), more = pages(base * judging_between(0.3, 2));

	for (uint32_t i = 0; i < world->count; i++)
		put(samples, i, low + (when(world, i) >= at ? more : 0));
}

static void start(const struct world *world, struct profile_sample *samples)
{
	double there = judging_between(0.01, 0.2);
	uint64_t all = pages(world->pace * judging_order(10, 1000)), part = all / 16 / PAGE * PAGE;

	for (uint32_t i = 0; i < world->count; i++)
		put(samples, i,
		    when(world, i) >= there ? all : part * (uint64_t)(when(world, i) / there * 16));
}

static void teeth(const struct world *world, struct profile_sample *samples)
{
	double length = 1 / judging_between(4, 20), phase = judging_between(0, 1);
	uint64_t segment = pages(world->pace * judging_between(1, 4));

	for (uint32_t i = 0; i < world->count; i++) {
		double at = when(world, i) / length + phase;

		put(samples, i, segment * (uint64_t)((at - floor(at)) * 12));
	}
}

/* So many at a time that their number's deviation is ten times the grower's pace. */
static void churn(const struct world *world, struct profile_sample *samples)
{
	double mean = judging_between(10, 60), life = judging_between(1.5, 8);
	uint64_t buffer = pages(10 * world->pace / sqrt(mean));
	uint32_t live = (uint32_t)mean, stay;

	for (uint32_t i = 0; i < world->count; i++) {
		stay = 0;
		for (uint32_t k = 0; k < live; k++)
			stay += judging_between(0, 1) >= 1 / life;
		live = stay + arrivals(mean / life);
		put(samples, i, live * buffer);
	}
}

static void follow(struct world *world, enum course course, struct profile_sample *samples)
{
	switch (course) {
	case COURSE_GROWS:
		grow(world, samples);
		break;
	case COURSE_FILLS:
		fill_up(world, samples);
		break;
	case COURSE_STEPS:
		step(world, samples);
		break;
	case COURSE_STARTS:
		start(world, samples);
		break;
	case COURSE_TEETH:
		teeth(world, samples);
		break;
	default:
		churn(world, samples);
		break;
	}
}

/* --- the process ------------------------------------------------------------------------------ */

/* Its call stack is main() and the function at the spot. */
static void add_site(struct world *world, unsigned site, enum spot spot, enum course course)
{
	struct profile_sample *samples = world->samples[site];
	const struct profile_sample *last = &samples[world->count - 1];
	bool is_heap = site < HEAP;
	uint32_t main = model_node(world->model, 0, MAIN);

	follow(world, course, samples);
	for (uint32_t i = 0; i < world->count; i++) {
		struct profile_point *point = &world->points[!is_heap][i];

		samples[i].time_ns = world->points[0][i].time_ns;
		point->live_bytes += samples[i].live_bytes;
		if (!is_heap)
			world->points[0][i].mapped_bytes = point->live_bytes;
	}
	world->stacks[site] = (struct profile_stack){
		.node = model_node(world->model, main, spot),
		.hook = is_heap ? FORMAT_HOOK_MALLOC : FORMAT_HOOK_MMAP,
		.number = site + 10,
		.counts = {.alloc_bytes = last->alloc_bytes,
			   .free_bytes = last->alloc_bytes - last->live_bytes,
			   .alloc_count = 1 + last->alloc_bytes / PAGE},
	};
	world->series[site] = (struct profile_series){is_heap ? site : site - HEAP, world->count,
						      samples};
}

static void add_totals(struct profile *profile)
{
	profile->totals = (struct profile_counts){0};
	for (uint32_t i = 0; i < profile->stack_count; i++) {
		profile->totals.alloc_bytes += profile->stacks[i].counts.alloc_bytes;
		profile->totals.alloc_count += profile->stacks[i].counts.alloc_count;
		profile->totals.free_bytes += profile->stacks[i].counts.free_bytes;
	}
}

static void set_profiles(struct world *world)
{
	struct profile *heap = &world->model->profile, *mapped = &world->mapped;

	heap->is_live = false;
	heap->duration_ns = (uint64_t)(world->span * SECOND) + SECOND;
	heap->points = world->points[0];
	heap->point_count = world->count;
	heap->stacks = world->stacks;
	heap->stack_count = HEAP;
	heap->series = world->series;
	heap->series_count = HEAP;
	*mapped = *heap;
	mapped->is_mapped = true;
	mapped->points = world->points[1];
	mapped->stacks = world->stacks + HEAP;
	mapped->stack_count = MAPPED;
	mapped->series = world->series + HEAP;
	mapped->series_count = MAPPED;
	add_totals(heap);
	add_totals(mapped);
	heap->mapped = mapped;
}

/* The same process for the same arguments; the first site of the mappings is what the kind says, in a function drawn by lot. */
static void make(struct world *world, const struct truth *truth, uint64_t seed, enum spot *culprit)
{
	static const enum course others[] = {COURSE_CHURNS, COURSE_TEETH, COURSE_STARTS};
	enum spot order[] = {HANDLE, REMEMBER, LOAD, PARSE, WALK, NAMELESS};
	unsigned shift;

	judging_seed(seed * 64 + (uint64_t)(truth - truths));
	memset(world, 0, sizeof(*world));
	world->model = model_new();
	world->model->profile.node_count = 1;
	world->count = (uint32_t)judging_order(LEAST_POINTS, TIMES);
	world->span = judging_order(20, 86400);
	world->pace = judging_order(PAGE, 1 << 20);
	for (uint32_t i = 0; i < world->count; i++)
		world->points[0][i].time_ns = world->points[1][i]
						      .time_ns = (uint64_t)((when(world, i) *
										     world->span +
									     0.5) *
									    SECOND);
	shift = (unsigned)judging_between(0, 6);
	*culprit = order[shift % 6];
	for (unsigned i = 0; i < HEAP; i++)
		add_site(world, i, order[(shift + 1 + i) % 6], others[i]);
	for (unsigned i = 0; i < MAPPED; i++)
		add_site(world, HEAP + i, order[(shift + i) % 6],
			 i == 0	  ? truth->course
			 : i == 1 ? COURSE_CHURNS
				  : others[(unsigned)judging_between(0, 3)]);
	set_profiles(world);
}

/* --- what is said of it ----------------------------------------------------------------------- */

struct said {
	enum trend_class class; /* of the culprit, or of the first site */
	bool is_right;		/* it was blamed, and nobody else grows */
	bool alarm;		/* somebody who does not grow is a leak */
	double rate;		/* of the culprit, */
	uint64_t since_ns;	/* since then */
};

struct judged {
	struct places *places;
	struct sites *sites;
	struct verdicts *verdicts;
};

static void judge(const struct profile *profile, struct judged *judged)
{
	const struct growth_interval whole = {0, profile->duration_ns};
	struct sites_query query = {
		.profile = profile, .names = names_new(profile), .interval = whole};
	struct growth growth;
	struct error err = {""};

	query.places = judged->places = places_new(profile, query.names);
	assert_non_null(judged->places);
	assert_true(sites_build(&query, &judged->sites, &err));
	growth_of_process(profile, &whole, &growth);
	assert_true(verdicts_find(judged->sites, &growth, &whole, &judged->verdicts, &err));
}

static void end(struct judged *judged)
{
	verdicts_free(judged->verdicts);
	sites_free(judged->sites);
	places_free(judged->places);
}

static bool is_of(const struct judged *judged, const struct verdict *verdict, enum spot spot)
{
	return places_get(judged->places, verdict->place)->location == (uint32_t)spot;
}

static struct said ask(const struct world *world, enum spot spot)
{
	struct said said = {.class = TREND_NONE};
	struct judged heap, mapped;
	const struct verdict *culprit;

	judge(&world->model->profile, &heap);
	judge(&world->mapped, &mapped);
	culprit = verdicts_culprit(mapped.verdicts);
	for (uint32_t i = 1; i < mapped.verdicts->count; i++) {
		const struct verdict *verdict = &mapped.verdicts->items[i];

		if (is_of(&mapped, verdict, spot))
			said.class = verdict->trend.class;
		else
			said.alarm |= verdict->trend.class == TREND_LEAK;
	}
	said.alarm |= verdicts_leaks(heap.verdicts) > 0;
	said.is_right = culprit && is_of(&mapped, culprit, spot) && !verdicts_culprit(heap.verdicts);
	said.rate = culprit ? culprit->trend.rate : 0;
	said.since_ns = culprit ? culprit->since_ns : 0;
	end(&heap);
	end(&mapped);
	return said;
}

/* --- how often that is true ------------------------------------------------------------------- */

struct tally {
	unsigned seeds;
	unsigned classes[TREND_CLASSES];
	unsigned right;	 /* class and culprit */
	unsigned alarms; /* another site, or one of the heap, is called a leak */
	unsigned slopes; /* that so many arrivals determine */
	unsigned wrong_slopes;
};

/* The rate of n arrivals has a standard error of 1 / sqrt(n), the line through them one of some 1.1 times that: four are 5 % of 8,000. */
static bool has_slope(const struct world *world, uint64_t since_ns)
{
	const struct profile_sample *samples = world->samples[HEAP];
	uint32_t i = 0;

	while (i + 1 < world->count && samples[i].time_ns < since_ns)
		i++;
	return samples[world->count - 1].live_bytes - samples[i].live_bytes >= 8000 * world->segment;
}

static void count(const struct truth *truth, uint64_t seed, struct tally *tally)
{
	static struct world world;
	enum spot spot;
	struct said said;

	make(&world, truth, seed, &spot);
	said = ask(&world, spot);
	tally->seeds++;
	tally->classes[said.class]++;
	tally->right += said.class == truth->class && (truth->class != TREND_LEAK || said.is_right);
	tally->alarms += said.alarm || (said.class == TREND_LEAK && truth->class != TREND_LEAK);
	if (truth->class == TREND_LEAK && said.class == TREND_LEAK && said.is_right &&
	    has_slope(&world, said.since_ns)) {
		tally->slopes++;
		tally->wrong_slopes += fabs(said.rate / world.rate - 1) > 0.05;
	}
	free(world.model);
}

static void check(const struct truth *truth, const struct tally *tally)
{
	print_message(
		"%-20s right %4u of %u; none %u leak %u filling %u sawtooth %u step %u plateau "
		"%u; false alarms %u; slopes more than 5 %% off %u of %u\n",
		truth->name, tally->right, tally->seeds, tally->classes[TREND_NONE],
		tally->classes[TREND_LEAK], tally->classes[TREND_FILLING],
		tally->classes[TREND_SAWTOOTH], tally->classes[TREND_STEP],
		tally->classes[TREND_PLATEAU], tally->alarms, tally->wrong_slopes, tally->slopes);
	assert_true(tally->right * 100 >= truth->promised * tally->seeds);
	/* Of few seeds two more. */
	assert_true(tally->alarms <= tally->seeds / 100 + (tally->seeds < 1000 ? 2 : 0));
	assert_true(tally->wrong_slopes * 50 <= tally->slopes);
}

static void test_who_maps_more_and_more(void **state)
{
	(void)state;
	for (unsigned i = 0; i < sizeof(truths) / sizeof(truths[0]); i++) {
		struct tally tally = {0};

		for (uint64_t seed = 1; seed <= judging_seeds(SEEDS); seed++)
			count(&truths[i], seed, &tally);
		check(&truths[i], &tally);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_maps_more_and_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
