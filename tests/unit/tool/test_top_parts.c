/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_top_parts.c - the parts of `pmem top` that need no profile of a program: bars, history, moments, columns.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/name.h"
#include "top/columns.h"
#include "top/history.h"
#include "top/moment.h"
#include "top/spark.h"

static void assert_bars(enum spark_form form, const uint64_t *values, unsigned count,
			const char *wanted)
{
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	assert_non_null(file);
	spark_put(values, count, form, file);
	fclose(file);
	assert_string_equal(text, wanted);
	free(text);
}

static void bars(void **state)
{
	const uint64_t rising[] = {0, 10, 20, 30, 40, 50, 60, 70};
	const uint64_t level[] = {1000, 1000, SPARK_UNKNOWN, 990};
	const uint64_t nothing[] = {0, 0, SPARK_UNKNOWN};
	const uint64_t most[] = {UINT64_MAX - 1, 0};

	(void)state;
	assert_bars(SPARK_ASCII, rising, 8, "_.:-=+*#");
	assert_bars(SPARK_UTF8, rising, 8, "\u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588");
	/* What hardly changes is no mountain. */
	assert_bars(SPARK_ASCII, level, 4, "## *");
	assert_bars(SPARK_ASCII, nothing, 3, "__ ");
	assert_bars(SPARK_ASCII, most, 2, "#_");
	assert_bars(SPARK_ASCII, most, 0, "");
}

/* The profile's points and those seen since, in one order; what is not known stays as it was. */
static void history_of_both(void **state)
{
	struct profile_point points[] = {{.time_ns = 10, .live_bytes = 1, .rss_bytes = 100},
					 {.time_ns = 30, .live_bytes = 3}};
	const struct profile profile = {.points = points, .point_count = 2};
	const struct history_cells cells = {.until_ns = 50, .count = 5};
	struct history *history = calloc(1, sizeof(*history));
	uint64_t live[5], rss[5];

	(void)state;
	assert_non_null(history);
	history_add(history, &(struct history_point){20, 2, 200});
	history_add(history, &(struct history_point){40, 4, 0});
	history_read(history, &profile, &cells, live, rss);
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(live[i], i < 4 ? i + 1 : 4);
	assert_int_equal(rss[0], 100);
	for (unsigned i = 1; i < 5; i++)
		assert_int_equal(rss[i], 200);
	/* A part without points has what was known before; before the first nothing was. */
	history_read(history, &profile, &(struct history_cells){0, 8, 1}, live, rss);
	assert_true(live[0] == SPARK_UNKNOWN && rss[0] == SPARK_UNKNOWN);
	history_read(history, &profile, &(struct history_cells){60, 70, 1}, live, rss);
	assert_int_equal(live[0], 4);
	free(history);
}

static void history_is_bounded(void **state)
{
	struct history *history = calloc(1, sizeof(*history));
	const unsigned count = 3 * HISTORY_POINTS;

	(void)state;
	assert_non_null(history);
	for (unsigned i = 1; i <= count; i++)
		history_add(history, &(struct history_point){i, i, 0});
	assert_true(history->count > HISTORY_POINTS / 4 && history->count <= HISTORY_POINTS);
	assert_int_equal(history->points[history->count - 1].time_ns, count);
	for (unsigned i = 1; i < history->count; i++)
		assert_true(history->points[i - 1].time_ns < history->points[i].time_ns);
	free(history);
}

static void moments_by_call_stack_id(void **state)
{
	struct profile_stack stacks[] = {
		{.number = 7,
		 .counts = {.alloc_bytes = 70, .alloc_count = 7, .free_bytes = 10, .free_count = 1}},
		{.number = 3, .counts = {.alloc_bytes = 30, .alloc_count = 3, .temporary_count = 2}},
	};
	struct profile profile = {.stacks = stacks, .stack_count = 2, .totals = {.alloc_bytes = 100}};
	const struct profile_stack later[] = {
		{.number = 7}, {.number = 3}, {.number = 5}, {.number = 8}};
	struct moment moment = {.time_ns = 0}, copy = {.time_ns = 0};

	(void)state;
	assert_true(moment_take(&moment, &profile, 9));
	stacks[0].number = 99;
	assert_int_equal(moment.time_ns, 9);
	assert_int_equal(moment.totals.alloc_bytes, 100);
	assert_int_equal(moment_at(&moment, &later[0]).live_bytes, 60);
	assert_int_equal(moment_at(&moment, &later[0]).live_count, 6);
	assert_int_equal(moment_at(&moment, &later[1]).temporary_count, 2);
	assert_int_equal(moment_at(&moment, &later[2]).alloc_bytes, 0);
	assert_int_equal(moment_at(&moment, &later[3]).alloc_bytes, 0);
	assert_true(moment_copy(&copy, &moment));
	moment_end(&moment);
	assert_int_equal(moment_at(&copy, &later[1]).alloc_bytes, 30);
	moment_move(&moment, &copy);
	assert_int_equal(moment_at(&moment, &later[0]).alloc_bytes, 70);
	assert_int_equal(copy.time_ns, 0);
	assert_null(copy.by_number);
	moment_end(&moment);
	assert_int_equal(moment_more(3, 5), 0);
}

static void assert_columns(unsigned width, enum rows_column sort, const char *wanted)
{
	struct columns columns;
	char text[128] = "";

	columns_choose(width, sort, &columns);
	for (unsigned i = 0; i < columns.count; i++) {
		strcat(text, i ? " " : "");
		strcat(text, rows_column_name(columns.items[i]));
	}
	assert_string_equal(text, wanted);
	assert_true(columns.count == 1 || columns.width < width);
}

static void columns_that_fit(void **state)
{
	(void)state;
	assert_columns(80, ROWS_LIVE, "live growth churn blocks");
	assert_columns(80, ROWS_TEMPORARY, "live growth churn temporary");
	assert_columns(130, ROWS_LIVE, "live growth churn blocks alloc temporary");
	assert_columns(20, ROWS_ALLOCATED, "alloc");
	assert_columns(1, ROWS_GROWTH, "growth");
	assert_columns(50, ROWS_CHURN, "live churn");
}

static void rates(void **state)
{
	(void)state;
	assert_int_equal(columns_per_second(100, 0), 0);
	assert_int_equal(columns_per_second(100, 2000000000), 50);
	assert_int_equal(columns_per_second(3, 2000000000), 2);
	assert_true(columns_per_second(UINT64_MAX, 1) == UINT64_MAX);
	assert_true(columns_per_second(UINT64_MAX, 1000000000) == UINT64_MAX);
}

static void names_of_columns_and_groups(void **state)
{
	enum rows_column column;
	enum rows_group group;

	(void)state;
	for (unsigned i = 0; i < ROWS_COLUMNS; i++)
		assert_true(rows_column_find(rows_column_name((enum rows_column)i), &column) &&
			    column == (enum rows_column)i);
	for (unsigned i = 0; i < ROWS_GROUPS; i++)
		assert_true(rows_group_find(rows_group_name((enum rows_group)i), &group) &&
			    group == (enum rows_group)i);
	assert_null(rows_column_name(ROWS_COLUMNS));
	assert_null(rows_group_name(ROWS_GROUPS));
	assert_false(rows_column_find("peak", &column));
	assert_false(rows_group_find("", &group));
}

static void assert_cut(const char *function, unsigned width, const char *wanted)
{
	struct output out = {.width = width};
	char *text = NULL;
	size_t size;

	out.file = open_memstream(&text, &size);
	assert_non_null(out.file);
	name_cut(&out, function, width);
	fclose(out.file);
	assert_string_equal(text, wanted);
	assert_true(output_columns(text) <= width);
	free(text);
}

/* Scopes in the middle go first, then outer ones, then the middle of what is left. */
static void names_that_do_not_fit(void **state)
{
	static const char name[] = "app::store::Index::load_all";

	(void)state;
	assert_cut(name, 27, name);
	assert_cut(name, 26, "app::...::Index::load_all");
	assert_cut(name, 24, "app::...::load_all");
	assert_cut(name, 17, "...::load_all");
	assert_cut(name, 12, "load_all");
	assert_cut(name, 7, "loa...l");
	assert_cut("remember_all", 9, "reme...ll");
	assert_cut("std::vector<...>::push_back", 20, "std::...::push_back");
	assert_cut("app::\033[31mred", 20, "app::?[31mred");
	assert_cut("app::\033[31mred", 12, "?[31mred");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bars),
		cmocka_unit_test(history_of_both),
		cmocka_unit_test(history_is_bounded),
		cmocka_unit_test(moments_by_call_stack_id),
		cmocka_unit_test(columns_that_fit),
		cmocka_unit_test(rates),
		cmocka_unit_test(names_of_columns_and_groups),
		cmocka_unit_test(names_that_do_not_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
