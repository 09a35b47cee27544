/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * text.c - builds text in memory of the caller's.
 *
 * Pure functions, usable anywhere, also in signal handlers.
 */
#include "libpmem/text.h"

#include <string.h>

enum { DIGITS_MAX = 20 }; /* of UINT64_MAX in decimal */

static void fill(struct text *text, char c, size_t count)
{
	while (count-- > 0)
		text_char(text, c);
}

/* Decimal with zeros in front, for dates. */
static void zero_uint(struct text *text, uint64_t value, unsigned width)
{
	char digits[DIGITS_MAX];
	unsigned i;

	for (i = width; i > 0; i--) {
		digits[i - 1] = (char)('0' + value % 10);
		value /= 10;
	}
	text_bytes(text, digits, width);
}

/* Year, month and day of the days'th day after 1970-01-01, in the proleptic Gregorian calendar.
 * Counts in eras of 400 years that begin on 1 March, so that the leap day is a year's last. */
static void text_date(struct text *text, uint64_t days)
{
	uint64_t day = days + 719468; /* since 0000-03-01 */
	uint64_t era = day / 146097;
	uint64_t day_of_era = day % 146097;
	uint64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 -
				day_of_era / 146096) /
			       365;
	uint64_t day_of_year = day_of_era -
			       (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
	uint64_t month_from_march = (5 * day_of_year + 2) / 153;
	uint64_t month = month_from_march < 10 ? month_from_march + 3 : month_from_march - 9;

	zero_uint(text, era * 400 + year_of_era + (month <= 2), 4);
	text_char(text, '-');
	zero_uint(text, month, 2);
	text_char(text, '-');
	zero_uint(text, day_of_year - (153 * month_from_march + 2) / 5 + 1, 2);
}

void text_char(struct text *text, char c)
{
	if (text->size < text->room)
		text->bytes[text->size++] = c;
	else
		text->truncated = true;
}

void text_bytes(struct text *text, const char *bytes, size_t size)
{
	if (size > text->room - text->size) {
		size = text->room - text->size;
		text->truncated = true;
	}
	if (size > 0)
		memcpy(text->bytes + text->size, bytes, size);
	text->size += size;
}

void text_string(struct text *text, const char *string)
{
	text_bytes(text, string, strlen(string));
}

/* Whether any of eight bytes is a control character, ASCII 0 to 31 and 127.  May say so of others as well. */
static bool may_control(uint64_t bytes)
{
	const uint64_t ones = 0x0101010101010101u, tops = 0x8080808080808080u;
	uint64_t rubout = bytes ^ (ones * 0x7f);

	return (((bytes - ones * 0x20) & ~bytes) | ((rubout - ones) & ~rubout)) & tops;
}

static void hide_controls(char *bytes, size_t size)
{
	for (; size > 0; size--, bytes++)
		if ((unsigned char)*bytes < 0x20 || *bytes == 0x7f)
			*bytes = '?';
}

/* Names make up most of a log: eight bytes at a time. */
void text_safe(struct text *text, const char *string)
{
	char *bytes = text->bytes + text->size;
	size_t size;
	uint64_t eight;

	text_string(text, string);
	for (size = (size_t)(text->bytes + text->size - bytes); size >= sizeof(eight);
	     size -= sizeof(eight), bytes += sizeof(eight)) {
		memcpy(&eight, bytes, sizeof(eight));
		if (may_control(eight))
			hide_controls(bytes, sizeof(eight));
	}
	hide_controls(bytes, size);
}

void text_uint(struct text *text, uint64_t value, unsigned width)
{
	char digits[DIGITS_MAX];
	unsigned at = DIGITS_MAX;

	do {
		digits[--at] = (char)('0' + value % 10);
		value /= 10;
	} while (value > 0);
	if (width > DIGITS_MAX - at)
		fill(text, ' ', width - (DIGITS_MAX - at));
	text_bytes(text, digits + at, DIGITS_MAX - at);
}

void text_hex(struct text *text, uint64_t value, unsigned width)
{
	char digits[16];
	unsigned at = sizeof(digits);

	do {
		digits[--at] = "0123456789abcdef"[value & 15];
		value >>= 4;
	} while (value > 0);
	if (width > sizeof(digits) - at)
		fill(text, '0', width - (sizeof(digits) - at));
	text_bytes(text, digits + at, sizeof(digits) - at);
}

void text_time(struct text *text, uint64_t realtime_ns)
{
	uint64_t ms = realtime_ns / 1000000;
	uint64_t seconds = ms / 1000;

	text_date(text, seconds / 86400);
	text_char(text, 'T');
	zero_uint(text, seconds / 3600 % 24, 2);
	text_char(text, ':');
	zero_uint(text, seconds / 60 % 60, 2);
	text_char(text, ':');
	zero_uint(text, seconds % 60, 2);
	text_char(text, '.');
	zero_uint(text, ms % 1000, 3);
	text_char(text, 'Z');
}
