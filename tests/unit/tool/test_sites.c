/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_sites.c - call stacks by allocation site: what is one site, and that sums over sites are sums over call stacks.
 */
#include "report_fixture.h"

#include "profile/places.h"
#include "profile/sites.h"

static struct places *places;
static struct sites *sites;

static void build(struct model *model, const bool *selected, struct growth_interval interval)
{
	struct sites_query query = {
		.profile = &model->profile,
		.names = names_new(&model->profile),
		.selected = selected,
		.interval = interval,
		.only_interval = interval.since_ns > 0 || interval.until_ns < 60 * SECOND,
	};
	struct error err = {""};

	places = places_new(&model->profile, query.names);
	assert_non_null(places);
	query.places = places;
	assert_true(sites_build(&query, &sites, &err));
}

static void end(struct model *model)
{
	sites_free(sites);
	places_free(places);
	free(model);
}

static const struct site *site_of(enum spot spot)
{
	uint32_t place = places_find(places, spot), i;

	for (i = 0; i < sites->count; i++)
		if (sites->items[i].place == place)
			return &sites->items[i];
	fail_msg("no site at spot %d", spot);
	return NULL;
}

static const struct site *rough_site(void)
{
	for (uint32_t i = 0; i < sites->count; i++)
		if (sites->items[i].rough_count > 0)
			return &sites->items[i];
	return NULL;
}

static const struct growth_interval whole = {0, 60 * SECOND};

/* For figures that are no key: of what is marked the lines are looked up, of the rest not. */
static void test_marked_call_stacks_become_lines(void **state)
{
	bool marked[STACKS] = {false};
	struct model *model = model_new();
	struct site before;

	(void)state;
	build(model, NULL, whole);
	assert_false(sites_refine_stacks(sites, marked));
	before = *site_of(REMEMBER);
	sites->is_rough[0] = true;
	sites->of_stack[0] = places_find_fast(places, REMEMBER);
	marked[1] = true;
	assert_false(sites_refine_stacks(sites, marked));
	marked[0] = true;
	assert_true(sites_refine_stacks(sites, marked));
	assert_int_equal(sites->of_stack[0], places_find(places, REMEMBER));
	assert_memory_equal(&site_of(REMEMBER)->counts, &before.counts, sizeof(before.counts));
	assert_false(sites_refine_stacks(sites, marked));
	end(model);
}

/* Symbol tables know functions only: what is shown has its line looked up. */
static void test_sites_become_lines(void **state)
{
	struct model *model = model_new();
	const struct site *site;

	(void)state;
	build(model, NULL, whole);
	site = site_of(REMEMBER);
	assert_int_equal(places_get(places, site->place)->symbol->line, 88);
	assert_int_equal(site->rough_count, 0);
	assert_int_not_equal(places_find_fast(places, REMEMBER), site->place);
	/* Where there are no lines both are one place. */
	assert_int_equal(places_find_fast(places, LOAD), places_find(places, LOAD));
	sites_refine(sites, 1u << SITES_KEYS);
	sites_sort(sites, SITES_COUNT);
	for (unsigned key = 0; key < SITES_KEYS; key++)
		sites_sort(sites, (enum sites_key)key);
	assert_true(!rough_site() || sites_value(&rough_site()->counts, SITES_LIVE) == 0);
	assert_int_equal(sites->totals.live_bytes, profile_live_bytes(&model->profile.totals));
	end(model);
}

/* Two return addresses in one function are one site; with lines that differ they are two. */
static void test_places(void **state)
{
	struct model *model = model_new();
	struct spot_names before = spots[PARSE_AGAIN];
	struct places *found = places_new(&model->profile, names_new(&model->profile));

	(void)state;
	assert_int_equal(places_find(found, PARSE), places_find(found, PARSE_AGAIN));
	assert_int_not_equal(places_find(found, PARSE), places_find(found, MAIN));
	places_free(found);
	spots[PARSE_AGAIN].symbol.file = "parse.c";
	spots[PARSE_AGAIN].symbol.line = 7;
	found = places_new(&model->profile, names_new(&model->profile));
	assert_int_not_equal(places_find(found, PARSE), places_find(found, PARSE_AGAIN));
	assert_true(places_same_function(found, places_find(found, PARSE),
					 places_find(found, PARSE_AGAIN)));
	assert_false(
		places_same_function(found, places_find(found, PARSE), places_find(found, MAIN)));
	spots[PARSE_AGAIN] = before;
	places_free(found);
	free(model);
}

/* Functions of the same name in two modules are two places. */
static void test_places_of_modules(void **state)
{
	struct model *model = model_new();
	struct places *found;

	(void)state;
	model->locations[PARSE_AGAIN].module = 2;
	found = places_new(&model->profile, names_new(&model->profile));
	assert_int_not_equal(places_find(found, PARSE), places_find(found, PARSE_AGAIN));
	places_free(found);
	free(model);
}

static void test_sums(void **state)
{
	struct model *model = model_new();
	const struct site *site;

	(void)state;
	build(model, NULL, whole);
	assert_int_equal(sites->count, 5);
	assert_int_equal(sites->stack_count, 6);
	site = site_of(REMEMBER); /* push_back is the standard library's */
	assert_int_equal(site->counts.live_bytes, 60 * MIB);
	assert_int_equal(site->counts.growth, 60 * MIB);
	site = site_of(PARSE);
	assert_int_equal(site->stack_count, 2);
	assert_int_equal(site->counts.live_bytes, 1000);
	assert_int_equal(site->counts.live_count, 50);
	assert_int_equal(site->counts.alloc_bytes, 3000);
	assert_int_equal(site->counts.alloc_count, 200);
	assert_int_equal(site->counts.temporary_count, 147);
	assert_int_equal(site->counts.peak_bytes, 1000);
	assert_int_equal(site->heaviest, 3);
	site = site_of(WALK); /* three times on its call stack, counted once */
	assert_int_equal(site->counts.live_bytes, 300);
	assert_int_equal(site->stack_count, 1);
	assert_int_equal(site_of(CUT)->counts.live_bytes, 77);
	assert_int_equal(sites->totals.live_bytes, profile_live_bytes(&model->profile.totals));
	assert_int_equal(sites->totals.alloc_count, model->profile.totals.alloc_count);
	end(model);
}

static void test_every_order(void **state)
{
	static const struct {
		const char *name;
		enum spot first, last;
	} rows[] = {
		{"live", REMEMBER, CUT}, {"peak", REMEMBER, CUT},   {"alloc", REMEMBER, CUT},
		{"count", PARSE, CUT},	 {"temporary", PARSE, CUT}, {"growth", REMEMBER, CUT},
	};
	struct model *model = model_new();
	enum sites_key key;
	size_t i;

	(void)state;
	build(model, NULL, whole);
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint32_t at;

		assert_true(sites_key_find(rows[i].name, &key));
		assert_string_equal(sites_key_name(key), rows[i].name);
		sites_sort(sites, key);
		assert_int_equal(sites->items[0].place, places_find(places, rows[i].first));
		assert_int_equal(sites->items[4].place, places_find(places, rows[i].last));
		for (at = 0; at < sites->count; at++)
			assert_int_equal(sites->of_place[sites->items[at].place], at);
		for (at = 1; at < sites->count; at++)
			assert_true(sites_value(&sites->items[at - 1].counts, key) >=
				    sites_value(&sites->items[at].counts, key));
	}
	assert_false(sites_key_find("size", &key));
	assert_null(sites_key_name(SITES_KEYS));
	end(model);
}

/* The heaviest call stack of a site depends on the key. */
static void test_heaviest(void **state)
{
	struct model *model = model_new();

	(void)state;
	build(model, NULL, whole);
	sites_sort(sites, SITES_TEMPORARY);
	assert_int_equal(site_of(PARSE)->heaviest, 2);
	sites_sort(sites, SITES_LIVE);
	assert_int_equal(site_of(PARSE)->heaviest, 3);
	end(model);
}

static void test_selected(void **state)
{
	struct model *model = model_new();
	bool selected[6] = {[2] = true, [4] = true};
	uint32_t count, *stacks;

	(void)state;
	build(model, selected, whole);
	assert_int_equal(sites->count, 2);
	assert_int_equal(sites->stack_count, 2);
	assert_int_equal(sites->totals.live_bytes, 300);
	stacks = sites_stacks(sites, NULL, SITES_COUNT, &count);
	assert_int_equal(count, 2);
	assert_int_equal(stacks[0], 2);
	assert_int_equal(stacks[1], 4);
	free(stacks);
	stacks = sites_stacks(sites, site_of(WALK), SITES_LIVE, &count);
	assert_int_equal(count, 1);
	assert_int_equal(stacks[0], 4);
	free(stacks);
	end(model);
}

/* Live bytes are those at its end, allocated ones those within. */
static void test_interval(void **state)
{
	struct model *model = model_new();
	const struct site *site;

	(void)state;
	build(model, NULL, (struct growth_interval){10 * SECOND, 30 * SECOND});
	site = site_of(REMEMBER);
	assert_int_equal(site->counts.live_bytes, 30 * MIB);
	assert_int_equal(site->counts.alloc_bytes, 20 * MIB);
	assert_int_equal(site->counts.growth, 20 * MIB);
	assert_int_equal(site->counts.alloc_count, 0);
	site = site_of(LOAD);
	assert_int_equal(site->counts.live_bytes, 12 * MIB);
	assert_int_equal(site->counts.growth, 0);
	assert_int_equal(sites->untimed_count, 4);
	assert_int_equal(sites->untimed_bytes, 1000 + 300 + 77);
	end(model);
}

/* Up to the end: what is not on the timeline is known there. */
static void test_interval_to_the_end(void **state)
{
	struct model *model = model_new();

	(void)state;
	build(model, NULL, (struct growth_interval){30 * SECOND, 60 * SECOND});
	assert_int_equal(site_of(REMEMBER)->counts.live_bytes, 60 * MIB);
	assert_int_equal(site_of(REMEMBER)->counts.growth, 30 * MIB);
	assert_int_equal(site_of(WALK)->counts.live_bytes, 300);
	assert_int_equal(site_of(WALK)->counts.growth, 0);
	end(model);
}

static void test_nothing(void **state)
{
	struct model *model = model_new();
	uint32_t count, *stacks;

	(void)state;
	model->profile.stack_count = 0;
	model->profile.series_count = 0;
	build(model, NULL, whole);
	assert_int_equal(sites->count, 0);
	stacks = sites_stacks(sites, NULL, SITES_LIVE, &count);
	assert_non_null(stacks);
	assert_int_equal(count, 0);
	free(stacks);
	end(model);
}

static void test_inexact(void **state)
{
	struct model *model = model_new();

	(void)state;
	model->stacks[2].inexact = true;
	build(model, NULL, whole);
	assert_true(site_of(PARSE)->inexact);
	assert_false(site_of(WALK)->inexact);
	end(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sites_become_lines),
		cmocka_unit_test(test_marked_call_stacks_become_lines),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_places_of_modules),
		cmocka_unit_test(test_sums),
		cmocka_unit_test(test_every_order),
		cmocka_unit_test(test_heaviest),
		cmocka_unit_test(test_selected),
		cmocka_unit_test(test_interval),
		cmocka_unit_test(test_interval_to_the_end),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_inexact),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
