/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * index.c - see index.h.
 *
 * Profiles are opened for what the list says of them, for half a second at most: in a large folder it fills up as it is asked for again.
 */
#include "serve/index.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"
#include "core/version.h"
#include "page/answer.h"
#include "page/template.h"
#include "serve/documents.h"
#include "serve/links.h"

#define BUDGET_NS UINT64_C(500000000)

enum group { RUNNING, MOMENTS, ENDED };

static enum group group_of(const struct subject *subject)
{
	return subject->is_moment ? MOMENTS : subject->is_running ? RUNNING : ENDED;
}

/* What a file says may be wrong: then nothing is known of it. */
static void look(struct subject *subject, uint64_t until_ns)
{
	bool is_fresh = subject->summary.is_known &&
			subject->summary.stamp == subject_stamp(subject);
	struct profile *profile;
	struct error err;

	if ((is_fresh && !subject->is_running) || documents_now() >= until_ns)
		return;
	if (subject_open(subject, &profile, &err))
		profile_close(profile);
}

static void look_at_all(struct subjects *subjects)
{
	uint64_t until_ns = documents_now() + BUDGET_NS;

	for (struct subject *s = subjects_first(subjects); s; s = s->next)
		look(s, until_ns);
}

static void put_choice(const struct subject *subject, const char *name, FILE *file)
{
	fprintf(file,
		"<td class=\"choice\"><input type=\"radio\" name=\"%s\" aria-label=\"%s\" "
		"value=\"",
		name, name);
	answer_escaped(file, subject->id);
	fputs("\"></td>", file);
}

static void put_number(FILE *file, bool is_known, const char *text)
{
	fputs("<td class=\"number\">", file);
	answer_escaped(file, is_known ? text : "");
	fputs("</td>", file);
}

static void put_figures(const struct subject *subject, FILE *file)
{
	const struct subject_summary *summary = &subject->summary;
	char text[UNITS_SIZE];
	bool known = summary->is_known;

	put_number(file, known, units_bytes(summary->live_bytes, text));
	put_number(file, known, units_bytes(summary->alloc_bytes, text));
	put_number(file, known, units_date(summary->start_realtime_ns, text));
	put_number(file, known, units_duration(summary->duration_ns, text));
}

static void put_row(const struct subject *subject, FILE *file)
{
	const char *program = subject->program && subject->program[0] ? subject->program : "?";

	fputs("<tr><td><a href=\"", file);
	links_put_page(file, "", subject);
	fputs("\">", file);
	answer_escaped(file, program);
	if (subject->pid)
		fprintf(file, " (pid %" PRIu32 ")", subject->pid);
	fputs("</a></td><td>", file);
	answer_escaped(file, subject->label ? subject->label : subject->id);
	fputs("</td>", file);
	put_figures(subject, file);
	put_choice(subject, "before", file);
	put_choice(subject, "after", file);
	fputs("<td>", file);
	if (subject->is_moment) {
		fputs("<button type=\"button\" data-forget=\"", file);
		links_put_page(file, "", subject);
		fputs("forget\">Forget</button>", file);
	}
	fputs("</td></tr>\n", file);
}

static void put_group(struct subjects *subjects, enum group group, const char *none, FILE *file)
{
	bool any = false;

	for (struct subject *s = subjects_first(subjects); s; s = s->next) {
		if (group_of(s) != group)
			continue;
		if (!any)
			fprintf(file,
				"<table>\n<tr><th>program</th><th>%s</th>"
				"<th class=\"number\">live</th><th class=\"number\">allocated</th>"
				"<th class=\"number\">started</th><th "
				"class=\"number\">recorded</th>"
				"<th class=\"choice\">before</th><th "
				"class=\"choice\">after</th>%s</tr>\n",
				group == MOMENTS ? "at" : "profile",
				group == MOMENTS ? "<td></td>" : "");
		put_row(s, file);
		any = true;
	}
	fputs(any ? "</table>\n" : none, file);
}

static void put_host(FILE *file)
{
	char host[256] = "";

	gethostname(host, sizeof(host) - 1);
	answer_escaped(file, host);
}

static void put_slot(struct subjects *subjects, const char *slot, FILE *file)
{
	if (strcmp(slot, "running") == 0)
		put_group(subjects, RUNNING, "<p>None runs now.</p>\n", file);
	else if (strcmp(slot, "moments") == 0)
		put_group(
			subjects, MOMENTS,
			"<p>None. The page of a process remembers one, to compare it later.</p>\n",
			file);
	else if (strcmp(slot, "ended") == 0)
		put_group(subjects, ENDED, "<p>None.</p>\n", file);
	else if (strcmp(slot, "version") == 0)
		fputs(PMEM_VERSION, file);
	else if (strcmp(slot, "host") == 0)
		put_host(file);
}

void index_write(struct subjects *subjects, FILE *file)
{
	look_at_all(subjects);
	for (size_t i = 0; i < template_index.count; i++) {
		const struct template_piece *piece = &template_index.pieces[i];

		fwrite(piece->text, 1, piece->size, file);
		put_slot(subjects, piece->slot, file);
	}
}
