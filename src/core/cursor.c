/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cursor.c - the parts of the bounded cursor that are too long to inline.
 *
 * Part of libpmem and of the tool: calls nothing but memchr(), keeps no state.
 */
#include "core/cursor.h"

enum { LEB_BYTES_MAX = 10 };

/* Gathers the groups of seven bits.  Stores the number of bits read and the last byte; on failure
 * the last byte is 0. */
static uint64_t read_groups(struct cursor *c, unsigned *bits, uint8_t *last)
{
	uint64_t value = 0;

	*bits = 0;
	for (unsigned i = 0; i < LEB_BYTES_MAX; i++) {
		*last = cursor_u8(c);
		value |= (uint64_t)(*last & 0x7f) << *bits;
		*bits += 7;
		if (!(*last & 0x80))
			return c->failed ? 0 : value;
	}
	c->failed = true;
	*last = 0;
	return 0;
}

uint64_t cursor_uleb_long(struct cursor *c)
{
	unsigned bits;
	uint8_t last;

	return read_groups(c, &bits, &last);
}

int64_t cursor_sleb(struct cursor *c)
{
	unsigned bits;
	uint8_t last;
	uint64_t value = read_groups(c, &bits, &last);

	if ((last & 0x40) && bits < 64)
		value |= UINT64_MAX << bits;
	return (int64_t)value;
}

const char *cursor_string(struct cursor *c)
{
	const uint8_t *string = c->at;
	const uint8_t *zero = NULL;

	if (!c->failed && cursor_left(c) > 0)
		zero = memchr(string, 0, cursor_left(c));
	if (!zero) {
		c->failed = true;
		return NULL;
	}
	c->at = zero + 1;
	return (const char *)string;
}
