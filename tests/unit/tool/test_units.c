/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_units.c - numbers as text and back, above all where they round to the next unit.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "base/units.h"

#define KIB UINT64_C(1024)
#define MIB (KIB * 1024)
#define GIB (MIB * 1024)
#define S UINT64_C(1000000000)

static char text[UNITS_SIZE];

static void bytes(void **state)
{
	(void)state;
	assert_string_equal(units_bytes(0, text), "0 B");
	assert_string_equal(units_bytes(812, text), "812 B");
	assert_string_equal(units_bytes(1023, text), "1023 B");
	assert_string_equal(units_bytes(1024, text), "1.0 KiB");
	assert_string_equal(units_bytes(1075, text), "1.0 KiB");
	assert_string_equal(units_bytes(1076, text), "1.1 KiB");
	assert_string_equal(units_bytes(412 * MIB + 3 * MIB / 10, text), "412.3 MiB");
	assert_string_equal(units_bytes(MIB - 52, text), "1023.9 KiB");
	assert_string_equal(units_bytes(MIB - 51, text), "1.0 MiB");
	assert_string_equal(units_bytes(GIB - 1, text), "1.0 GiB");
	assert_string_equal(units_bytes(UINT64_C(1) << 63, text), "8.0 EiB");
	assert_string_equal(units_bytes(UINT64_MAX, text), "16.0 EiB");
}

static void bytes_change(void **state)
{
	(void)state;
	assert_string_equal(units_bytes_change(0, text), "0");
	assert_string_equal(units_bytes_change(-12, text), "-12 B");
	assert_string_equal(units_bytes_change(34 * (int64_t)MIB, text), "+34.0 MiB");
	assert_string_equal(units_bytes_change(INT64_MIN, text), "-8.0 EiB");
	assert_string_equal(units_bytes_change(INT64_MAX, text), "+8.0 EiB");
}

static void count(void **state)
{
	(void)state;
	assert_string_equal(units_count(0, text), "0");
	assert_string_equal(units_count(999, text), "999");
	assert_string_equal(units_count(1000, text), "1,000");
	assert_string_equal(units_count(18220, text), "18,220");
	assert_string_equal(units_count(100007, text), "100,007");
	assert_string_equal(units_count(999999, text), "999,999");
	assert_string_equal(units_count(1000000, text), "1.00 M");
	assert_string_equal(units_count(1180000, text), "1.18 M");
	assert_string_equal(units_count(9994999, text), "9.99 M");
	assert_string_equal(units_count(9995000, text), "10.0 M");
	assert_string_equal(units_count(31200000, text), "31.2 M");
	assert_string_equal(units_count(99950000, text), "100 M");
	assert_string_equal(units_count(999499999, text), "999 M");
	assert_string_equal(units_count(999500000, text), "1.00 G");
	assert_string_equal(units_count(2100000000, text), "2.10 G");
	assert_string_equal(units_count(UINT64_MAX, text), "18.4 E");
}

static void share(void **state)
{
	(void)state;
	assert_string_equal(units_share(0, 0, text), "-");
	assert_string_equal(units_share(5, 0, text), "-");
	assert_string_equal(units_share(0, 7, text), "0 %");
	assert_string_equal(units_share(1, 101, text), "<1 %");
	assert_string_equal(units_share(1, 100, text), "1 %");
	assert_string_equal(units_share(61, 100, text), "61 %");
	assert_string_equal(units_share(605, 1000, text), "61 %");
	assert_string_equal(units_share(604, 1000, text), "60 %");
	assert_string_equal(units_share(99, 100, text), "99 %");
	assert_string_equal(units_share(991, 1000, text), ">99 %");
	assert_string_equal(units_share(UINT64_MAX - 1, UINT64_MAX, text), ">99 %");
	assert_string_equal(units_share(UINT64_MAX, UINT64_MAX, text), "100 %");
	assert_string_equal(units_share(1, UINT64_MAX, text), "<1 %");
	assert_string_equal(units_share(3, 2, text), "150 %");
	assert_string_equal(units_share(UINT64_MAX, 1, text), "18446744073709551615 %");
}

static void duration(void **state)
{
	(void)state;
	assert_string_equal(units_duration(0, text), "0 s");
	assert_string_equal(units_duration(999, text), "999 ns");
	assert_string_equal(units_duration(1000, text), "1 us");
	assert_string_equal(units_duration(850000, text), "850 us");
	assert_string_equal(units_duration(999499, text), "999 us");
	assert_string_equal(units_duration(999500, text), "1 ms");
	assert_string_equal(units_duration(3200000, text), "3.2 ms");
	assert_string_equal(units_duration(7100000000, text), "7.1 s");
	assert_string_equal(units_duration(9960000000, text), "10 s");
	assert_string_equal(units_duration(42 * S, text), "42 s");
	assert_string_equal(units_duration(59 * S + S / 2 - 1, text), "59 s");
	assert_string_equal(units_duration(59 * S + S / 2, text), "1 min");
	assert_string_equal(units_duration(724 * S, text), "12 min 4 s");
	assert_string_equal(units_duration(3600 * S, text), "1 h");
	assert_string_equal(units_duration((3 * 60 + 7) * 60 * S, text), "3 h 7 min");
	assert_string_equal(units_duration((24 * 60 - 1) * 60 * S, text), "23 h 59 min");
	assert_string_equal(units_duration(52 * 3600 * S, text), "2 d 4 h");
	assert_string_equal(units_duration(UINT64_MAX, text), "213504 d");
}

static void time_of_day(void **state)
{
	(void)state;
	setenv("TZ", "UTC0", 1);
	tzset();
	assert_string_equal(units_time(0, text), "00:00:00");
	assert_string_equal(units_date(0, text), "1 Jan 00:00:00");
	assert_string_equal(units_time(1764412262 * S + 999999999, text), "10:31:02");
	assert_string_equal(units_date(1764412262 * S, text), "29 Nov 10:31:02");
	setenv("TZ", "XXX-2", 1);
	tzset();
	assert_string_equal(units_time(1764412262 * S, text), "12:31:02");
}

static void expect_bytes(const char *given, uint64_t expected)
{
	uint64_t value = 99;

	if (!units_parse_bytes(given, &value))
		fail_msg("\"%s\" was refused", given);
	assert_int_equal(value, expected);
}

static void parse_bytes(void **state)
{
	static const char *const bad[] = {"",
					  " ",
					  "k",
					  "-1",
					  "+1",
					  "1.",
					  ".5k",
					  "1.5",
					  "1.5b",
					  "1x",
					  "1kk",
					  "1ki",
					  "1bb",
					  "0x10",
					  "1,5k",
					  "inf",
					  "nan",
					  "1e3",
					  "9223372036854775809",
					  "8.1e",
					  "16e",
					  "99999999999999999999",
					  "18446744073709551616b"};
	uint64_t value = 99;
	size_t i;

	(void)state;
	expect_bytes("0", 0);
	expect_bytes("512", 512);
	expect_bytes("512b", 512);
	expect_bytes("64k", 64 * KIB);
	expect_bytes("64KB", 64 * KIB);
	expect_bytes("1.5g", 3 * GIB / 2);
	expect_bytes("8MiB", 8 * MIB);
	expect_bytes("8.0 MiB", 8 * MIB);
	expect_bytes("0.0009765625k", 1);
	expect_bytes("2t", 2 * KIB * GIB);
	expect_bytes("8e", UINT64_C(1) << 63);
	expect_bytes("9223372036854775808", UINT64_C(1) << 63);
	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (units_parse_bytes(bad[i], &value))
			fail_msg("\"%s\" was taken", bad[i]);
	assert_int_equal(value, 99);
}

static void expect_duration(const char *given, uint64_t expected)
{
	uint64_t value = 99;

	if (!units_parse_duration(given, &value))
		fail_msg("\"%s\" was refused", given);
	assert_int_equal(value, expected);
}

static void parse_duration(void **state)
{
	static const char *const bad[] = {
		"",    " ",   "s",     "-1", "1x",  "1h30", "1h30 ",	   "30m1h",	 "1m1m",
		"1.s", "1s,", "90 90", "1S", "1hm", "1e3s", "18446744074", "999999999d", "1h-3m"};
	uint64_t value = 99;
	size_t i;

	(void)state;
	expect_duration("90", 90 * S);
	expect_duration("90s", 90 * S);
	expect_duration("0", 0);
	expect_duration("1.5", 3 * S / 2);
	expect_duration("10m", 600 * S);
	expect_duration("1h30m", 5400 * S);
	expect_duration("250ms", S / 4);
	expect_duration("7us", 7000);
	expect_duration("12 min 4 s", 724 * S);
	expect_duration("2d4h", 52 * 3600 * S);
	expect_duration("18446744073", 18446744073 * S);
	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (units_parse_duration(bad[i], &value))
			fail_msg("\"%s\" was taken", bad[i]);
	assert_int_equal(value, 99);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes),       cmocka_unit_test(bytes_change),
		cmocka_unit_test(count),       cmocka_unit_test(share),
		cmocka_unit_test(duration),    cmocka_unit_test(time_of_day),
		cmocka_unit_test(parse_bytes), cmocka_unit_test(parse_duration),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
