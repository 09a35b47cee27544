/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_strings.c - each text has one number, also when there are many.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "export/strings.h"

enum { MANY = 50000 };

static void test_numbers_in_order(void **state)
{
	struct strings strings = {0};

	(void)state;
	assert_int_equal(strings_add(&strings, ""), 0);
	assert_int_equal(strings_add(&strings, "b"), 1);
	assert_int_equal(strings_add(&strings, "a"), 2);
	assert_int_equal(strings_add(&strings, "b"), 1);
	assert_int_equal(strings_add(&strings, ""), 0);
	assert_int_equal(strings.count, 3);
	assert_string_equal(strings.items[2], "a");
	assert_false(strings.failed);
	strings_free(&strings);
	assert_int_equal(strings.count, 0);
	assert_int_equal(strings_add(&strings, "again"), 0);
	strings_free(&strings);
}

static void test_many(void **state)
{
	struct strings strings = {0};
	char text[16];
	uint32_t i, round;

	(void)state;
	for (round = 0; round < 2; round++)
		for (i = 0; i < MANY; i++) {
			snprintf(text, sizeof(text), "name %u", i * 7919);
			assert_int_equal(strings_add(&strings, text), i);
		}
	assert_int_equal(strings.count, MANY);
	strings_free(&strings);
}

/* The text is copied. */
static void test_copies(void **state)
{
	struct strings strings = {0};
	char text[] = "one";

	(void)state;
	strings_add(&strings, text);
	text[0] = 'x';
	assert_int_equal(strings_add(&strings, text), 1);
	assert_string_equal(strings.items[0], "one");
	strings_free(&strings);
}

static void test_keys(void **state)
{
	struct strings keys = {0};

	(void)state;
	assert_int_equal(strings_add_key(&keys, 1, 2, 3), 0);
	assert_int_equal(strings_add_key(&keys, 12, 3, 0), 1);
	assert_int_equal(strings_add_key(&keys, 1, 23, 0), 2);
	assert_int_equal(strings_add_key(&keys, UINT32_MAX, UINT32_MAX, UINT32_MAX), 3);
	assert_int_equal(strings_add_key(&keys, 1, 2, 3), 0);
	strings_free(&keys);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers_in_order),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_copies),
		cmocka_unit_test(test_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
