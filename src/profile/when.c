/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * when.c - moments of a profile: as text, and as a person gives them.
 */
#include "profile/when.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/units.h"

#define SECOND_NS UINT64_C(1000000000)

uint64_t when_realtime(const struct profile *profile, uint64_t time_ns)
{
	return profile->header.start_realtime_ns + time_ns;
}

const char *when_iso(uint64_t realtime_ns, char text[WHEN_SIZE])
{
	time_t seconds = (time_t)(realtime_ns / SECOND_NS);
	unsigned ms = (unsigned)(realtime_ns / 1000000 % 1000);
	struct tm tm;
	size_t size;

	if (!gmtime_r(&seconds, &tm))
		memset(&tm, 0, sizeof(tm));
	size = strftime(text, WHEN_SIZE - 5, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text + size, WHEN_SIZE - size, ".%03uZ", ms);
	return text;
}

static bool two_digits(const char **at, int limit, int *value)
{
	const char *text = *at;

	if (text[0] < '0' || text[0] > '9' || text[1] < '0' || text[1] > '9')
		return false;
	*value = (text[0] - '0') * 10 + text[1] - '0';
	*at = text + 2;
	return *value < limit;
}

/* "HH:MM" or "HH:MM:SS". */
static bool parse_clock(const char *text, struct tm *tm)
{
	int hour, minute, second = 0;

	if (!two_digits(&text, 24, &hour) || *text++ != ':' || !two_digits(&text, 60, &minute))
		return false;
	if (*text == ':') {
		text++;
		if (!two_digits(&text, 60, &second))
			return false;
	}
	tm->tm_hour = hour;
	tm->tm_min = minute;
	tm->tm_sec = second;
	tm->tm_isdst = -1;
	return *text == '\0';
}

/* The first such time of day that is not before the second in which recording began. */
static bool find_clock(const struct profile *profile, const char *text, uint64_t *time_ns)
{
	uint64_t start = profile->header.start_realtime_ns;
	time_t begin = (time_t)(start / SECOND_NS), found;
	struct tm tm;

	if (!localtime_r(&begin, &tm) || !parse_clock(text, &tm))
		return false;
	found = mktime(&tm);
	if (found < begin) {
		tm.tm_mday++;
		tm.tm_isdst = -1;
		found = mktime(&tm);
	}
	if (found < begin)
		return false;
	*time_ns = (uint64_t)found * SECOND_NS > start ? (uint64_t)found * SECOND_NS - start : 0;
	return true;
}

bool when_is_time(const char *text)
{
	struct tm ignored;
	uint64_t length;

	if (text[0] != '-' && strchr(text, ':'))
		return parse_clock(text, &ignored);
	return units_parse_duration(text + (text[0] == '-'), &length);
}

bool when_parse(const struct profile *profile, const char *text, uint64_t *time_ns,
		struct error *err)
{
	char length[UNITS_SIZE];
	uint64_t found;

	if (text[0] == '-') {
		if (!units_parse_duration(text + 1, &found))
			return error_set(err, "%s: no duration such as -10m", text);
		*time_ns = found < profile->duration_ns ? profile->duration_ns - found : 0;
		return true;
	}
	if (strchr(text, ':') ? !find_clock(profile, text, &found)
			      : !units_parse_duration(text, &found))
		return error_set(err, "%s: no time such as 90s, 10m, -10m or 10:42:13", text);
	if (found > profile->duration_ns)
		return error_set(err, "%s: the profile ends %s after its start", text,
				 units_duration(profile->duration_ns, length));
	*time_ns = found;
	return true;
}
