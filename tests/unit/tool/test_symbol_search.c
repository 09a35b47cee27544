/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_symbol_search.c - where files with debug information are looked for.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "symbol/symbol_search.h"

static const struct elf_build_id id = {.size = 4, .bytes = {0xab, 0xcd, 0x01, 0xef}};

static void assert_path(const struct symbol_search *search, size_t number, const char *expected)
{
	char *path = symbol_search_path(search, &id, number);

	assert_non_null(path);
	assert_string_equal(path, expected);
	free(path);
}

static void folders_of_the_options_come_first(void **state)
{
	struct symbols_options options = {.root = "/proc/7/root", .debug_dirs = {"/a", "/b"}};
	struct symbol_search search;

	(void)state;
	assert_true(symbol_search_make(&search, &options));
	assert_string_equal(search.text, ":.debug:/a:/b:/proc/7/root/usr/lib/debug:/usr/lib/debug");
	assert_path(&search, 0, "/a/.build-id/ab/cd01ef.debug");
	assert_path(&search, 1, "/a/.build-id/ab/cd01ef");
	assert_path(&search, 2, "/b/.build-id/ab/cd01ef.debug");
	assert_path(&search, 4, "/proc/7/root/usr/lib/debug/.build-id/ab/cd01ef.debug");
	assert_path(&search, 7, "/usr/lib/debug/.build-id/ab/cd01ef");
	assert_null(symbol_search_path(&search, &id, 8));
	symbol_search_free(&search);
	symbol_search_free(&search);
}

static void without_options_the_systems_folder(void **state)
{
	struct symbol_search search;

	(void)state;
	assert_true(symbol_search_make(&search, NULL));
	assert_string_equal(search.text, ":.debug:/usr/lib/debug");
	symbol_search_free(&search);
}

static void folders_that_would_be_taken_apart_are_left_out(void **state)
{
	struct symbols_options options = {.root = "", .debug_dirs = {"/a:b", "relative", "/c"}};
	struct symbol_search search;

	(void)state;
	assert_true(symbol_search_make(&search, &options));
	assert_string_equal(search.text, ":.debug:/c:/usr/lib/debug");
	symbol_search_free(&search);
}

static void ids_without_bytes_have_no_path(void **state)
{
	struct elf_build_id none = {0}, short_one = {.size = 1};
	struct symbol_search search;

	(void)state;
	assert_true(symbol_search_make(&search, NULL));
	assert_null(symbol_search_path(&search, &none, 0));
	assert_null(symbol_search_path(&search, &short_one, 0));
	symbol_search_free(&search);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(folders_of_the_options_come_first),
		cmocka_unit_test(without_options_the_systems_folder),
		cmocka_unit_test(folders_that_would_be_taken_apart_are_left_out),
		cmocka_unit_test(ids_without_bytes_have_no_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
