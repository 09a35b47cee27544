/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * links.h - addresses of what is served, for attributes of HTML and for JSON, and the element #live of a page.
 */
#ifndef PMEM_SERVE_LINKS_H
#define PMEM_SERVE_LINKS_H
#include <stdio.h>

#include "page/html.h"
#include "serve/subjects.h"

/* An id, percent-encoded (RFC 3986): safe in attributes and strings. */
void links_put_id(FILE *file, const char *id);

/* "p/ID/", behind up, which leads to the list's folder: "../../". */
void links_put_page(FILE *file, const char *up, const struct subject *subject);

/* "compare/?before=ID&after=ID"; and: how the ampersand is written, "&amp;" in HTML. */
void links_put_compare(FILE *file, const char *up, const char *and, const char *before,
		       const char *after);

/* What is written into #live.  The moments are those of the subjects. */
struct links_live {
	struct html_live live; /* first */
	struct subjects *subjects;
	const struct subject *subject; /* of a comparison the later one */
	bool compares;
};

/* A struct html_live for html_write(). */
struct links_live links_live(struct subjects *subjects, const struct subject *subject,
			     bool compares);

/* "running", "ended" or "kept". */
const char *links_state(const struct subject *subject);

#endif
