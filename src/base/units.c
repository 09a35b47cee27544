/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * units.c - in integers: no figure depends on how a double rounds, and 1,023.96 KiB is 1.0 MiB.
 */
#include "base/units.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define NS_PER_US UINT64_C(1000)
#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S UINT64_C(1000000000)

/* value / unit * scale, rounded.  unit <= 2^60, and the result must fit. */
static uint64_t scaled(uint64_t value, uint64_t unit, uint64_t scale)
{
	unsigned __int128 product = (unsigned __int128)(value % unit) * scale + unit / 2;

	return value / unit * scale + (uint64_t)(product / unit);
}

const char *units_bytes(uint64_t bytes, char text[UNITS_SIZE])
{
	static const char prefixes[] = "KMGTPE";
	unsigned i = 0;
	uint64_t tenths;

	if (bytes < 1024) {
		snprintf(text, UNITS_SIZE, "%u B", (unsigned)bytes);
		return text;
	}
	while ((tenths = scaled(bytes, UINT64_C(1024) << (10 * i), 10)) >= 10240 && prefixes[i + 1])
		i++;
	snprintf(text, UNITS_SIZE, "%u.%u %ciB", (unsigned)(tenths / 10), (unsigned)(tenths % 10),
		 prefixes[i]);
	return text;
}

const char *units_bytes_change(int64_t bytes, char text[UNITS_SIZE])
{
	char size[UNITS_SIZE];

	if (!bytes)
		return strcpy(text, "0");
	units_bytes(bytes < 0 ? -(uint64_t)bytes : (uint64_t)bytes, size);
	snprintf(text, UNITS_SIZE, "%c%.30s", bytes < 0 ? '-' : '+', size);
	return text;
}

/* Three significant digits, or false: more than 999 units. */
static bool put_three_digits(uint64_t count, uint64_t unit, char text[UNITS_SIZE])
{
	unsigned hundredths = (unsigned)scaled(count, unit, 100);
	unsigned tenths = (unsigned)scaled(count, unit, 10);
	uint64_t ones = scaled(count, unit, 1);

	if (ones >= 1000)
		return false;
	if (hundredths < 1000)
		snprintf(text, UNITS_SIZE, "%u.%02u", hundredths / 100, hundredths % 100);
	else if (tenths < 1000)
		snprintf(text, UNITS_SIZE, "%u.%u", tenths / 10, tenths % 10);
	else
		snprintf(text, UNITS_SIZE, "%u", (unsigned)ones);
	return true;
}

const char *units_count(uint64_t count, char text[UNITS_SIZE])
{
	static const char prefixes[] = "MGTPE";
	uint64_t unit = 1000000;
	size_t length;
	unsigned i = 0;

	if (count < 1000) {
		snprintf(text, UNITS_SIZE, "%u", (unsigned)count);
		return text;
	}
	if (count < unit) {
		snprintf(text, UNITS_SIZE, "%u,%03u", (unsigned)(count / 1000),
			 (unsigned)(count % 1000));
		return text;
	}
	while (!put_three_digits(count, unit, text)) {
		unit *= 1000;
		i++;
	}
	length = strlen(text);
	snprintf(text + length, UNITS_SIZE - length, " %c", prefixes[i]);
	return text;
}

const char *units_share(uint64_t part, uint64_t whole, char text[UNITS_SIZE])
{
	unsigned __int128 hundred = (unsigned __int128)part * 100;

	if (!whole)
		return strcpy(text, "-");
	if (part && hundred < whole)
		return strcpy(text, "<1 %");
	if (part < whole && hundred > (unsigned __int128)whole * 99)
		return strcpy(text, ">99 %");
	hundred = (hundred + whole / 2) / whole;
	if (hundred > UINT64_MAX)
		hundred = UINT64_MAX;
	snprintf(text, UNITS_SIZE, "%llu %%", (unsigned long long)hundred);
	return text;
}

/* Less than a minute: one decimal below 10.  False: it rounds to limit units or more. */
static bool put_short_duration(uint64_t duration_ns, uint64_t unit_ns, unsigned limit,
			       char text[UNITS_SIZE])
{
	static const char *const names[] = {"us", "ms", "s"};
	const char *name = names[unit_ns == NS_PER_US ? 0 : unit_ns == NS_PER_MS ? 1 : 2];
	uint64_t tenths = scaled(duration_ns, unit_ns, 10), ones = scaled(duration_ns, unit_ns, 1);

	if (ones >= limit)
		return false;
	if (tenths >= 100 || tenths % 10 == 0)
		snprintf(text, UNITS_SIZE, "%u %s", (unsigned)ones, name);
	else
		snprintf(text, UNITS_SIZE, "%u.%u %s", (unsigned)(tenths / 10),
			 (unsigned)(tenths % 10), name);
	return true;
}

/* Two units next to each other, the second left out if it is 0. */
static void put_pair(uint64_t smaller, uint64_t ratio, const char *const names[2],
		     char text[UNITS_SIZE])
{
	int length = snprintf(text, UNITS_SIZE, "%llu %s", (unsigned long long)(smaller / ratio),
			      names[0]);

	if (smaller % ratio)
		snprintf(text + length, (size_t)(UNITS_SIZE - length), " %llu %s",
			 (unsigned long long)(smaller % ratio), names[1]);
}

const char *units_duration(uint64_t duration_ns, char text[UNITS_SIZE])
{
	uint64_t seconds = scaled(duration_ns, NS_PER_S, 1);
	uint64_t minutes = scaled(duration_ns, NS_PER_S * 60, 1);

	if (!duration_ns)
		return strcpy(text, "0 s");
	if (duration_ns < NS_PER_US)
		snprintf(text, UNITS_SIZE, "%u ns", (unsigned)duration_ns);
	else if (put_short_duration(duration_ns, NS_PER_US, 1000, text) ||
		 put_short_duration(duration_ns, NS_PER_MS, 1000, text) ||
		 put_short_duration(duration_ns, NS_PER_S, 60, text))
		return text;
	else if (seconds < 3600)
		put_pair(seconds, 60, (const char *const[]){"min", "s"}, text);
	else if (minutes < 24 * 60)
		put_pair(minutes, 60, (const char *const[]){"h", "min"}, text);
	else
		put_pair(scaled(duration_ns, NS_PER_S * 3600, 1), 24,
			 (const char *const[]){"d", "h"}, text);
	return text;
}

static bool local_time(uint64_t realtime_ns, struct tm *tm)
{
	time_t seconds = (time_t)(realtime_ns / NS_PER_S);

	return localtime_r(&seconds, tm) != NULL;
}

const char *units_time(uint64_t realtime_ns, char text[UNITS_SIZE])
{
	struct tm tm;

	if (!local_time(realtime_ns, &tm))
		return strcpy(text, "-");
	snprintf(text, UNITS_SIZE, "%02d:%02d:%02d", tm.tm_hour, tm.tm_min, tm.tm_sec);
	return text;
}

const char *units_date(uint64_t realtime_ns, char text[UNITS_SIZE])
{
	static const char months[12][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
					   "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
	struct tm tm;

	if (!local_time(realtime_ns, &tm))
		return strcpy(text, "-");
	snprintf(text, UNITS_SIZE, "%d %s %02d:%02d:%02d", tm.tm_mday, months[tm.tm_mon % 12],
		 tm.tm_hour, tm.tm_min, tm.tm_sec);
	return text;
}

enum { FRACTION_DIGITS = 15 };

/* A decimal number: whole + fraction / 10^FRACTION_DIGITS; further digits are cut off. */
struct decimal {
	uint64_t whole;
	uint64_t fraction;
};

/* Moves *text past the number.  False: there is none, or it is too large. */
static bool parse_decimal(const char **text, struct decimal *number)
{
	const char *at = *text;
	uint64_t weight = UINT64_C(1000000000000000);

	*number = (struct decimal){0, 0};
	if (!isdigit((unsigned char)*at))
		return false;
	for (; isdigit((unsigned char)*at); at++)
		if (__builtin_mul_overflow(number->whole, 10, &number->whole) ||
		    __builtin_add_overflow(number->whole, (uint64_t)(*at - '0'), &number->whole))
			return false;
	if (*at == '.' && !isdigit((unsigned char)*++at))
		return false;
	for (; isdigit((unsigned char)*at); at++) {
		weight /= 10;
		number->fraction += (uint64_t)(*at - '0') * weight;
	}
	*text = at;
	return true;
}

/* number * unit, cut to an integer.  False: more than max. */
static bool multiply(const struct decimal *number, uint64_t unit, uint64_t max, uint64_t *product)
{
	unsigned __int128 value = (unsigned __int128)number->fraction * unit /
				  UINT64_C(1000000000000000);

	value += (unsigned __int128)number->whole * unit;
	if (value > max)
		return false;
	*product = (uint64_t)value;
	return true;
}

static const char *skip_blanks(const char *text)
{
	return text + strspn(text, " ");
}

/* "", "b", "k", "KB", "KiB" and so on; 0: none of them. */
static uint64_t bytes_unit(const char *name)
{
	static const char prefixes[] = "kmgtpe";
	const char *prefix = *name ? strchr(prefixes, tolower((unsigned char)*name)) : NULL;
	uint64_t unit = 1;

	if (prefix) {
		unit <<= 10 * (prefix - prefixes + 1);
		name++;
		if (strcasecmp(name, "ib") == 0)
			return unit;
	}
	return !*name || strcasecmp(name, "b") == 0 ? unit : 0;
}

bool units_parse_bytes(const char *text, uint64_t *bytes)
{
	struct decimal number;
	uint64_t unit;

	text = skip_blanks(text);
	if (!parse_decimal(&text, &number))
		return false;
	unit = bytes_unit(skip_blanks(text));
	if (!unit || (unit == 1 && number.fraction))
		return false;
	return multiply(&number, unit, UINT64_C(1) << 63, bytes);
}

/* The unit that text begins with; moves *text past it.  0: none. */
static uint64_t parse_duration_unit(const char **text)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {{"ns", 1},
		     {"us", NS_PER_US},
		     {"ms", NS_PER_MS},
		     {"s", NS_PER_S},
		     {"m", NS_PER_S * 60},
		     {"min", NS_PER_S * 60},
		     {"h", NS_PER_S * 3600},
		     {"d", NS_PER_S * 86400}};
	size_t length = strspn(*text, "abcdefghijklmnopqrstuvwxyz"), i;

	for (i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if (strlen(units[i].name) == length && strncmp(units[i].name, *text, length) == 0) {
			*text += length;
			return units[i].ns;
		}
	}
	return 0;
}

bool units_parse_duration(const char *text, uint64_t *duration_ns)
{
	uint64_t sum = 0, part, unit, unit_before = UINT64_MAX;
	struct decimal number;

	do {
		text = skip_blanks(text);
		if (!parse_decimal(&text, &number))
			return false;
		text = skip_blanks(text);
		unit = *text ? parse_duration_unit(&text) : NS_PER_S;
		if (!unit || unit >= unit_before ||
		    (unit_before != UINT64_MAX && !isalpha((unsigned char)text[-1])))
			return false;
		if (!multiply(&number, unit, UINT64_MAX, &part) ||
		    __builtin_add_overflow(sum, part, &sum))
			return false;
		unit_before = unit;
		text = skip_blanks(text);
	} while (*text);
	*duration_ns = sum;
	return true;
}
