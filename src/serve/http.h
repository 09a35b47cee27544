/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * http.h - talks to clients, in a thread of its own (libmicrohttpd): who may ask, for what, and how long that may take.
 */
#ifndef PMEM_SERVE_HTTP_H
#define PMEM_SERVE_HTTP_H
#include <stdbool.h>

#include "base/error.h"
#include "serve/address.h"
#include "serve/documents.h"

struct http;

struct http_options {
	const struct address *address;
	int fd; /* listens there; closed by http_stop() */
	const char *token;
	struct documents *documents;
};

/* The options' pointers must stay. */
bool http_start(const struct http_options *options, struct http **http, struct error *err);

/* Of struct documents_calls. */
void http_suspend(struct waiter *waiter);
void http_resume(struct waiter *waiter);

/* Ends connections that take too long to ask, or to take their answer.  To be called now and then. */
void http_tidy(struct http *http);

/* After documents_stop(). */
void http_stop(struct http *http);

#endif
