/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * utf8.c - the table of well-formed byte sequences (Unicode, table 3-7).
 *
 * Only the range of the second byte depends on the first; the NUL at a text's end is in no range, so that
 * nothing is read past it.
 */
#include "base/utf8.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct row {
	uint8_t first;	/* from here on, up to the next row */
	uint8_t length; /* 0 = never first */
	uint8_t second_min;
	uint8_t second_max;
};

static const struct row rows[] = {
	{0x00, 1, 0, 0},       {0x80, 0, 0, 0},	      {0xc2, 2, 0x80, 0xbf}, {0xe0, 3, 0xa0, 0xbf},
	{0xe1, 3, 0x80, 0xbf}, {0xed, 3, 0x80, 0x9f}, {0xee, 3, 0x80, 0xbf}, {0xf0, 4, 0x90, 0xbf},
	{0xf1, 4, 0x80, 0xbf}, {0xf4, 4, 0x80, 0x8f}, {0xf5, 0, 0, 0},
};

static bool is_between(uint8_t byte, uint8_t min, uint8_t max)
{
	return byte >= min && byte <= max;
}

unsigned utf8_length(const char *text)
{
	const uint8_t *bytes = (const uint8_t *)text;
	const struct row *row = &rows[sizeof(rows) / sizeof(*rows) - 1];
	unsigned i;

	while (bytes[0] < row->first)
		row--;
	if (row->length < 2)
		return row->length;
	if (!is_between(bytes[1], row->second_min, row->second_max))
		return 0;
	for (i = 2; i < row->length; i++)
		if (!is_between(bytes[i], 0x80, 0xbf))
			return 0;
	return row->length;
}

void utf8_cut(char *text, size_t most)
{
	if (strlen(text) <= most)
		return;
	while (most > 0 && is_between((uint8_t)text[most], 0x80, 0xbf))
		most--;
	text[most] = '\0';
}
