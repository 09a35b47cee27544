/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * serve.h - profiles in a browser, live: pages, metrics and pprof's profiles by HTTP, for who knows the token.
 *
 * Two threads: one talks to clients (http.h), the one that calls serve_run() makes what they ask for (render.h); documents.h is
 * between them.
 */
#ifndef PMEM_SERVE_SERVE_H
#define PMEM_SERVE_SERVE_H
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "page/opened.h"

enum { SERVE_SITES = 10, SERVE_SITES_MAX = 100 };

struct serve_options {
	const char *name;	/* a file, a process, or a folder; NULL = the current one */
	const char *listen;	/* an IP address; NULL = 127.0.0.1 */
	uint16_t port;		/* 0 = any that is free */
	const char *token_file; /* NULL = a new token */
	unsigned sites;		/* of a process in the metrics, up to SERVE_SITES_MAX */
	struct opened_how how;
};

struct serve;

/* Listens from then on.  The options' texts must stay. */
bool serve_open(const struct serve_options *options, struct serve **serve, struct error *err);
void serve_close(struct serve *serve);

/* "http://127.0.0.1:4711/TOKEN/". */
const char *serve_address(const struct serve *serve);

/* True if other machines may reach it. */
bool serve_is_open(const struct serve *serve);

/* Until serve_stop(). */
void serve_run(struct serve *serve);

/* From a signal handler too. */
void serve_stop(struct serve *serve);

#endif
