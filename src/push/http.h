/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * http.h - one request after the other to one server, by libcurl, without waiting in it.
 *
 * Certificates are checked.  Redirects are not followed: the password would go where they lead.
 */
#ifndef PMEM_PUSH_HTTP_H
#define PMEM_PUSH_HTTP_H
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "push/spool.h"
#include "push/target.h"

enum { HTTP_HEADERS_MAX = 16 };

/* All 0 or NULL = none, but for the timeout. */
struct http_options {
	const char *cacert; /* PEM files */
	const char *cert;
	const char *key;
	const char *key_password;
	bool insecure;	     /* certificates are not checked, and secrets may go unencrypted */
	uint64_t timeout_ms; /* of one request */
	const char *user;
	const char *password; /* goes with user; or in the first line of a file: */
	const char *password_file;
	const char *token;
	const char *token_file;		       /* read for each request: tokens are renewed */
	const char *headers[HTTP_HEADERS_MAX]; /* "Name: value", or @FILE with such lines */
	unsigned header_count;
	const char *tenant; /* X-Scope-OrgID */
};

enum http_outcome {
	HTTP_DELIVERED,
	HTTP_LATER,	  /* no answer, or one that says to try again */
	HTTP_BAD_PROFILE, /* the server will never take this one */
	HTTP_BAD_REQUEST, /* it would not take any: wrong password, certificate or address */
};

struct http_answer {
	enum http_outcome outcome;
	long status;		 /* 0 = there was no answer */
	uint64_t retry_after_ms; /* the server's wish; 0 = none */
	struct error text;	 /* why it was not delivered; without secrets */
};

struct http;

/* False: options that do not go together, are malformed, or would show a secret to others. */
bool http_check(const struct http_options *options, const struct target *target, struct error *err);

/* After http_check().  NULL: a file that cannot be read, or no memory.  The options must outlive it. */
struct http *http_open(const struct target *target, const struct http_options *options,
		       struct error *err);
void http_close(struct http *http);

/* What is sent: size bytes of body, from where it stands; it stays open until the answer is there. */
struct http_request {
	const struct spool_head *head;
	FILE *body;
	uint64_t size;
};

/* Begins to send it.  False: it could not begin. */
bool http_begin(struct http *http, const struct http_request *request, struct error *err);
bool http_is_busy(const struct http *http);

/* Works for up to wait_ms, or until something happens: also that stop becomes readable.  True: answer has come. */
bool http_work(struct http *http, int stop, uint64_t wait_ms, struct http_answer *answer);

#endif
