/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * csv_field.c - see csv_field.h.
 */
#include "report/csv_field.h"

#include "base/output.h"
#include "base/utf8.h"

void csv_field(FILE *file, const char *text)
{
	unsigned length;

	fputc('"', file);
	for (; text && *text; text += length ? length : 1) {
		length = utf8_length(text);
		if (*text == '"')
			fputc('"', file);
		if (!length || output_is_control(text))
			fputc('?', file);
		else
			fwrite(text, 1, length, file);
	}
	fputc('"', file);
}
