/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_diff.c - which call stacks match, what their differences sum up to, and moments of one profile.
 */
#include "diff_fixture.h"

struct pair {
	struct twin *a;
	struct twin *b; /* may be a */
	struct diff *diff;
};

static struct pair new_pair(void)
{
	return (struct pair){.a = twin_new("/tmp/before.prof"), .b = twin_new("/tmp/after.prof")};
}

static void free_pair(struct pair *pair)
{
	diff_free(pair->diff);
	if (pair->b != pair->a)
		twin_free(pair->b);
	twin_free(pair->a);
}

static struct diff_side side_of(struct twin *twin, uint64_t time_ns)
{
	places_free(twin->places);
	twin->places = places_new(&twin->profile, &twin->names);
	assert_non_null(twin->places);
	return (struct diff_side){.profile = &twin->profile,
				  .names = &twin->names,
				  .places = twin->places,
				  .time_ns = time_ns};
}

static void compare_query(struct pair *pair, const struct diff_query *query)
{
	struct error err = {""};

	diff_free(pair->diff);
	pair->diff = NULL;
	if (!diff_build(query, &pair->diff, &err))
		fail_msg("%s", err.text);
}

static void compare_at(struct pair *pair, uint64_t a_ns, uint64_t b_ns)
{
	struct diff_query query = {0};

	query.sides[DIFF_A] = side_of(pair->a, a_ns);
	query.sides[DIFF_B] = query.sides[DIFF_A];
	if (pair->b != pair->a)
		query.sides[DIFF_B] = side_of(pair->b, b_ns);
	query.sides[DIFF_B].time_ns = b_ns;
	compare_query(pair, &query);
}

static void compare(struct pair *pair)
{
	compare_at(pair, DIFF_END, DIFF_END);
}

static void compare_folded(struct pair *pair)
{
	const struct diff_query query = {{side_of(pair->a, DIFF_END), side_of(pair->b, DIFF_END)},
					 true};

	compare_query(pair, &query);
}

static void assert_quality(const struct pair *pair, uint32_t matched, uint32_t fresh, uint32_t gone)
{
	const struct diff_quality *quality = &pair->diff->quality;

	if (quality->matched != matched || quality->fresh != fresh || quality->gone != gone)
		fail_msg("%u matched, %u new, %u gone; not %u, %u, %u", quality->matched,
			 quality->fresh, quality->gone, matched, fresh, gone);
}

/* Whether call stacks with these frames match. */
static bool match(const char *a, const char *b)
{
	struct pair pair = new_pair();
	bool matched;

	twin_stack(pair.a, a, blocks(1, 10));
	twin_stack(pair.b, b, blocks(1, 10));
	compare(&pair);
	matched = pair.diff->quality.matched == 1;
	assert_quality(&pair, matched, !matched, !matched);
	free_pair(&pair);
	return matched;
}

static int64_t live(const struct diff_row *row)
{
	return diff_change(row->counts, SITES_LIVE);
}

static void test_nothing(void **state)
{
	struct pair pair = new_pair();

	(void)state;
	compare(&pair);
	assert_quality(&pair, 0, 0, 0);
	assert_int_equal(pair.diff->site_count, 0);
	twin_stack(pair.b, "main f", blocks(1, 10));
	compare(&pair);
	assert_quality(&pair, 0, 1, 0);
	assert_int_equal(pair.diff->totals[DIFF_B].live_bytes, 10);
	free_pair(&pair);
}

static void test_names_match(void **state)
{
	(void)state;
	assert_true(match("main f", "main f"));
	assert_false(match("main f", "main g"));
	assert_false(match("main f", "main"));
	assert_false(match("main f g", "main g f"));
	assert_false(match("main f", "f"));
	assert_false(match("main libx.so:f", "main liby.so:f"));
	assert_false(match("main libx.so:f", "main f"));
	assert_true(match("main f(int)", "main f(int)"));
	assert_false(match("main f(int)", "main f(long)"));
}

static void test_lines_do_not_count(void **state)
{
	(void)state;
	assert_true(match("main@10 f@12", "main@20 f@22"));
	assert_true(match("main@10 |inner@3 f@12", "main@20 |inner@7 f@22"));
}

/* A function is the same whether the compiler inlined it or not. */
static void test_inlined_functions_are_functions(void **state)
{
	(void)state;
	assert_true(match("main |inner f", "main inner f"));
	assert_true(match("main |inner |deeper f", "main inner |deeper f"));
	assert_false(match("main |inner f", "main f"));
	assert_false(match("main |inner |deeper f", "main |deeper |inner f"));
}

static void test_variants_of_a_function(void **state)
{
	(void)state;
	assert_true(match("main f.constprop.0", "main f"));
	assert_true(match("main f.isra.0.constprop.1", "main f.isra.2"));
	assert_true(match("main f.llvm.1234", "main f"));
	assert_true(match("main f.lto_priv.3", "main f"));
	assert_true(match("main a::f::h0123456789abcdef", "main a::f::h00112233445566ff"));
	assert_false(match("main a::f::h0123456789abcdex", "main a::f::h00112233445566ff"));
	/* A part that was split off is called by the rest of its function. */
	assert_true(match("main f f.part.0", "main f"));
	assert_true(match("main f |f.part.0 g", "main f g"));
	assert_false(match("main f f", "main f"));
	assert_false(match("main f.constprop", "main f"));
	assert_false(match("main f.part.x", "main f"));
}

/* Each C library calls main() through others. */
static void test_process_start_does_not_count(void **state)
{
	(void)state;
	assert_true(match("_start libc.so.6:__libc_start_main libc.so.6+271f0 main f",
			  "_start libc.so.6:__libc_start_main_impl main f"));
	assert_true(
		match("libc.so.6:clone libc.so.6:start_thread work f", "libc.so.6+1234 work f"));
	/* But what is further in does. */
	assert_false(match("main f libc.so.6:strdup", "main f libc.so.6:getline"));
	/* And of call stacks that have nothing else. */
	assert_false(match("_start libc.so.6:strdup", "_start libc.so.6:getline"));
	assert_true(match("_start libc.so.6:strdup", "_start libc.so.6:strdup"));
}

static void test_special_names(void **state)
{
	(void)state;
	assert_true(match("[truncated] f", "[truncated] f"));
	assert_false(match("[truncated] f", "f"));
	assert_false(match("[truncated]", "[beyond_budget]"));
	assert_false(match("[truncated]", "[truncated"));
}

/* Whether nameless frames of libx.so at these offsets match; id: the file's build-id in each profile. */
static bool match_nameless(const char *a, const char *b, const char *a_id, const char *b_id)
{
	struct pair pair = new_pair();
	bool matched;

	for (unsigned i = 0; i < 2; i++) {
		struct twin *twin = i ? pair.b : pair.a;
		struct profile_module *module = &twin->modules[twin_module(twin, "libx.so")];
		const char *id = i ? b_id : a_id;

		module->build_id = (const uint8_t *)id;
		module->build_id_size = strlen(id);
		twin_stack(twin, i ? b : a, blocks(1, 10));
	}
	compare(&pair);
	matched = pair.diff->quality.matched == 1;
	free_pair(&pair);
	return matched;
}

static void test_frames_without_names(void **state)
{
	(void)state;
	assert_true(match_nameless("main libx.so+10", "main libx.so+10", "id", "id"));
	assert_false(match_nameless("main libx.so+10", "main libx.so+20", "id", "id"));
	/* Another build: offsets mean nothing. */
	assert_true(match_nameless("main libx.so+10", "main libx.so+20", "id", "other"));
	assert_true(match_nameless("main libx.so+10", "main libx.so+20", "", ""));
	assert_true(match_nameless("main libx.so+10", "main libx.so+20", "", "id"));
	assert_false(match_nameless("main libx.so+10", "main liby.so+10", "id", "other"));
	/* A name against none. */
	assert_false(match_nameless("main libx.so+10", "main libx.so:f", "id", "id"));
}

/* In one profile a nameless offset is what it is, build-id or not. */
static void test_frames_without_names_in_one_profile(void **state)
{
	struct pair pair = {.a = twin_new("/tmp/a.prof")};

	(void)state;
	pair.b = pair.a;
	twin_stack(pair.a, "main libx.so+10", blocks(1, 10));
	twin_stack(pair.a, "main libx.so+20", blocks(1, 10));
	compare(&pair);
	assert_quality(&pair, 2, 0, 0);
	free_pair(&pair);
}

static void test_the_program_may_be_renamed(void **state)
{
	struct pair pair = new_pair();

	(void)state;
	twin_stack(pair.a, "server:main libx.so:f", blocks(1, 10));
	pair.b->profile.program = "/srv/server-2";
	twin_stack(pair.b, "server-2:main libx.so:f", blocks(1, 10));
	twin_stack(pair.b, "server:main libx.so:f", blocks(1, 10));
	compare(&pair);
	assert_quality(&pair, 1, 1, 0);
	free_pair(&pair);
}

/* Call stacks of one profile that differ by line only are one row. */
static void test_sums_within_a_profile(void **state)
{
	struct pair pair = new_pair();
	const struct diff_row *row;

	(void)state;
	twin_stack(pair.a, "main f@1", blocks(2, 10));
	twin_stack(pair.a, "main f@2", blocks(3, 100))->inexact = true;
	twin_stack(pair.b, "main f@3", blocks(7, 1000));
	compare(&pair);
	assert_quality(&pair, 1, 0, 0);
	row = &pair.diff->stacks[0];
	assert_int_equal(row->stack_count[DIFF_A], 2);
	assert_int_equal(row->stack[DIFF_A], 1); /* the heavier one stands for both */
	assert_int_equal(row->counts[DIFF_A].live_bytes, 320);
	assert_int_equal(row->counts[DIFF_A].live_count, 5);
	assert_int_equal(row->counts[DIFF_B].alloc_count, 7);
	assert_true(row->inexact);
	assert_int_equal(live(row), 7000 - 320);
	assert_int_equal(pair.diff->quality.matched_bytes[DIFF_A], 320);
	assert_int_equal(pair.diff->quality.matched_bytes[DIFF_B], 7000);
	free_pair(&pair);
}

static void test_order_and_sites(void **state)
{
	struct pair pair = new_pair();
	struct diff *diff;

	(void)state;
	twin_stack(pair.a, "main small", blocks(1, 5));
	twin_stack(pair.a, "main shrinks", blocks(10, 100));
	twin_stack(pair.a, "main same", blocks(1, 7));
	twin_stack(pair.a, "main gone", blocks(1, 50));
	twin_stack(pair.b, "main same", blocks(1, 7));
	twin_stack(pair.b, "main shrinks", blocks(1, 100));
	twin_stack(pair.b, "main small", blocks(2, 5));
	twin_stack(pair.b, "main one grows@1", blocks(1, 1000));
	twin_stack(pair.b, "main two grows@2", blocks(2, 1000));
	compare(&pair);
	diff = pair.diff;
	assert_quality(&pair, 3, 2, 1);
	assert_int_equal(diff->stack_count, 6);
	assert_int_equal(diff->site_count, 5);
	assert_int_equal(live(&diff->sites[0]), 3000);
	assert_int_equal(diff->sites[0].stack_count[DIFF_B], 2);
	assert_int_equal(diff->sites[0].stack[DIFF_B], 4); /* that of 2,000 */
	assert_int_equal(diff_state(&diff->sites[0]), DIFF_NEW);
	assert_int_equal(live(&diff->sites[1]), 5);
	assert_int_equal(live(&diff->sites[2]), 0);
	assert_int_equal(live(&diff->sites[3]), -50);
	assert_int_equal(diff_state(&diff->sites[3]), DIFF_GONE);
	assert_int_equal(diff_shown_side(&diff->sites[3]), DIFF_A);
	assert_int_equal(live(&diff->sites[4]), -900);
	assert_int_equal(live(&diff->stacks[0]), 2000);
	assert_int_equal(live(&diff->stacks[1]), 1000);
	assert_int_equal(diff->totals[DIFF_A].live_bytes, 1062);
	assert_int_equal(diff->sums[DIFF_B].live_bytes, 3117);
	assert_int_equal(diff->quality.fresh_bytes, 3000);
	assert_int_equal(diff->quality.gone_bytes, 50);
	free_pair(&pair);
}

static void test_other_keys(void **state)
{
	struct pair pair = new_pair();

	(void)state;
	twin_stack(pair.a, "main often", (struct profile_counts){1000, 100, 1000, 100, 90, 0, 0, 0});
	twin_stack(pair.b, "main often", (struct profile_counts){3000, 300, 3000, 300, 20, 0, 0, 0});
	twin_stack(pair.a, "main peaks", (struct profile_counts){9, 1, 9, 1, 1, 9, 1, 0});
	twin_stack(pair.b, "main peaks", (struct profile_counts){9000, 1, 9000, 1, 1, 9000, 1, 0});
	compare(&pair);
	diff_sort(pair.diff, SITES_COUNT);
	assert_int_equal(diff_change(pair.diff->sites[0].counts, SITES_COUNT), 200);
	assert_int_equal(diff_change(pair.diff->stacks[0].counts, SITES_TEMPORARY), -70);
	diff_sort(pair.diff, SITES_TEMPORARY);
	assert_int_equal(diff_change(pair.diff->sites[1].counts, SITES_TEMPORARY), -70);
	diff_sort(pair.diff, SITES_PEAK);
	assert_int_equal(diff_change(pair.diff->sites[0].counts, SITES_PEAK), 8991);
	diff_sort(pair.diff, SITES_ALLOC);
	assert_int_equal(diff_change(pair.diff->sites[0].counts, SITES_ALLOC), 8991);
	assert_int_equal(diff_change(pair.diff->totals, SITES_LIVE), 0);
	free_pair(&pair);
}

static void test_values_at_the_ends(void **state)
{
	struct pair pair = new_pair();

	(void)state;
	twin_stack(pair.a, "main f", (struct profile_counts){.alloc_bytes = UINT64_MAX});
	twin_stack(pair.b, "main g",
		   (struct profile_counts){.alloc_bytes = UINT64_MAX, .peak_bytes = INT64_MIN});
	twin_stack(pair.b, "main g@2",
		   (struct profile_counts){.alloc_bytes = UINT64_MAX, .peak_bytes = INT64_MIN});
	compare(&pair);
	for (unsigned key = 0; key < SITES_GROWTH; key++)
		diff_sort(pair.diff, (enum sites_key)key);
	assert_quality(&pair, 0, 1, 1);
	free_pair(&pair);
}

static void test_selected(void **state)
{
	struct pair pair = new_pair();
	const bool first[2] = {true, false}, second[2] = {false, true};
	struct diff_query query = {0};

	(void)state;
	twin_stack(pair.a, "main f", blocks(1, 10));
	twin_stack(pair.a, "main g", blocks(1, 20));
	twin_stack(pair.b, "main g", blocks(1, 200));
	twin_stack(pair.b, "main f", blocks(1, 100));
	query.sides[DIFF_A] = side_of(pair.a, DIFF_END);
	query.sides[DIFF_B] = side_of(pair.b, DIFF_END);
	query.sides[DIFF_A].selected = first;
	query.sides[DIFF_B].selected = second;
	compare_query(&pair, &query);
	assert_quality(&pair, 1, 0, 0);
	assert_int_equal(pair.diff->totals[DIFF_A].live_bytes, 10);
	assert_int_equal(pair.diff->totals[DIFF_B].live_bytes, 100);
	free_pair(&pair);
}

static bool match_folded(const char *a, const char *b)
{
	struct pair pair = new_pair();
	bool matched;

	twin_stack(pair.a, a, blocks(1, 10));
	twin_stack(pair.b, b, blocks(1, 10));
	compare_folded(&pair);
	matched = pair.diff->quality.matched == 1;
	free_pair(&pair);
	return matched;
}

static void test_recursion(void **state)
{
	(void)state;
	assert_false(match("main walk walk leaf", "main walk walk walk leaf"));
	assert_true(match_folded("main walk walk leaf", "main walk walk walk leaf"));
	assert_true(match_folded("main walk leaf", "main walk walk walk leaf"));
	assert_true(match_folded("main a b a b a b leaf", "main a b leaf"));
	assert_false(match_folded("main a b a leaf", "main a b leaf"));
	assert_true(
		match_folded("main a b c d e f g h a b c d e f g h x", "main a b c d e f g h x"));
	assert_false(match_folded("main walk other walk leaf", "main walk leaf"));
	assert_true(match_folded("walk walk walk", "walk"));
}

/* --- moments --------------------------------------------------------------------------------- */

/* grows: 1 MiB every second from 10 s on; early: 5 MiB at 5 s; small: not in the series. */
static struct twin *new_timed(void)
{
	struct twin *twin = twin_new("/tmp/timed.prof");

	twin_stack(twin, "main grows", blocks(50, MIB));
	for (uint64_t i = 1; i <= 50; i++)
		twin_sample(twin, (i + 9) * SECOND, i * MIB, i * MIB);
	twin_stack(twin, "main early", blocks(5, MIB));
	twin_sample(twin, 5 * SECOND, 5 * MIB, 5 * MIB);
	twin_stack(twin, "main small", blocks(3, 10));
	for (uint64_t i = 1; i <= 59; i++)
		twin_point(twin, i * SECOND,
			   (i >= 10 ? (i - 9) * MIB : 0) + (i >= 5 ? 5 * MIB : 0) + i,
			   (i >= 10 ? (i - 9) * MIB : 0) + (i >= 5 ? 5 * MIB : 0) + i);
	return twin;
}

static void test_two_moments(void **state)
{
	struct pair pair = {.a = new_timed()};
	const struct diff *diff;

	(void)state;
	pair.b = pair.a;
	compare_at(&pair, 20 * SECOND, 30 * SECOND);
	diff = pair.diff;
	assert_true(diff->is_timed);
	assert_quality(&pair, 2, 0, 0);
	assert_int_equal(live(&diff->sites[0]), 10 * MIB);
	assert_int_equal(diff->sites[0].counts[DIFF_A].live_bytes, 11 * MIB);
	assert_int_equal(diff->sites[0].counts[DIFF_B].live_count, 0);
	assert_int_equal(live(&diff->sites[1]), 0);
	assert_int_equal(diff->left_out, 1);
	assert_int_equal(diff->left_out_bytes, 30);
	/* The process's own totals, with what is too small. */
	assert_int_equal(diff->totals[DIFF_A].live_bytes, 16 * MIB + 20);
	assert_int_equal(diff->totals[DIFF_B].alloc_bytes, 26 * MIB + 30);
	free_pair(&pair);
}

/* Before its first sample a call stack is not there yet; the end is the final state. */
static void test_from_a_moment_to_the_end(void **state)
{
	struct pair pair = {.a = new_timed()};

	(void)state;
	pair.b = pair.a;
	compare_at(&pair, 6 * SECOND, DIFF_END);
	assert_quality(&pair, 1, 1, 0);
	assert_int_equal(live(&pair.diff->sites[0]), 50 * MIB);
	assert_int_equal(diff_state(&pair.diff->sites[0]), DIFF_NEW);
	assert_int_equal(pair.diff->sums[DIFF_B].live_bytes, 55 * MIB);
	assert_int_equal(pair.diff->totals[DIFF_B].live_bytes, 55 * MIB + 30);
	assert_int_equal(pair.diff->totals[DIFF_B].live_count, 58);
	compare_at(&pair, 0, 60 * SECOND);
	assert_quality(&pair, 0, 2, 0);
	assert_int_equal(pair.diff->totals[DIFF_A].live_bytes, 0);
	compare_at(&pair, 60 * SECOND, DIFF_END);
	assert_false(pair.diff->is_timed);
	assert_quality(&pair, 3, 0, 0);
	assert_int_equal(diff_change(pair.diff->totals, SITES_LIVE), 0);
	/* Backwards. */
	compare_at(&pair, DIFF_END, 6 * SECOND);
	assert_quality(&pair, 1, 0, 1);
	free_pair(&pair);
}

/* Against another profile: what the series do not have cannot be said to be new. */
static void test_a_moment_and_another_profile(void **state)
{
	struct pair pair = {.a = new_timed(), .b = twin_new("/tmp/other.prof")};

	(void)state;
	twin_stack(pair.b, "main small", blocks(1000, 10));
	twin_stack(pair.b, "main fresh", blocks(1, 10));
	twin_stack(pair.b, "main grows", blocks(1, MIB));
	compare_at(&pair, 20 * SECOND, DIFF_END);
	assert_quality(&pair, 1, 1, 1);
	assert_int_equal(pair.diff->left_out, 1);
	assert_int_equal(live(&pair.diff->sites[0]), 10);
	assert_int_equal(pair.diff->sites[0].counts[DIFF_B].live_count, 0);
	assert_int_equal(live(&pair.diff->sites[2]), -10 * (int64_t)MIB);
	free_pair(&pair);
}

static void test_unknown_totals_are_sums(void **state)
{
	struct pair pair = {.a = new_timed()};

	(void)state;
	pair.b = pair.a;
	pair.a->points[19].alloc_bytes = 0; /* at 20 s: not known */
	compare_at(&pair, 20 * SECOND, DIFF_END);
	assert_int_equal(pair.diff->totals[DIFF_A].live_bytes, 16 * MIB);
	assert_int_equal(pair.diff->totals[DIFF_B].live_bytes, 55 * MIB);
	free_pair(&pair);
}

/* --- many ------------------------------------------------------------------------------------ */

enum { MANY = 100000, DEPTH = 5 };

/* 100,000 call stacks of 5 frames, other locations for each name in each profile. */
static struct twin *new_many(uint32_t shift)
{
	struct twin *twin = twin_new("/tmp/many.prof");
	struct profile *profile = &twin->profile;
	uint32_t names = 1024;

	profile->location_count = names;
	profile->locations = calloc(names, sizeof(*profile->locations));
	twin->names.locations = calloc(names, sizeof(*twin->names.locations));
	profile->nodes = calloc((size_t)MANY * DEPTH + 1, sizeof(*profile->nodes));
	profile->stacks = calloc(MANY, sizeof(*profile->stacks));
	assert_true(profile->locations && twin->names.locations && profile->nodes && profile->stacks);
	twin_module(twin, "server");
	for (uint32_t i = 0; i < names; i++) {
		struct location_names *at = &twin->names.locations[i];

		profile->locations[i] = (struct profile_location){.module = 1, .offset = i + shift};
		snprintf(at->texts[0], TEXT, "f%u", (i + shift) % names);
		at->symbols[0].function = at->symbols[0].raw_name = at->texts[0];
		at->count = 1;
	}
	for (uint32_t i = 0; i < MANY; i++) {
		uint64_t number = i;
		uint32_t node = 0;

		for (uint32_t depth = 0; depth < DEPTH; depth++, number /= 10) {
			uint32_t name = (uint32_t)(number % 10) + depth * 10;

			profile->nodes[profile->node_count] = (struct profile_node){
				node, (name + names - shift) % names};
			node = profile->node_count++;
		}
		profile->stacks[i] = (struct profile_stack){.node = node, .counts = blocks(1, 10)};
	}
	profile->stack_count = MANY;
	return twin;
}

static void free_many(struct twin *twin)
{
	free(twin->profile.locations);
	free(twin->names.locations);
	free(twin->profile.nodes);
	free(twin->profile.stacks);
}

static void test_many(void **state)
{
	struct pair pair = {.a = new_many(0), .b = new_many(77)};

	(void)state;
	pair.b->profile.stacks[4711].counts = blocks(3, 10);
	compare(&pair);
	assert_quality(&pair, MANY, 0, 0);
	assert_int_equal(live(&pair.diff->stacks[0]), 20);
	assert_int_equal(pair.diff->stacks[0].stack[DIFF_A], 4711);
	assert_int_equal(live(&pair.diff->stacks[1]), 0);
	assert_int_equal(pair.diff->site_count, 10);
	free_many(pair.a);
	free_many(pair.b);
	free_pair(&pair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_names_match),
		cmocka_unit_test(test_lines_do_not_count),
		cmocka_unit_test(test_inlined_functions_are_functions),
		cmocka_unit_test(test_variants_of_a_function),
		cmocka_unit_test(test_process_start_does_not_count),
		cmocka_unit_test(test_special_names),
		cmocka_unit_test(test_frames_without_names),
		cmocka_unit_test(test_frames_without_names_in_one_profile),
		cmocka_unit_test(test_the_program_may_be_renamed),
		cmocka_unit_test(test_sums_within_a_profile),
		cmocka_unit_test(test_order_and_sites),
		cmocka_unit_test(test_other_keys),
		cmocka_unit_test(test_values_at_the_ends),
		cmocka_unit_test(test_selected),
		cmocka_unit_test(test_recursion),
		cmocka_unit_test(test_two_moments),
		cmocka_unit_test(test_from_a_moment_to_the_end),
		cmocka_unit_test(test_a_moment_and_another_profile),
		cmocka_unit_test(test_unknown_totals_are_sums),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
