/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * formats.c - the table of formats.
 */
#include <string.h>

#include "export/export.h"

const struct export_format export_formats[] = {
	{"log", "the text log's format (doc/LOG.md), one snapshot", export_log},
	{NULL, NULL, NULL},
};

const struct export_format *export_find(const char *name)
{
	const struct export_format *format;

	for (format = export_formats; format->name; format++)
		if (strcmp(format->name, name) == 0)
			return format;
	return NULL;
}
