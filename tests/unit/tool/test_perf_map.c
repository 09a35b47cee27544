/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_perf_map.c - names from perf maps, and the table of addresses that they are for.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "jit_fixture.h"
#include "symbol/perf_map.h"

static struct jit_names names;

static void ask(const char *map, const uint64_t *addresses, size_t count)
{
	assert_true(jit_names_begin(&names, addresses, count));
	fixture_ask(perf_map_read, map, strlen(map), &names);
}

/* "" = no name. */
static void expect(uint64_t address, uint64_t start, const char *raw_name)
{
	const struct jit_name *name = fixture_name(&names, address);

	assert_non_null(name);
	if (!raw_name[0]) {
		assert_null(name->raw_name);
		return;
	}
	assert_non_null(name->raw_name);
	assert_string_equal(name->raw_name, raw_name);
	assert_int_equal(name->start, start);
	assert_null(name->file);
	assert_int_equal(name->line, 0);
}

static void calls_belong_to_the_function_before_them(void **state)
{
	static const uint64_t addresses[] = {0x1020, 0x1000, 0x1001, 0x1010,
					     0x1011, 0x1010, 0x7ffff};

	(void)state;
	ask("1000 10 first\n1010 10 a name with; blanks \n", addresses, 7);
	assert_int_equal(names.count, 6); /* each once */
	assert_int_equal(names.found, 4);
	expect(0x1000, 0, "");
	expect(0x1001, 0x1000, "first");
	expect(0x1010, 0x1000, "first"); /* the call is its last instruction */
	expect(0x1011, 0x1010, "a name with; blanks");
	expect(0x1020, 0x1010, "a name with; blanks");
	expect(0x7ffff, 0, "");
	jit_names_end(&names);
}

static void later_lines_win(void **state)
{
	static const uint64_t addresses[] = {0x1008, 0x1018, 0x1028};

	(void)state;
	ask("1000 30 old\n1010 10 new\n900 10 elsewhere\n", addresses, 3);
	expect(0x1008, 0x1000, "old");
	expect(0x1018, 0x1010, "new");
	expect(0x1028, 0x1000, "old");
	jit_names_end(&names);
}

static void odd_lines(void **state)
{
	static const uint64_t addresses[] = {0x1008, 0x2008, 0x3008, 0x4008,
					     0x5008, 0x6008, 0x7008};

	(void)state;
	ask("\n"
	    "no numbers here\n"
	    "1000\n"
	    "1000 10\n"
	    "1000 10 \n"
	    "1000g 10 x\n"
	    "11111111111111111 10 x\n"
	    "1000 0 x\n"
	    "0 ffffffff x\n"
	    "1 fffffffffffffffe x\n"
	    "0x2000 0x10 both\r\n"
	    "7fffffffffffffff 7fffffffffffffff x\n"
	    "ABCDEF0 10 upper\n"
	    "3000   10   many blanks\n"
	    "4000 10 cut off",
	    addresses, 7);
	expect(0x1008, 0, "");
	expect(0x2008, 0x2000, "both");
	expect(0x3008, 0x3000, "many blanks");
	expect(0x4008, 0, ""); /* it may still be written */
	assert_int_equal(names.found, 2);
	jit_names_end(&names);
}

static void long_names_are_cut_between_characters(void **state)
{
	static const uint64_t addresses[] = {0x1008, 0x2008, 0x3008};
	size_t size = 400 * 1024;
	char *map = malloc(size + 100);
	char *at = map;

	(void)state;
	assert_non_null(map);
	at += sprintf(at, "1000 10 ");
	for (int i = 0; i < JIT_NAME_MAX; i++) /* two bytes each */
		at += sprintf(at, "\u00e9");
	at += sprintf(at, "\n2000 10 ");
	memset(at, 'x', 300 * 1024);
	at += 300 * 1024;
	sprintf(at, "\n3000 10 behind\n");
	ask(map, addresses, 3);
	assert_int_equal(strlen(fixture_name(&names, 0x1008)->raw_name), JIT_NAME_MAX);
	expect(0x3008, 0x3000, "behind");
	jit_names_end(&names);
	map[8] = 'x'; /* now characters begin at odd places */
	memmove(map + 9, map + 10, strlen(map + 10) + 1);
	ask(map, addresses, 3);
	assert_int_equal(strlen(fixture_name(&names, 0x1008)->raw_name), JIT_NAME_MAX - 1);
	jit_names_end(&names);
	free(map);
}

static void many_lines(void **state)
{
	enum { LINES = 40000 };
	static const uint64_t addresses[] = {0x10000000 + 39999 * 32 + 1, 0x10000000 + 5 * 32 + 7};
	char *map = malloc(LINES * 40);
	char *at = map;

	(void)state;
	assert_non_null(map);
	for (int i = 0; i < LINES; i++)
		at += sprintf(at, "%x 20 f%d\n", 0x10000000 + i * 32, i);
	ask(map, addresses, 2);
	expect(addresses[0], addresses[0] - 1, "f39999");
	expect(addresses[1], addresses[1] - 7, "f5");
	jit_names_end(&names);
	free(map);
}

/* A map of lines that each cover all addresses must not take for ever. */
static void covers_are_limited(void **state)
{
	enum { COUNT = 3000 };
	static uint64_t addresses[COUNT];
	struct jit_record record = {.at = 1, .start = 0x1000, .first = 0x1000};

	(void)state;
	for (int i = 0; i < COUNT; i++)
		addresses[i] = 0x1001 + (uint64_t)i;
	assert_true(jit_names_begin(&names, addresses, COUNT));
	names.left = COUNT + 10;
	assert_true(jit_names_cover(&names, COUNT, &record));
	assert_true(jit_names_cover(&names, 10, &record));
	assert_false(jit_names_cover(&names, 10, &record));
	assert_true(jit_names_wants(&names, 0x1000, 1));
	assert_false(jit_names_wants(&names, 0x1000 + COUNT, 1));
	assert_false(jit_names_wants(&names, 0x1000, 0));
	assert_false(jit_names_wants(&names, 0x1000, UINT64_MAX));
	jit_names_end(&names);
}

static void nothing_is_asked(void **state)
{
	(void)state;
	ask("1000 10 f\n", NULL, 0);
	assert_int_equal(names.count, 0);
	assert_int_equal(names.found, 0);
	jit_names_end(&names);
	ask("", (uint64_t[]){1}, 1);
	assert_int_equal(names.found, 0);
	jit_names_end(&names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_belong_to_the_function_before_them),
		cmocka_unit_test(later_lines_win),
		cmocka_unit_test(odd_lines),
		cmocka_unit_test(long_names_are_cut_between_characters),
		cmocka_unit_test(many_lines),
		cmocka_unit_test(covers_are_limited),
		cmocka_unit_test(nothing_is_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
