/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_route.c - which addresses mean what, and that all others mean nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "serve/route.h"

static void check(const char *path, enum route_kind kind, const char *id)
{
	struct route route;

	route_parse(path, &route);
	assert_int_equal(route.kind, kind);
	if (kind != ROUTE_NOTHING)
		assert_string_equal(route.id, id);
}

static void test_paths(void **state)
{
	(void)state;
	check("", ROUTE_HOME, "");
	check("list", ROUTE_LIST, "");
	check("metrics", ROUTE_METRICS, "");
	check("debug/pprof/heap", ROUTE_HEAP, "");
	check("debug/pprof/allocs", ROUTE_ALLOCS, "");
	check("p/a.prof/", ROUTE_PAGE, "a.prof");
	check("p/a.prof", ROUTE_REDIRECT, "a.prof");
	check("p/a.prof/data", ROUTE_DATA, "a.prof");
	check("p/a b/remember", ROUTE_REMEMBER, "a b");
	check("p/moment-1/forget", ROUTE_FORGET, "moment-1");
	check("p/7/debug/pprof/heap", ROUTE_HEAP, "7");
	check("p/../", ROUTE_PAGE, "..");
	check("compare", ROUTE_REDIRECT, "");
	check("compare/", ROUTE_COMPARE, "");
	check("compare/data", ROUTE_COMPARE_DATA, "");
}

static void test_nothing(void **state)
{
	static const char *const paths[] = {
		"p",	 "p/",	  "p//",       "p//data",     "/",	  "list/",   "Metrics",
		"p/a/b", "p/a//", "p/a/data/", "compare/all", "p/a/list", "../list", "debug"};
	char longest[ROUTE_ID_SIZE + 8];

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		check(paths[i], ROUTE_NOTHING, "");
	memset(longest, 'a', sizeof(longest));
	memcpy(longest, "p/", 2);
	longest[ROUTE_ID_SIZE + 2] = '\0';
	check(longest, ROUTE_NOTHING, "");
	longest[ROUTE_ID_SIZE + 1] = '\0';
	check(longest, ROUTE_REDIRECT, longest + 2);
}

static void test_arguments(void **state)
{
	struct route route;

	(void)state;
	route_parse("debug/pprof/heap", &route);
	assert_true(route_argument(&route, "seconds", "600") && route.seconds == 600);
	assert_false(route_argument(&route, "seconds", "601"));
	assert_false(route_argument(&route, "seconds", ""));
	assert_false(route_argument(&route, "seconds", "+1"));
	assert_true(route_argument(&route, "pid", "7") && strcmp(route.id, "7") == 0);
	assert_true(route_argument(&route, "gc", "1") && route_argument(&route, "before", "x"));
	route_parse("p/a/debug/pprof/heap", &route);
	assert_true(route_argument(&route, "pid", "7") && strcmp(route.id, "a") == 0);
	route_parse("compare/", &route);
	assert_true(route_argument(&route, "before", "a") && route_argument(&route, "after", "b"));
	assert_string_equal(route.id, "a");
	assert_string_equal(route.other, "b");
	assert_true(route_argument(&route, "seconds", "x") && route.seconds == 0);
	route_parse("list", &route);
	assert_true(route_argument(&route, "seconds", "5") && route.seconds == 0);
}

static void test_changes(void **state)
{
	struct route route = {.kind = ROUTE_REMEMBER};

	(void)state;
	assert_true(route_changes(&route));
	route.kind = ROUTE_FORGET;
	assert_true(route_changes(&route));
	route.kind = ROUTE_PAGE;
	assert_false(route_changes(&route));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_arguments),
		cmocka_unit_test(test_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
