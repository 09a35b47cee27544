/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * verdict.c - what kind of growth a process has, and each of its allocation sites that matter.
 *
 * A program has thousands of sites and call stacks: a first pass over all looks at three moments only and chooses the sites that grew
 * most, or hold most.  Of these alone a series is made, at the times of the process's points.
 */
#include "profile/verdict.h"

#include <stdlib.h>
#include <string.h>

enum {
	GROWERS = 12, /* sites that grew most over all, and again over the second half */
	HOLDERS = 8,  /* that hold most */
	CHOSEN_MAX = 2 * GROWERS + HOLDERS,
	NOT_CHOSEN = 255,
};

/* The moments of the first pass, and what a site had there. */
struct first_look {
	int64_t all;  /* change over the interval */
	int64_t late; /* over its second half */
	int64_t live; /* at its end */
};

struct search {
	const struct sites *sites;
	const struct profile *profile;
	struct growth_interval interval;
	struct first_look *looks;    /* by index of the site */
	uint8_t *number;	     /* of the chosen, by index of the site */
	uint32_t chosen[CHOSEN_MAX]; /* index of the site */
	unsigned chosen_count;
	struct robust_point *times; /* growth_points() of the interval */
	size_t time_count;
	double *changes; /* [chosen][time] */
};

/* --- which sites ----------------------------------------------------------------------------- */

/* SITES_NONE: not selected. */
static uint32_t site_of(const struct sites *sites, uint32_t stack)
{
	uint32_t place = sites->of_stack[stack];

	return place == SITES_NONE ? SITES_NONE : sites->of_place[place];
}

static uint64_t live_at(const struct search *search, const struct profile_series *series,
			uint64_t time_ns)
{
	struct growth_value value;

	growth_at(search->profile, series, time_ns, &value);
	return value.live_bytes;
}

static void look_first(struct search *search)
{
	const struct growth_interval *interval = &search->interval;
	uint64_t middle = interval->since_ns / 2 + interval->until_ns / 2;

	for (uint32_t i = 0; i < search->profile->series_count; i++) {
		const struct profile_series *series = &search->profile->series[i];
		uint32_t site = site_of(search->sites, series->stack);
		uint64_t end;

		if (site == SITES_NONE)
			continue;
		end = live_at(search, series, interval->until_ns);
		search->looks[site].all += (int64_t)(end -
						     live_at(search, series, interval->since_ns));
		search->looks[site].late += (int64_t)(end - live_at(search, series, middle));
		search->looks[site].live += (int64_t)end;
	}
}

enum look { LOOK_ALL, LOOK_LATE, LOOK_LIVE };

static int64_t value_of(const struct first_look *look, enum look by)
{
	return by == LOOK_ALL ? look->all : by == LOOK_LATE ? look->late : look->live;
}

/* The count sites with the most that are not chosen yet. */
static void choose(struct search *search, enum look by, unsigned count)
{
	while (count--) {
		uint32_t best = SITES_NONE;

		for (uint32_t i = 0; i < search->sites->count; i++)
			if (search->number[i] == NOT_CHOSEN && value_of(&search->looks[i], by) > 0 &&
			    (best == SITES_NONE ||
			     value_of(&search->looks[i], by) > value_of(&search->looks[best], by)))
				best = i;
		if (best == SITES_NONE)
			return;
		search->number[best] = (uint8_t)search->chosen_count;
		search->chosen[search->chosen_count++] = best;
	}
}

/* --- their series ---------------------------------------------------------------------------- */

/* A call stack holds what its sample says from the first point on that is not before it. */
static void add_series(struct search *search, const struct profile_series *series, double *changes)
{
	uint64_t before = 0;
	size_t at = 0;

	for (uint32_t i = 0; i < series->count; i++) {
		const struct profile_sample *sample = &series->samples[i];

		while (at < search->time_count &&
		       search->times[at].time < growth_seconds(sample->time_ns))
			at++;
		if (at == search->time_count)
			return;
		changes[at] += (double)sample->live_bytes - (double)before;
		before = sample->live_bytes;
	}
}

static void add_all_series(struct search *search)
{
	for (uint32_t i = 0; i < search->profile->series_count; i++) {
		const struct profile_series *series = &search->profile->series[i];
		uint32_t site = site_of(search->sites, series->stack);

		if (site != SITES_NONE && search->number[site] != NOT_CHOSEN)
			add_series(search, series,
				   search->changes + search->number[site] * search->time_count);
	}
}

static void read_trend(const struct search *search, unsigned chosen, double most,
		       struct robust_point *points, struct trend *trend)
{
	const double *changes = search->changes + chosen * search->time_count;
	double sum = 0;

	for (size_t i = 0; i < search->time_count; i++) {
		sum += changes[i];
		points[i] = (struct robust_point){search->times[i].time, sum};
	}
	*trend = (struct trend){.p = 1};
	if (!growth_too_little(search->profile, points, search->time_count))
		trend_read(points, search->time_count, growth_least(most), trend);
}

/* --- what else is known of a site ------------------------------------------------------------ */

/* Of a site's call stacks: what was freed, and what of that they held at the growth's begin and in its middle. */
struct frees {
	uint64_t freed;
	uint64_t count;
	uint64_t freed_since; /* until the growth began */
	uint64_t freed_middle;
	uint64_t live_middle;
	bool inexact;
};

static uint64_t freed_by(const struct growth_value *value)
{
	return value->alloc_bytes > value->live_bytes ? value->alloc_bytes - value->live_bytes : 0;
}

static void add_frees(const struct search *search, const struct verdict *verdict, uint32_t stack,
		      struct frees *frees)
{
	const struct profile_stack *from = &search->profile->stacks[stack];
	uint32_t index = search->sites->series[stack];
	struct growth_value value;

	frees->inexact |= from->inexact;
	frees->freed += from->counts.free_bytes;
	frees->count += from->counts.free_count;
	if (index == SITES_NONE)
		return;
	growth_before(search->profile, &search->profile->series[index], verdict->since_ns, &value);
	frees->freed_since += freed_by(&value);
	growth_before(search->profile, &search->profile->series[index], verdict->middle_ns, &value);
	frees->freed_middle += freed_by(&value);
	frees->live_middle += value.live_bytes;
}

/* What was freed after the middle is at most all of what was held then: the rest is a proof. */
static void judge_frees(const struct search *search, const struct frees *frees,
			struct verdict *verdict)
{
	uint64_t later = frees->freed - frees->freed_middle;

	if (frees->inexact || search->profile->header.sample_bytes ||
	    search->interval.until_ns < search->profile->duration_ns)
		return;
	if (!frees->count && !frees->freed)
		verdict->frees = VERDICT_FREES_NONE;
	else if (frees->freed == frees->freed_since)
		verdict->frees = VERDICT_FREES_SINCE;
	else if (frees->freed >= frees->freed_middle && later < frees->live_middle / 2) {
		verdict->frees = VERDICT_FREES_KEPT;
		verdict->kept = 1 - (double)later / (double)frees->live_middle;
	}
}

static void add_stack(const struct search *search, uint32_t stack, struct verdict *verdict,
		      int64_t *most)
{
	const struct profile *profile = search->profile;
	uint32_t index = search->sites->series[stack];
	const struct growth_interval since = {verdict->since_ns, search->interval.until_ns};
	int64_t change = 0;
	uint64_t ignored;

	verdict->live_count += profile_live_count(&profile->stacks[stack].counts);
	if (index != SITES_NONE) {
		change = growth_change(profile, &profile->series[index], &since, &ignored);
		verdict->live_bytes += live_at(search, &profile->series[index],
					       search->interval.until_ns);
	}
	verdict->growth += change;
	if (verdict->stack != SITES_NONE && change <= *most)
		return;
	verdict->stack = stack;
	*most = change;
}

static void complete(const struct search *search, struct verdict *verdict)
{
	struct frees frees = {.freed = 0};
	int64_t most = 0;

	verdict->stack = SITES_NONE;
	verdict->middle_ns = verdict->since_ns / 2 + search->interval.until_ns / 2;
	for (uint32_t i = 0; i < search->profile->stack_count; i++) {
		if (search->sites->of_stack[i] != verdict->place)
			continue;
		add_stack(search, i, verdict, &most);
		add_frees(search, verdict, i, &frees);
	}
	judge_frees(search, &frees, verdict);
}

/* --- all of them ----------------------------------------------------------------------------- */

static int rank_of(const struct verdict *verdict)
{
	static const int ranks[TREND_CLASSES] = {
		[TREND_LEAK] = 0,     [TREND_FILLING] = 1, [TREND_STEP] = 2,
		[TREND_SAWTOOTH] = 3, [TREND_PLATEAU] = 4, [TREND_NONE] = 5,
	};

	return ranks[verdict->trend.class];
}

static int by_weight(const void *left, const void *right)
{
	const struct verdict *a = left, *b = right;
	double first = a->trend.rate, second = b->trend.rate;

	if (rank_of(a) != rank_of(b))
		return rank_of(a) - rank_of(b);
	if (first != second)
		return first > second ? -1 : 1;
	if (a->live_bytes != b->live_bytes)
		return a->live_bytes > b->live_bytes ? -1 : 1;
	return (a->place > b->place) - (a->place < b->place);
}

static void judge_process(const struct search *search, const struct growth *growth,
			  struct verdict *verdict)
{
	*verdict = (struct verdict){
		.place = SITES_NONE,
		.stack = SITES_NONE,
		.trend = growth->trend,
		.since_ns = growth->since_ns,
	};
	if (!search->time_count)
		return;
	verdict->live_bytes = (uint64_t)search->times[search->time_count - 1].value;
	verdict->growth = (int64_t)(verdict->live_bytes - growth->low);
}

static void judge(struct search *search, const struct growth *growth, struct robust_point *points,
		  struct verdicts *verdicts)
{
	double most = (double)growth->high;

	judge_process(search, growth, verdicts->items);
	verdicts->count = 1;
	for (unsigned i = 0; i < search->chosen_count; i++) {
		struct verdict *verdict = &verdicts->items[verdicts->count];

		*verdict = (struct verdict){.place = search->sites->items[search->chosen[i]].place};
		read_trend(search, i, most, points, &verdict->trend);
		if (verdict->trend.class == TREND_NONE)
			continue;
		verdict->since_ns = growth_ns(verdict->trend.since);
		complete(search, verdict);
		verdicts->count++;
	}
	qsort(verdicts->items + 1, verdicts->count - 1, sizeof(*verdicts->items), by_weight);
}

static bool search_all(struct search *search, const struct growth *growth, struct verdicts *verdicts)
{
	struct robust_point *points;

	look_first(search);
	choose(search, LOOK_ALL, GROWERS);
	choose(search, LOOK_LATE, GROWERS);
	choose(search, LOOK_LIVE, HOLDERS);
	search->times = growth_points(search->profile, &search->interval, &search->time_count);
	if (!search->times)
		return false;
	search->changes = calloc(search->chosen_count * search->time_count + 1,
				 sizeof(*search->changes));
	points = calloc(search->time_count + 1, sizeof(*points));
	if (search->changes && points) {
		add_all_series(search);
		judge(search, growth, points, verdicts);
	}
	free(points);
	return verdicts->count > 0;
}

bool verdicts_find(struct sites *sites, const struct growth *growth,
		   const struct growth_interval *interval, struct verdicts **found,
		   struct error *err)
{
	struct search search = {.sites = sites, .profile = sites->query.profile};
	struct verdicts *verdicts = calloc(1, sizeof(*verdicts));
	bool done = false;

	sites_refine(sites, 1u << SITES_GROWTH | 1u << SITES_LIVE);
	search.interval = (struct growth_interval){interval->since_ns, growth->until_ns};
	search.looks = calloc((size_t)sites->count + 1, sizeof(*search.looks));
	search.number = malloc((size_t)sites->count + 1);
	if (verdicts)
		verdicts->items = calloc(CHOSEN_MAX + 1, sizeof(*verdicts->items));
	if (search.looks && search.number && verdicts && verdicts->items) {
		memset(search.number, NOT_CHOSEN, sites->count);
		done = search_all(&search, growth, verdicts);
	}
	free(search.looks);
	free(search.number);
	free(search.changes);
	free(search.times);
	if (done)
		*found = verdicts;
	else
		verdicts_free(verdicts);
	return done ? true : error_set(err, "no memory for verdicts on %u sites", sites->count);
}

void verdicts_free(struct verdicts *verdicts)
{
	if (verdicts)
		free(verdicts->items);
	free(verdicts);
}

static bool is_growing(const struct verdict *verdict)
{
	return verdict->trend.course == TREND_RISING &&
	       (verdict->trend.class == TREND_LEAK || verdict->trend.class == TREND_FILLING);
}

const struct verdict *verdicts_culprit(const struct verdicts *verdicts)
{
	for (uint32_t i = 1; i < verdicts->count; i++)
		if (is_growing(&verdicts->items[i]))
			return &verdicts->items[i];
	return NULL;
}

const struct site *verdicts_site(const struct sites *sites, const struct verdict *verdict)
{
	uint32_t index = sites->of_place[verdict->place];

	return index == SITES_NONE ? NULL : &sites->items[index];
}

bool verdicts_grower(const struct sites *sites, const struct verdict *culprit,
		     struct sites_grower *grower)
{
	const struct site *site = culprit ? verdicts_site(sites, culprit) : NULL;

	if (!sites_find_grower(sites, grower))
		return false;
	if (!site || site == grower->site || site->counts.growth <= 0)
		return true;
	grower->site = site;
	grower->growth = (uint64_t)site->counts.growth;
	grower->live_bytes = culprit->live_bytes;
	return true;
}

bool verdicts_limit(const struct profile *profile, const struct growth *growth,
		    const struct verdicts *verdicts, struct limit *limit)
{
	const struct verdict *culprit = verdicts_culprit(verdicts);
	double rate = 0;

	if (growth->freed_at_end)
		return false;
	if (growth->kind == GROWTH_GROWING)
		rate = growth->trend.rate;
	else if (culprit)
		rate = culprit->trend.rate;
	return limit_next(profile, rate, limit);
}

uint32_t verdicts_leaks(const struct verdicts *verdicts)
{
	uint32_t leaks = 0;

	for (uint32_t i = 1; i < verdicts->count; i++)
		leaks += verdicts->items[i].trend.class == TREND_LEAK;
	return leaks;
}
