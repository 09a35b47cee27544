/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_source_lines.c - which lines of which files a page gets, and as what text.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "page/source_lines.h"
#include "profile/given_names.h"

enum { PATH = 64 };

static char folder[] = "/tmp/pmem_source_lines_XXXXXX";

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	(void)state;
	return rmdir(folder);
}

/* A file of numbered lines, "3" is the third; or of one given line. */
static const char *make_file(const char *name, unsigned lines, const char *line, char path[PATH])
{
	FILE *file;

	snprintf(path, PATH, "%s/%s", folder, name);
	file = fopen(path, "w");
	assert_non_null(file);
	for (unsigned i = 1; i <= lines; i++)
		if (line)
			fprintf(file, "%s\n", line);
		else
			fprintf(file, "%u\r\n", i);
	fclose(file);
	return path;
}

static const struct column *column(const struct columns *columns, const char *name)
{
	for (unsigned i = 0; i < columns->count; i++)
		if (strcmp(columns->items[i].name, name) == 0)
			return &columns->items[i];
	fail_msg("no column %s", name);
	return NULL;
}

static unsigned value(const struct columns *columns, const char *name, unsigned at)
{
	const struct column *found = column(columns, name);

	assert_true(at < found->count);
	return found->width == 1 ? ((uint8_t *)found->bytes)[at] : ((uint16_t *)found->bytes)[at];
}

static void assert_run(const struct columns *columns, unsigned at, const unsigned expected[3])
{
	assert_int_equal(value(columns, "source_file", at), expected[0]);
	assert_int_equal(value(columns, "source_first", at), expected[1]);
	assert_int_equal(value(columns, "source_count", at), expected[2]);
}

static void assert_text(const struct columns *columns, const char *text)
{
	const struct column *found = column(columns, "source_text");

	assert_int_equal(found->count, strlen(text));
	assert_memory_equal(found->bytes, text, found->count);
}

/* Of profiles that came without names. */
static void collect(struct source_lines_place *places, uint32_t count, struct columns *columns)
{
	struct profile *profile = calloc(1, sizeof(*profile));
	const struct profile *profiles[] = {profile};

	assert_non_null(profile);
	*columns = (struct columns){0};
	assert_true(source_lines_columns(&(struct source_lines_from){profiles, 1}, places, count,
					 columns));
	free(profile);
}

static void test_lines_around_places(void **state)
{
	char a[PATH], b[PATH];
	struct source_lines_place places[] = {
		{make_file("b", 9, NULL, b), 7, 9},
		{make_file("a", 30, NULL, a), 4, 20},
		{b, 7, 1},
		{a, 4, 14},
		{a, 4, 2},
		{"/nowhere/at/all", 5, 1},
		{folder, 6, 1},
		{a, 4, 20},
		{a, 4, UINT32_MAX},
	};
	struct columns columns;

	(void)state;
	collect(places, 9, &columns);
	/* The most important file first, its lines in order; those that touch are one run, and the end of the file ends it. */
	assert_int_equal(column(&columns, "source_file")->count, 4);
	assert_run(&columns, 0, (unsigned[]){7, 1, 4});
	assert_run(&columns, 1, (unsigned[]){7, 6, 4});
	assert_run(&columns, 2, (unsigned[]){4, 1, 5});
	assert_run(&columns, 3, (unsigned[]){4, 11, 13});
	assert_text(&columns, "1\n2\n3\n4\n6\n7\n8\n9\n1\n2\n3\n4\n5\n"
			      "11\n12\n13\n14\n15\n16\n17\n18\n19\n20\n21\n22\n23\n");
	columns_free(&columns);
	unlink(a);
	unlink(b);
}

static void test_text_is_safe(void **state)
{
	char path[PATH], wide[SOURCE_LINES_WIDTH + 100];
	struct source_lines_place place;
	struct columns columns;
	const char *text;

	(void)state;
	place = (struct source_lines_place){
		make_file("tab", 1, "\tif\t(x)\x1b[0m \xff \xc3\xa9", path), 1, 1};
	collect(&place, 1, &columns);
	assert_text(&columns, "    if    (x)?[0m ? \xc3\xa9\n");
	columns_free(&columns);
	/* Of characters of two bytes each: none is cut in two. */
	for (unsigned i = 0; i + 1 < sizeof(wide); i++)
		wide[i] = i % 2 ? '\xa9' : '\xc3';
	wide[sizeof(wide) - 2] = '\0';
	place = (struct source_lines_place){make_file("tab", 1, wide, path), 1, 1};
	collect(&place, 1, &columns);
	text = column(&columns, "source_text")->bytes;
	assert_int_equal(column(&columns, "source_text")->count, SOURCE_LINES_WIDTH);
	assert_memory_equal(text + SOURCE_LINES_WIDTH - 6, "\xc3\xa9\xe2\x80\xa6\n", 6);
	columns_free(&columns);
	unlink(path);
}

static void test_there_is_a_limit(void **state)
{
	enum { LINES = 6000, PLACES = 1000 };
	struct source_lines_place *places = calloc(PLACES, sizeof(*places));
	char path[PATH], line[101] = {0};
	struct columns columns;

	(void)state;
	assert_non_null(places);
	memset(line, 'x', 100);
	make_file("long", LINES, line, path);
	for (uint32_t i = 0; i < PLACES; i++)
		places[i] = (struct source_lines_place){path, 1, 6 * i + 1};
	collect(places, PLACES, &columns);
	assert_int_equal(column(&columns, "source_text")->count, SOURCE_LINES_TEXT / 101 * 101);
	assert_run(&columns, 0, (unsigned[]){1, 1, SOURCE_LINES_TEXT / 101});
	columns_free(&columns);
	free(places);
	unlink(path);
}

/* Lines that came with a profile are its own; if all names did, files here are another machine's. */
static void test_lines_of_a_bundle(void **state)
{
	static const char *const lines[] = {"theirs 2", "theirs 3"};
	char path[PATH];
	struct given_source source = {make_file("a", 5, NULL, path), 2, 2, lines};
	struct given_names given = {.from = GIVEN_FROM_BUNDLE, .sources = &source, .source_count = 1};
	struct profile *bundle = calloc(1, sizeof(*bundle)), *other = calloc(1, sizeof(*other));
	const struct profile *profiles[] = {other, bundle};
	struct source_lines_place place = {path, 1, 2};
	struct columns columns = {0};

	(void)state;
	assert_true(bundle && other);
	bundle->given = &given;
	assert_true(source_lines_columns(&(struct source_lines_from){profiles, 2}, &place, 1,
					 &columns));
	assert_text(&columns, "theirs 2\ntheirs 3\n");
	assert_run(&columns, 0, (unsigned[]){1, 2, 2});
	columns_free(&columns);
	/* Names of compiled code alone: the rest is here. */
	given.from = GIVEN_FROM_FILE;
	place.line = 2;
	assert_true(source_lines_columns(&(struct source_lines_from){profiles, 2}, &place, 1,
					 &columns));
	assert_text(&columns, "1\ntheirs 2\ntheirs 3\n4\n5\n");
	columns_free(&columns);
	free(bundle);
	free(other);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines_around_places),
		cmocka_unit_test(test_text_is_safe),
		cmocka_unit_test(test_there_is_a_limit),
		cmocka_unit_test(test_lines_of_a_bundle),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
