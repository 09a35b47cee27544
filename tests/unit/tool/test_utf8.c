/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_utf8.c - every sequence of one to four bytes against the rules of RFC 3629, section 3, by arithmetic.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/utf8.h"

/* The length of the character's only valid encoding. */
static unsigned encode(uint32_t code, char text[5])
{
	if (code < 0x80)
		text[0] = (char)code;
	else if (code < 0x800)
		text[0] = (char)(0xc0 | code >> 6);
	else if (code < 0x10000)
		text[0] = (char)(0xe0 | code >> 12);
	else
		text[0] = (char)(0xf0 | code >> 18);
	if (code < 0x80)
		return 1;
	if (code >= 0x10000)
		text[1] = (char)(0x80 | (code >> 12 & 0x3f));
	if (code >= 0x800)
		text[code < 0x10000 ? 1 : 2] = (char)(0x80 | (code >> 6 & 0x3f));
	text[code < 0x800 ? 1 : code < 0x10000 ? 2 : 3] = (char)(0x80 | (code & 0x3f));
	return code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
}

static void every_character(void **state)
{
	char text[5];
	uint32_t code;
	unsigned length, expected;

	(void)state;
	for (code = 0; code < 0x110000; code++) {
		memset(text, 0, sizeof(text));
		length = encode(code, text);
		expected = code >= 0xd800 && code < 0xe000 ? 0 : length;
		if (utf8_length(text) != expected)
			fail_msg("U+%04x: %u", (unsigned)code, utf8_length(text));
		if (length > 1) { /* cut off */
			text[length - 1] = 0;
			assert_int_equal(utf8_length(text), 0);
		}
	}
}

static void invalid(void **state)
{
	(void)state;
	assert_int_equal(utf8_length("\x80"), 0);
	assert_int_equal(utf8_length("\xc0\x80"), 0);
	assert_int_equal(utf8_length("\xc1\xbf"), 0);
	assert_int_equal(utf8_length("\xe0\x9f\xbf"), 0);
	assert_int_equal(utf8_length("\xf0\x8f\xbf\xbf"), 0);
	assert_int_equal(utf8_length("\xf4\x90\x80\x80"), 0);
	assert_int_equal(utf8_length("\xf5\x80\x80\x80"), 0);
	assert_int_equal(utf8_length("\xff"), 0);
	assert_int_equal(utf8_length("\xc3("), 0);
}

/* What is left of "a\u00e9\u20ac\U0001f600b" if it may have so many bytes. */
static void cut_between_characters(void **state)
{
	static const char all[] = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z";
	static const size_t left[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11, 11};
	char text[sizeof(all)];

	(void)state;
	for (size_t most = 0; most < sizeof(left) / sizeof(*left); most++) {
		memcpy(text, all, sizeof(all));
		utf8_cut(text, most);
		assert_int_equal(strlen(text), left[most]);
		assert_memory_equal(text, all, left[most]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_character),
		cmocka_unit_test(invalid),
		cmocka_unit_test(cut_between_characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
