/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_when.c - moments as text, and as a person gives them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "profile/when.h"

#define SECOND UINT64_C(1000000000)

/* 29 November 2026, 10:31:02.123 UTC; ten minutes long. */
static struct profile profile = {
	.header.start_realtime_ns = UINT64_C(1795948262) * SECOND + 123000000,
	.duration_ns = 600 * SECOND,
};

static void assert_time(const char *text, uint64_t wanted)
{
	struct error err = {""};
	uint64_t time_ns;

	if (!when_parse(&profile, text, &time_ns, &err))
		fail_msg("%s: %s", text, err.text);
	assert_int_equal(time_ns, wanted);
}

static void test_iso(void **state)
{
	char text[WHEN_SIZE];

	(void)state;
	assert_string_equal(when_iso(0, text), "1970-01-01T00:00:00.000Z");
	assert_string_equal(when_iso(profile.header.start_realtime_ns, text),
			    "2026-11-29T10:31:02.123Z");
	assert_string_equal(when_iso(999999999, text), "1970-01-01T00:00:00.999Z");
	when_iso(UINT64_MAX, text); /* from a hostile file: any text, but in its room */
	assert_int_equal(when_realtime(&profile, 5), profile.header.start_realtime_ns + 5);
}

static void test_durations(void **state)
{
	(void)state;
	assert_time("90s", 90 * SECOND);
	assert_time("10m", 600 * SECOND);
	assert_time("0", 0);
	assert_time("-1m", 540 * SECOND);
	assert_time("-0", 600 * SECOND);
	assert_time("-1h", 0); /* before the start: the start */
}

static void test_time_of_day(void **state)
{
	(void)state;
	assert_time("10:31:02", 0);
	assert_time("10:31:03", SECOND - 123000000);
	assert_time("10:41", 598 * SECOND - 123000000);
}

/* A profile that runs past midnight. */
static void test_the_next_day(void **state)
{
	struct profile before = profile;

	(void)state;
	profile.header.start_realtime_ns = UINT64_C(1795996740) * SECOND; /* 23:59:00 */
	assert_time("23:59:30", 30 * SECOND);
	assert_time("00:01", 120 * SECOND);
	profile = before;
}

static void test_errors(void **state)
{
	static const char *const bad[] = {
		"",  "soon", "10:",  "10:61",  "24:00", "10:31:02x", "1:02:03",	 "10:31:",
		"-", "-x",   "--1s", "10m1s:", "11m",	"10:30",     "09:00:00", "10:31:0",
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct error err = {""};
		uint64_t time_ns = 7;

		if (when_parse(&profile, bad[i], &time_ns, &err))
			fail_msg("\"%s\" is a time", bad[i]);
		assert_int_equal(time_ns, 7);
		assert_true(err.text[0] != '\0');
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_iso),	    cmocka_unit_test(test_durations),
		cmocka_unit_test(test_time_of_day), cmocka_unit_test(test_the_next_day),
		cmocka_unit_test(test_errors),
	};

	setenv("TZ", "UTC", 1);
	tzset();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
