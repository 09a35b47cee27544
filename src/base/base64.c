/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * base64.c - bytes as text (RFC 4648).
 */
#include "base/base64.h"

#include <stdint.h>
#include <stdlib.h>

/* Of the three bytes at from, size are there. */
static void put_group(const uint8_t *from, size_t size, char *to)
{
	static const char
		digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	uint32_t group = (uint32_t)from[0] << 16;

	if (size > 1)
		group |= (uint32_t)from[1] << 8;
	if (size > 2)
		group |= from[2];
	to[0] = digits[group >> 18];
	to[1] = digits[group >> 12 & 63];
	to[2] = size > 1 ? digits[group >> 6 & 63] : '=';
	to[3] = size > 2 ? digits[group & 63] : '=';
}

size_t base64_put(const void *bytes, size_t size, char *to)
{
	size_t at, length = 0;

	for (at = 0; at < size; at += 3, length += 4)
		put_group((const uint8_t *)bytes + at, size - at, to + length);
	return length;
}

char *base64_of(const void *bytes, size_t size)
{
	char *text = size < SIZE_MAX / 2 ? malloc((size + 2) / 3 * 4 + 1) : NULL;

	if (text)
		text[base64_put(bytes, size, text)] = '\0';
	return text;
}
