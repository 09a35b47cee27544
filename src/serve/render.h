/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * render.h - makes what is asked for.  One thread does it: names and profiles are not shared.
 */
#ifndef PMEM_SERVE_RENDER_H
#define PMEM_SERVE_RENDER_H
#include "page/opened.h"
#include "serve/documents.h"
#include "serve/known.h"
#include "serve/subjects.h"

struct render {
	struct subjects *subjects;
	struct opened_how how; /* its keeper is of known */
	struct known *known;
	unsigned sites; /* of a process in the metrics */
};

/* Makes a document that documents_next() gave, and publishes or postpones it. */
void render_make(const struct render *render, struct documents *documents,
		 struct document *document);

#endif
