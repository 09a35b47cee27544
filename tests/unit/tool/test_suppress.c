/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_suppress.c - patterns of suppressions.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "leaks/suppress.h"

static void test_matches(void **state)
{
	static const struct {
		const char *pattern;
		const char *text;
		bool matches;
	} cases[] = {
		{"bar", "foobarbaz", true},
		{"bar", "bar", true},
		{"bar", "ba", false},
		{"^foo", "foobar", true},
		{"^bar", "foobar", false},
		{"bar$", "foobar", true},
		{"foo$", "foobar", false},
		{"^foobar$", "foobar", true},
		{"^foobar$", "foobarx", false},
		{"f*r", "xfoobarx", true},
		{"^f*r$", "foobar", true},
		{"^f*a$", "foobar", false},
		{"o*o", "foo", true},
		{"o*o*o", "foo", false},
		{"*", "", true},
		{"*x", "foo", false},
		{"foo*", "foo", true},
		{"ar$", "bar bar", true},
		{"^*bar$", "foobar", true},
		{"a$b", "a$b", true},
		{"b*r$", "bar bar", true},
		{"^ab$", "ababab", false},
		{"^ab*ab$", "ab", false},
		{"^ab*ab$", "abab", true},
		{"ab**ba", "abba", true},
		{"$", "text", true},
		{"^$", "", true},
		{"^$", "x", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		if (suppress_matches(cases[i].pattern, cases[i].text) != cases[i].matches)
			fail_msg("%s %s", cases[i].pattern, cases[i].text);
}

static bool read_text(struct suppress *suppress, const char *text, struct error *err)
{
	char path[] = "/tmp/test_suppress.XXXXXX";
	FILE *file = fdopen(mkstemp(path), "w");
	bool ok;

	fputs(text, file);
	fclose(file);
	ok = suppress_read(suppress, path, err);
	unlink(path);
	return ok;
}

static void test_reads(void **state)
{
	struct suppress suppress = {.count = 0};
	struct error err = {""};

	(void)state;
	assert_true(read_text(&suppress, "# one\n\n  leak:a b \nleak:c", &err));
	assert_true(read_text(&suppress, "leak:d\n", &err));
	assert_int_equal(suppress.count, 3);
	assert_string_equal(suppress.rules[0].pattern, "a b");
	assert_string_equal(suppress.rules[1].pattern, "c");
	assert_string_equal(suppress.rules[2].pattern, "d");
	assert_false(read_text(&suppress, "leak:\n", &err));
	assert_false(read_text(&suppress, "leak\n", &err));
	assert_false(suppress_read(&suppress, "/no/such/file", &err));
	suppress_free(&suppress);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_matches),
		cmocka_unit_test(test_reads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
