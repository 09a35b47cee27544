/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rendered.h - an answer to a request: made by one thread, sent by another, shared by all who asked for the same.
 */
#ifndef PMEM_SERVE_RENDERED_H
#define PMEM_SERVE_RENDERED_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { RENDERED_TAG_SIZE = 24 };

enum rendered_form {
	RENDERED_TEXT,
	RENDERED_HTML,
	RENDERED_FRAGMENT,
	RENDERED_JSON,
	RENDERED_METRICS,
	RENDERED_GZIP
};

/* Immutable but for users. */
struct rendered {
	_Atomic uint32_t users;
	unsigned status; /* of HTTP */
	enum rendered_form form;
	char *bytes;
	size_t size;
	char *location; /* of a redirection, relative; NULL = none */
	char *profile; /* whose profile it is, for a header: as it may stand there; NULL = of none */
	char tag[RENDERED_TAG_SIZE]; /* of what it says; "" = none */
	/* It says the same for ever, or until what it was made of changes: see stamp. */
	bool is_final;
	uint64_t stamp;
};

/* Takes bytes over, which are freed also if there is no memory (NULL). */
struct rendered *rendered_new(unsigned status, enum rendered_form form, char *bytes, size_t size);

/* One line of text. */
struct rendered *rendered_text(unsigned status, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* One more user, who gives it back by rendered_release(). */
struct rendered *rendered_share(struct rendered *rendered);
void rendered_release(struct rendered *rendered);

/* RFC 9110's entity tag of the bytes; sets tag. */
void rendered_set_tag(struct rendered *rendered);

#endif
