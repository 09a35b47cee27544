/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * answer.c - the terminal's words as HTML.
 *
 * They are printed as for a terminal on which every paragraph is one line, and taken apart again: so there is one
 * author of sentences.
 */
#include "page/answer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "export/clean.h"
#include "report/diff_head.h"
#include "report/head.h"
#include "report/words.h"

enum { WIDE = 64 * 1024, INDENT = 2, LABEL = 10 };

void answer_escaped(FILE *file, const char *text)
{
	char *clean = clean_text(text, "");

	for (const char *at = clean; at && *at; at++) {
		switch (*at) {
		case '&':
			fputs("&amp;", file);
			break;
		case '<':
			fputs("&lt;", file);
			break;
		case '>':
			fputs("&gt;", file);
			break;
		case '"':
			fputs("&quot;", file);
			break;
		case '\'':
			fputs("&#39;", file);
			break;
		default:
			fputc(*at, file);
		}
	}
	free(clean);
}

/* Output that becomes text. */
struct capture {
	struct output out;
	char *text;
	size_t size;
};

static bool begin_capture(struct capture *capture)
{
	*capture = (struct capture){.out = {.width = WIDE}};
	capture->out.file = open_memstream(&capture->text, &capture->size);
	return capture->out.file != NULL;
}

/* The text, to be freed; NULL: no memory. */
static char *end_capture(struct capture *capture)
{
	if (fclose(capture->out.file) == 0)
		return capture->text;
	free(capture->text);
	return NULL;
}

/* What a part of the report prints, to be freed; NULL: no memory. */
static char *printed(const struct report *report, void (*print)(const struct report *report))
{
	struct report wide = *report;
	struct capture capture;

	if (!begin_capture(&capture))
		return NULL;
	wide.out = &capture.out;
	print(&wide);
	return end_capture(&capture);
}

static const char *skip_blanks(const char *text)
{
	return text + strspn(text, " ");
}

/* Each line that is not empty as a paragraph of a class. */
static void put_paragraphs(char *lines, const char *class, FILE *file)
{
	char *rest = lines, *line;

	while ((line = strsep(&rest, "\n"))) {
		line = (char *)(uintptr_t)skip_blanks(line);
		if (!*line)
			continue;
		fprintf(file, "<p class=\"%s\">", class);
		answer_escaped(file, line);
		fputs("</p>\n", file);
	}
}

void answer_title(const struct report *report, FILE *file)
{
	const struct profile *profile = report->profile;
	char date[UNITS_SIZE], duration[UNITS_SIZE];

	answer_escaped(file, profile->program_name[0] ? profile->program_name : "unknown program");
	fprintf(file, " (pid %" PRIu32 "), %s, %s%s", profile->header.pid,
		units_date(profile->header.start_realtime_ns, date),
		units_duration(profile->duration_ns, duration), profile->is_live ? " so far" : "");
}

/* The head's first line is the title. */
static void put_warnings(const struct report *report, FILE *file)
{
	char *text = printed(report, head_print);
	char *end = text ? strchr(text, '\n') : NULL;

	if (end)
		put_paragraphs(end, "warning", file);
	free(text);
}

void answer_write(const struct report *report, FILE *file)
{
	char *text = printed(report, words_print);

	put_warnings(report, file);
	if (text)
		put_paragraphs(text, "answer", file);
	free(text);
}

static char *printed_diff(const struct diff_page *diff, void (*print)(const struct diff_page *diff))
{
	struct diff_page wide = *diff;
	struct capture capture;

	if (!begin_capture(&capture))
		return NULL;
	wide.out = &capture.out;
	print(&wide);
	return end_capture(&capture);
}

/* "live  +1 B    calls +1 %" is read as "live +1 B, calls +1 %": in HTML blanks are one. */
static void join_columns(char *text)
{
	char *to = text;

	for (const char *at = text; *at; at++) {
		size_t blanks = strspn(at, " ");

		if (blanks > 2 && to != text && to[-1] != '\n')
			*to++ = ',';
		if (blanks)
			at += blanks - 1;
		*to++ = *at;
	}
	*to = '\0';
}

void answer_compared(const struct diff_page *diff, FILE *file)
{
	char *warnings = printed_diff(diff, diff_head_warnings);
	char *totals = printed_diff(diff, diff_head_totals);
	char *compared = printed_diff(diff, diff_head_compared);

	if (warnings)
		put_paragraphs(warnings, "warning", file);
	if (totals) {
		join_columns(totals);
		put_paragraphs(totals, "answer totals", file);
	}
	if (compared)
		put_paragraphs(compared, "compared", file);
	free(warnings);
	free(totals);
	free(compared);
}

/* One line of `pmem info`: no text but that of a label and what it says. */
static void put_fact(const char *line, FILE *file)
{
	char label[LABEL + 1];

	if (strlen(line) <= INDENT + LABEL + 1 || strncmp(line, "  ", INDENT) != 0)
		return;
	snprintf(label, sizeof(label), "%.*s", LABEL, line + INDENT);
	label[strcspn(label, " ")] = '\0';
	fputs("<dt>", file);
	answer_escaped(file, label);
	fputs("</dt><dd>", file);
	answer_escaped(file, line + INDENT + LABEL + 1);
	fputs("</dd>\n", file);
}

void answer_facts(const struct report *report, const char *lines, FILE *file)
{
	char *seen = printed(report, head_print_seen), *copy = strdup(lines), *rest = copy, *line;

	if (seen)
		put_paragraphs(seen, "seen", file);
	fputs("<dl>\n", file);
	while ((line = strsep(&rest, "\n")))
		put_fact(line, file);
	fputs("</dl>\n", file);
	free(seen);
	free(copy);
}
