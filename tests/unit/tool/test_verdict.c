/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_verdict.c - verdicts on sites: who is to blame, and what is proved of his frees.
 */
#include "report_fixture.h"

#include <math.h>

#include "profile/verdict.h"

static struct places *places;
static struct sites *sites;
static struct verdicts *verdicts;

static void find(struct model *model)
{
	const struct growth_interval whole = {0, 60 * SECOND};
	struct sites_query query = {
		.profile = &model->profile, .names = names_new(&model->profile), .interval = whole};
	struct growth growth;
	struct error err = {""};

	places = places_new(&model->profile, query.names);
	assert_non_null(places);
	query.places = places;
	assert_true(sites_build(&query, &sites, &err));
	growth_of_process(&model->profile, &whole, &growth);
	assert_true(verdicts_find(sites, &growth, &whole, &verdicts, &err));
}

static void end(struct model *model)
{
	verdicts_free(verdicts);
	sites_free(sites);
	places_free(places);
	free(model);
}

/* The process first; then the one site that grows. */
static void test_a_leak_is_blamed(void **state)
{
	struct model *model = model_new();
	const struct verdict *culprit;
	struct sites_grower grower;

	(void)state;
	find(model);
	assert_int_equal(verdicts->items[0].place, SITES_NONE);
	assert_int_equal(verdicts->items[0].trend.class, TREND_LEAK);
	culprit = verdicts_culprit(verdicts);
	assert_non_null(culprit);
	assert_int_equal(places_get(places, culprit->place)->location, REMEMBER);
	assert_int_equal(culprit->stack, 0);
	assert_true(fabs(culprit->trend.rate / (double)MIB - 1) < 1e-6);
	assert_int_equal(culprit->since_ns, SECOND);
	assert_int_equal(culprit->growth, 59 * MIB);
	assert_int_equal(culprit->live_bytes, 60 * MIB);
	assert_int_equal(culprit->frees, VERDICT_FREES_NONE);
	assert_int_equal(culprit->live_count, 60);
	assert_int_equal(verdicts_leaks(verdicts), 1);
	assert_true(verdicts_grower(sites, culprit, &grower));
	assert_int_equal(grower.growth, 60 * MIB);
	end(model);
}

/* Of a heap of 10 GiB that moves by 1 GiB up and down the process says nothing: the site does. */
static void test_a_slow_leak_beside_a_large_heap(void **state)
{
	struct model *model = model_new();
	unsigned random = 7;

	(void)state;
	for (unsigned i = 0; i < 60; i++) {
		random = random * 1103515245 + 12345;
		model->points[i].live_bytes = (10240 + (random >> 16) % 1024 + i) * MIB;
	}
	find(model);
	assert_int_equal(verdicts->items[0].trend.class, TREND_NONE);
	assert_non_null(verdicts_culprit(verdicts));
	assert_int_equal(verdicts_culprit(verdicts)->trend.class, TREND_LEAK);
	assert_int_equal(verdicts_culprit(verdicts)->stack, 0);
	end(model);
}

/* From the 20th second on nothing is freed; what was freed before does not count. */
static void test_frees_before_the_growth(void **state)
{
	struct model *model = model_new();

	(void)state;
	for (unsigned i = 0; i < 60; i++) {
		model->samples[0][i].live_bytes = (i < 20 ? 20 : i + 1) * MIB;
		model->samples[0][i].alloc_bytes = (i < 20 ? 20 + i : 40 + i - 19) * MIB -
						   (i >= 20) * MIB;
		model->points[i].live_bytes = model->samples[0][i].live_bytes + 12 * MIB;
	}
	model->stacks[0].counts.alloc_bytes = 79 * MIB;
	model->stacks[0].counts.free_bytes = 19 * MIB;
	model->stacks[0].counts.free_count = 19;
	find(model);
	assert_non_null(verdicts_culprit(verdicts));
	assert_in_range(verdicts_culprit(verdicts)->since_ns, 20 * SECOND, 22 * SECOND);
	assert_int_equal(verdicts_culprit(verdicts)->frees, VERDICT_FREES_SINCE);
	end(model);
}

/* In the middle, at 30 s, it held 30 MiB; 6 MiB were freed later: at least 24 of them are still there. */
static void test_what_was_kept(void **state)
{
	struct model *model = model_new();

	(void)state;
	for (unsigned i = 0; i < 60; i++)
		model->samples[0][i].alloc_bytes += (i < 30 ? 0 : 6) * MIB;
	model->stacks[0].counts.alloc_bytes = 66 * MIB;
	model->stacks[0].counts.free_bytes = 6 * MIB;
	model->stacks[0].counts.free_count = 6;
	find(model);
	assert_int_equal(verdicts_culprit(verdicts)->frees, VERDICT_FREES_KEPT);
	assert_true(fabs(verdicts_culprit(verdicts)->kept - 0.8) < 1e-9);
	end(model);
}

/* Estimates prove nothing; nor do counters that go on beyond the interval. */
static void test_no_proof(void **state)
{
	struct model *model = model_new();

	(void)state;
	model->stacks[0].inexact = true;
	find(model);
	assert_int_equal(verdicts_culprit(verdicts)->frees, VERDICT_FREES_UNKNOWN);
	end(model);
	model = model_new();
	model->profile.header.sample_bytes = 1;
	find(model);
	assert_int_equal(verdicts_culprit(verdicts)->frees, VERDICT_FREES_UNKNOWN);
	end(model);
}

static void test_no_timeline(void **state)
{
	struct model *model = model_new();

	(void)state;
	model->profile.point_count = 0;
	find(model);
	assert_int_equal(verdicts->count, 1);
	assert_int_equal(verdicts->items[0].trend.course, TREND_UNKNOWN);
	assert_null(verdicts_culprit(verdicts));
	end(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_leak_is_blamed),
		cmocka_unit_test(test_a_slow_leak_beside_a_large_heap),
		cmocka_unit_test(test_frees_before_the_growth),
		cmocka_unit_test(test_what_was_kept),
		cmocka_unit_test(test_no_proof),
		cmocka_unit_test(test_no_timeline),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
