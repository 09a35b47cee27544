/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_clean.c - text from untrusted files.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "export/clean.h"

static void check(const char *text, const char *reserved, const char *wanted)
{
	char *clean = clean_text(text, reserved);

	assert_string_equal(clean, wanted);
	free(clean);
}

static void test_good_text_stays(void **state)
{
	(void)state;
	check("", "", "");
	check("operator new(unsigned long)", "", "operator new(unsigned long)");
	check("a;b#c \"d\" \\e", "", "a;b#c \"d\" \\e");
	check("Gr\xc3\xb6\xc3\x9f\x65 \xe2\x98\x83 \xf0\x9f\x98\x80", ";",
	      "Gr\xc3\xb6\xc3\x9f\x65 \xe2\x98\x83 \xf0\x9f\x98\x80");
	check("\xc2\xa0", "", "\xc2\xa0"); /* the first after C1 */
}

static void test_control_characters(void **state)
{
	(void)state;
	check("a\nb\tc\r\x01\x1f\x7f\x1b[31m", "", "a?b?c?????[31m");
	check("\xc2\x80x\xc2\x9f", "", "?x?");
}

static void test_broken_bytes(void **state)
{
	(void)state;
	check("\xff\xfe", "", "??");
	check("\xc0\x80", "", "??");	  /* overlong */
	check("\xed\xa0\x80", "", "???"); /* a surrogate */
	check("a\xe2\x98", "", "a??");	  /* cut */
	check("\xc2", "", "?");
}

static void test_reserved(void **state)
{
	(void)state;
	check("a;b;", ";", "a:b:");
	check("{lambda()#1}; x", ";#", "{lambda():1}: x");
	check("\n;", "\n;", "?:");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good_text_stays),
		cmocka_unit_test(test_control_characters),
		cmocka_unit_test(test_broken_bytes),
		cmocka_unit_test(test_reserved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
