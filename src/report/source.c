/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * source.c - the source lines around an allocation site.
 *
 * The file may have been changed since the program was built: nothing tells.  So the line's number is always there to compare.
 */
#include "report/source.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "profile/given_names.h"
#include "report/name.h"
#include "report/page.h"

enum {
	AROUND = 2,
	LINES = 2 * AROUND + 1,
	FIGURE = 11,
	NUMBER = 8,
	INDENT = 2,
	PATH_WIDTH = 4096,
	TAB = 4
};

/* Numbers first to first + LINES - 1 of a file. */
struct excerpt {
	const char *file;
	uint32_t first;
	uint32_t wanted;    /* the site's */
	char *lines[LINES]; /* NULL: the file has fewer */
	uint64_t live[LINES];
	uint64_t alloc[LINES];
};

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

/* Without its end, and with tabs as blanks; to be freed.  NULL: no memory. */
static char *clean(const char *line)
{
	size_t length = strcspn(line, "\r\n");
	char *copy = malloc(TAB * length + 1);
	char *at = copy;

	for (size_t i = 0; copy && i < length; i++) {
		unsigned blanks = line[i] == '\t' ? TAB : 0;

		memset(at, ' ', blanks);
		at += blanks;
		if (!blanks)
			*at++ = line[i];
	}
	if (copy)
		*at = 0;
	return copy;
}

/* Lines that came with the profile.  False: none did. */
static bool read_given(const struct report *report, struct excerpt *excerpt)
{
	bool any = false;

	for (uint32_t i = 0; i < LINES; i++) {
		const char *line = given_names_line(report->profile, excerpt->file,
						    excerpt->first + i);

		if (line)
			excerpt->lines[i] = clean(line);
		any |= line != NULL;
	}
	return any;
}

/* False: see errno. */
static bool read_file(struct excerpt *excerpt)
{
	FILE *source = open_source(excerpt->file);
	char *line = NULL;
	size_t size = 0;

	if (!source)
		return false;
	for (uint32_t number = 1; number < excerpt->first + LINES; number++) {
		if (getline(&line, &size, source) < 0)
			break;
		if (number >= excerpt->first)
			excerpt->lines[number - excerpt->first] = clean(line);
	}
	free(line);
	fclose(source);
	return true;
}

/* What all sites in these lines hold. */
static void add_figures(const struct report *report, struct excerpt *excerpt)
{
	const struct sites *sites = report->sites;

	for (uint32_t i = 0; i < sites->count; i++) {
		const struct site *site = &sites->items[i];
		const struct symbol *symbol = places_get(report->places, site->place)->symbol;
		uint32_t at = symbol->line - excerpt->first;

		if (!symbol->file || at >= LINES || strcmp(symbol->file, excerpt->file) != 0)
			continue;
		excerpt->live[at] += site->counts.live_bytes;
		excerpt->alloc[at] += site->counts.alloc_bytes;
	}
}

/* Cuts the line's end off, not its middle as page_cut() would. */
static void cut_end(char *line, unsigned width)
{
	size_t length = strnlen(line, 4 * (size_t)width);

	line[length] = 0;
	while (length > 0 && output_columns(line) > width) {
		/* Bytes 10xxxxxx continue a character. */
		while (length > 1 && (line[length - 1] & 0xc0) == 0x80)
			length--;
		line[--length] = 0;
	}
}

static void print_figure(FILE *file, uint64_t bytes)
{
	char text[UNITS_SIZE];

	fprintf(file, "%*s", FIGURE, bytes ? units_bytes(bytes, text) : "");
}

static void print_lines(const struct report *report, struct excerpt *excerpt)
{
	const struct output *out = report->out;
	unsigned used = 2 * FIGURE + NUMBER + 1;
	unsigned width = out->width > used + 20 ? out->width - used : 20;

	fprintf(out->file, "%*s%*s\n", FIGURE, "live", FIGURE, "allocated");
	for (uint32_t i = 0; i < LINES && excerpt->lines[i]; i++) {
		uint32_t number = excerpt->first + i;

		print_figure(out->file, excerpt->live[i]);
		print_figure(out->file, excerpt->alloc[i]);
		fprintf(out->file, " %c%6" PRIu32 " ", number == excerpt->wanted ? '>' : ' ',
			number);
		cut_end(excerpt->lines[i], width);
		page_cut(out, excerpt->lines[i], width);
		fputc('\n', out->file);
	}
}

/* The path is given in full: it says what to look for. */
static void print_reason(const struct report *report, const char *path, const char *reason)
{
	FILE *file = report->out->file;

	fprintf(file, "%*sNo source lines: %s: ", INDENT, "", reason);
	page_cut(report->out, path, PATH_WIDTH);
	fputc('\n', file);
}

void source_print(const struct report *report, const struct site *site)
{
	const struct symbol *symbol = places_get(report->places, site->place)->symbol;
	struct excerpt excerpt = {.file = symbol->file, .wanted = symbol->line};

	if (!report->options->source)
		return;
	if (!symbol->file || !symbol->line) {
		fprintf(report->out->file,
			"%*sNo source lines: the line of this site is not known.\n", INDENT, "");
		return;
	}
	excerpt.first = symbol->line > AROUND ? symbol->line - AROUND : 1;
	if (!read_given(report, &excerpt) && !read_file(&excerpt)) {
		print_reason(report, symbol->file, strerror(errno));
	} else if (!excerpt.lines[excerpt.wanted - excerpt.first]) {
		print_reason(report, symbol->file, "the file has fewer lines");
	} else {
		add_figures(report, &excerpt);
		print_lines(report, &excerpt);
	}
	for (uint32_t i = 0; i < LINES; i++)
		free(excerpt.lines[i]);
}

void source_print_sites(const struct report *report, unsigned rows)
{
	const struct output *out = report->out;

	for (uint32_t i = 0; report->options->source && i < report->sites->count && i < rows; i++) {
		const struct site *site = &report->sites->items[i];
		struct name name = name_of_site(report, site);

		if (sites_value(&site->counts, report->key) <= 0)
			break;
		fprintf(out->file, "\n%*s", INDENT, "");
		name_line(report, &name, INDENT);
		fputc('\n', out->file);
		source_print(report, site);
	}
}
