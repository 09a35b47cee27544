/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * links.c - see links.h.
 */
#include "serve/links.h"

#include <ctype.h>
#include <string.h>

#include "page/answer.h"

void links_put_id(FILE *file, const char *id)
{
	for (const char *at = id; *at; at++) {
		unsigned char c = (unsigned char)*at;

		if (c < 0x80 && (isalnum(c) || strchr("-._~", c)))
			fputc(c, file);
		else
			fprintf(file, "%%%02X", c);
	}
}

void links_put_page(FILE *file, const char *up, const struct subject *subject)
{
	fprintf(file, "%sp/", up);
	links_put_id(file, subject->id);
	fputc('/', file);
}

void links_put_compare(FILE *file, const char *up, const char *and, const char *before,
		       const char *after)
{
	fprintf(file, "%scompare/?before=", up);
	links_put_id(file, before);
	fprintf(file, "%safter=", and);
	links_put_id(file, after);
}

const char *links_state(const struct subject *subject)
{
	return subject->is_running ? "running" : subject->is_moment ? "kept" : "ended";
}

static void put_moments(const struct links_live *live, FILE *file)
{
	for (const struct subject *s = subjects_first(live->subjects); s; s = s->next) {
		if (!s->is_moment || strcmp(s->of, live->subject->id) != 0)
			continue;
		fputs("<a href=\"", file);
		links_put_compare(file, "../../", "&amp;", s->id, live->subject->id);
		fputs("\">since ", file);
		answer_escaped(file, s->label);
		fputs("</a>", file);
	}
}

/* The script fills in what the state is in words. */
static void write_live(const struct html_live *html, FILE *file)
{
	const struct links_live *live = (const struct links_live *)html;
	bool remembers = !live->compares && !live->subject->is_moment;

	fprintf(file,
		"<div id=\"live\" class=\"live\" data-state=\"%s\">"
		"<span id=\"live-said\" class=\"note\" role=\"status\"></span>"
		"<span id=\"live-state\" class=\"live-state\"></span>"
		"<button type=\"button\" id=\"live-pause\" hidden>Pause</button>",
		links_state(live->subject));
	if (remembers)
		fputs("<button type=\"button\" id=\"live-remember\">Remember this moment</button>",
		      file);
	fputs("<span id=\"live-moments\">", file);
	if (remembers)
		put_moments(live, file);
	fprintf(file, "</span><a href=\"%slist\">List</a></div>\n",
		live->compares ? "../" : "../../");
}

struct links_live links_live(struct subjects *subjects, const struct subject *subject, bool compares)
{
	return (struct links_live){{write_live}, subjects, subject, compares};
}
