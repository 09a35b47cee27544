/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * source.c - the source lines around an allocation site.
 */
#include "report/source.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "report/name.h"
#include "report/page.h"

enum { AROUND = 2, INDENT = 4, NUMBER = 8 };

/* A regular file only: a profile may name any. */
static FILE *open_source(const char *path)
{
	struct stat status;

	if (stat(path, &status) != 0)
		return NULL;
	if (!S_ISREG(status.st_mode)) {
		errno = EINVAL;
		return NULL;
	}
	return fopen(path, "re");
}

static void print_lines(const struct report *report, FILE *source, uint32_t wanted)
{
	const struct output *out = report->out;
	char *line = NULL;
	size_t size = 0;
	uint32_t number;

	for (number = 1; number <= (uint64_t)wanted + AROUND; number++) {
		ssize_t length = getline(&line, &size, source);

		if (length < 0)
			break;
		if (number + AROUND < wanted)
			continue;
		line[strcspn(line, "\r\n")] = '\0';
		for (char *at = line; (at = strchr(at, '\t'));)
			*at = ' ';
		fprintf(out->file, "%*s%c%6" PRIu32 " ", INDENT - 1, "",
			number == wanted ? '>' : ' ', number);
		page_cut(out, line, out->width > 52 ? out->width - INDENT - NUMBER : 40);
		fputc('\n', out->file);
	}
	free(line);
}

void source_print(const struct report *report, const struct site *site)
{
	const struct symbol *symbol = places_get(report->places, site->place)->symbol;
	FILE *file = report->out->file, *source;

	if (!report->options->source)
		return;
	if (!symbol->file || !symbol->line) {
		fprintf(file, "%*sNo source lines: the line of this site is not known.\n", INDENT,
			"");
		return;
	}
	source = open_source(symbol->file);
	if (!source) {
		fprintf(file, "%*sNo source lines: ", INDENT, "");
		page_cut(report->out, symbol->file, 40);
		fprintf(file, ": %s.\n", strerror(errno));
		return;
	}
	print_lines(report, source, symbol->line);
	fclose(source);
}
