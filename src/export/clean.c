/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * clean.c - text from untrusted files, as other programs' formats can hold it.
 *
 * The copy is never longer than the text: whatever is replaced becomes one byte.
 */
#include "export/clean.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

/* Of C0, DEL and C1 (U+0080 to U+009F, two bytes). */
static bool is_control(const unsigned char *text)
{
	return text[0] < 0x20 || text[0] == 0x7f || (text[0] == 0xc2 && text[1] < 0xa0);
}

char *clean_text(const char *text, const char *reserved)
{
	char *copy = malloc(strlen(text) + 1), *to = copy;
	unsigned length;

	if (!copy)
		return NULL;
	while (*text) {
		length = utf8_length(text);
		if (length == 0 || is_control((const unsigned char *)text))
			*to++ = '?';
		else if (length == 1 && strchr(reserved, *text))
			*to++ = ':';
		else
			to = (char *)memcpy(to, text, length) + length;
		text += length ? length : 1;
	}
	*to = '\0';
	return copy;
}
