/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_text.c - numbers, names and times as text, compared with the C library's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "libpmem/text.h"

static char bytes[128];
static struct text text;

static int begin(void **state)
{
	(void)state;
	memset(bytes, '~', sizeof(bytes));
	text = (struct text){.bytes = bytes, .room = 64};
	return 0;
}

/* What was written since the last call. */
static const char *written(void)
{
	static char copy[sizeof(bytes) + 1];

	memcpy(copy, bytes, text.size);
	copy[text.size] = '\0';
	text.size = 0;
	return copy;
}

static void test_uint(void **state)
{
	static const uint64_t values[] = {0, 1, 9, 10, 99, 100, 1234567890, UINT64_MAX};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(values) / sizeof(*values); i++) {
		char want[64];

		text_uint(&text, values[i], 0);
		snprintf(want, sizeof(want), "%llu", (unsigned long long)values[i]);
		assert_string_equal(written(), want);
		text_uint(&text, values[i], 3);
		snprintf(want, sizeof(want), "%3llu", (unsigned long long)values[i]);
		assert_string_equal(written(), want);
		text_uint(&text, values[i], 25);
		snprintf(want, sizeof(want), "%25llu", (unsigned long long)values[i]);
		assert_string_equal(written(), want);
	}
	assert_false(text.truncated);
}

static void test_hex(void **state)
{
	static const uint64_t values[] = {0, 0xf, 0x10, 0xdeadbeef, UINT64_MAX};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(values) / sizeof(*values); i++) {
		char want[64];

		text_hex(&text, values[i], 0);
		snprintf(want, sizeof(want), "%llx", (unsigned long long)values[i]);
		assert_string_equal(written(), want);
		text_hex(&text, values[i], 16);
		snprintf(want, sizeof(want), "%016llx", (unsigned long long)values[i]);
		assert_string_equal(written(), want);
	}
}

static void test_safe(void **state)
{
	(void)state;
	text_safe(&text, "/a b/\n[\t\x7f\x1b(\xc3\xa9)");
	assert_string_equal(written(), "/a b/?[??"
				       "?(\xc3\xa9)");
}

/* Every byte, at every place of strings of up to 20 bytes. */
static void test_safe_everywhere(void **state)
{
	unsigned char string[24], want[24];
	unsigned c, size, at;

	(void)state;
	for (c = 1; c < 256; c++)
		for (size = 1; size <= 20; size++)
			for (at = 0; at < size; at++) {
				memset(string, 'a' + (int)(size % 26), size);
				string[size] = 0;
				memcpy(want, string, sizeof(want));
				string[at] = (unsigned char)c;
				want[at] = c < 0x20 || c == 0x7f ? '?' : (unsigned char)c;
				text_safe(&text, (const char *)string);
				assert_string_equal(written(), (const char *)want);
			}
}

/* What is there already stays, and what does not fit is dropped. */
static void test_safe_in_little_room(void **state)
{
	char room[12] = "a\nb";
	struct text little = {.bytes = room, .size = 3, .room = 11};

	(void)state;
	text_safe(&little, "\n234567\n90");
	assert_true(little.truncated);
	assert_int_equal(little.size, 11);
	assert_string_equal(room, "a\nb?234567?");
}

static void check_time(uint64_t ms)
{
	time_t seconds = (time_t)(ms / 1000);
	struct tm tm;
	char date[64], want[96];

	gmtime_r(&seconds, &tm);
	strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(want, sizeof(want), "%s.%03uZ", date, (unsigned)(ms % 1000));
	text_time(&text, ms * 1000000 + 999999);
	assert_string_equal(written(), want);
}

static void test_time(void **state)
{
	uint64_t day;

	(void)state;
	check_time(0);
	check_time(951782399999);	       /* 2000-02-28, 23:59:59.999 */
	check_time(951782400000);	       /* 2000-02-29 */
	check_time(4107542400000);	       /* 2100-03-01: no leap year */
	for (day = 0; day < 150000; day += 17) /* to the year 2380 */
		check_time(day * 86400000 + day * 7 % 86400000);
}

static void test_full(void **state)
{
	(void)state;
	text.room = 5;
	text_string(&text, "abc");
	assert_false(text.truncated);
	text_string(&text, "def");
	assert_true(text.truncated);
	text_char(&text, 'x');
	text_uint(&text, 12345, 30);
	text_hex(&text, 12345, 16);
	text_time(&text, 1);
	text_safe(&text, "more");
	assert_int_equal(text.size, 5);
	assert_memory_equal(bytes, "abcde~~~", 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_uint, begin),
		cmocka_unit_test_setup(test_hex, begin),
		cmocka_unit_test_setup(test_safe, begin),
		cmocka_unit_test_setup(test_safe_everywhere, begin),
		cmocka_unit_test_setup(test_safe_in_little_room, begin),
		cmocka_unit_test_setup(test_time, begin),
		cmocka_unit_test_setup(test_full, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
