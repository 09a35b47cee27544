/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * serve.c - see serve.h.
 */
#include "serve/serve.h"

#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "serve/address.h"
#include "serve/http.h"
#include "serve/render.h"
#include "serve/token.h"

enum { TIDY_S = 1 };

#define SECOND_NS UINT64_C(1000000000)

struct serve {
	struct address address;
	char token[TOKEN_SIZE];
	char text[sizeof("http://:65535//") + TOKEN_SIZE + INET6_ADDRSTRLEN];
	struct render render;
	struct documents *documents;
	struct http *http;
	sem_t wake; /* there is something to make, or it ends */
	atomic_bool stopped;
	uint64_t tidy_ns; /* when that is due */
};

static void wake(void *argument)
{
	sem_post(argument);
}

static void release(void *profile)
{
	profile_close(profile);
}

static bool start_http(struct serve *serve, struct error *err)
{
	struct http_options options = {
		.address = &serve->address, .token = serve->token, .documents = serve->documents};

	if (!address_listen(&serve->address, &options.fd, err))
		return false;
	snprintf(serve->text, sizeof(serve->text), "http://%s:%u/%s/", serve->address.host,
		 serve->address.port, serve->token);
	if (http_start(&options, &serve->http, err))
		return true;
	close(options.fd);
	return false;
}

static bool open_all(struct serve *serve, const struct serve_options *options, struct error *err)
{
	struct documents_calls calls = {http_suspend, http_resume, wake, &serve->wake, release};
	const char *listen = options->listen ? options->listen : "127.0.0.1";

	if (!address_parse(listen, options->port, &serve->address, err) ||
	    !(options->token_file ? token_from_file(options->token_file, serve->token, err)
				  : token_make(serve->token, err)) ||
	    !subjects_open(options->name, &serve->render.subjects, err))
		return false;
	serve->documents = documents_new(&calls);
	serve->render.known = known_new(options->how.symbols);
	if (!serve->documents || !serve->render.known)
		return error_set(err, "no memory");
	serve->render.how = options->how;
	serve->render.how.keeper = known_keeper(serve->render.known);
	serve->render.sites = options->sites;
	return start_http(serve, err);
}

bool serve_open(const struct serve_options *options, struct serve **serve, struct error *err)
{
	struct serve *made = calloc(1, sizeof(*made));

	if (!made)
		return error_set(err, "no memory");
	sem_init(&made->wake, 0, 0);
	if (open_all(made, options, err)) {
		*serve = made;
		return true;
	}
	serve_close(made);
	return false;
}

void serve_close(struct serve *serve)
{
	if (!serve)
		return;
	if (serve->documents)
		documents_stop(serve->documents);
	http_stop(serve->http);
	documents_free(serve->documents);
	known_free(serve->render.known);
	subjects_close(serve->render.subjects);
	sem_destroy(&serve->wake);
	free(serve);
}

const char *serve_address(const struct serve *serve)
{
	return serve->text;
}

bool serve_is_open(const struct serve *serve)
{
	return !serve->address.is_local;
}

/* Until there is something to do, a second at most: what is postponed, and late connections, are looked at then. */
static void wait_for_work(struct serve *serve)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += TIDY_S;
	sem_timedwait(&serve->wake, &until);
}

/* Also while there is always something to make. */
static void tidy(struct serve *serve)
{
	uint64_t now_ns = documents_now();

	if (now_ns < serve->tidy_ns)
		return;
	http_tidy(serve->http);
	documents_tidy(serve->documents);
	serve->tidy_ns = now_ns + TIDY_S * SECOND_NS;
}

void serve_run(struct serve *serve)
{
	struct document *document;

	while (!atomic_load_explicit(&serve->stopped, memory_order_relaxed)) {
		tidy(serve);
		document = documents_next(serve->documents);
		if (document)
			render_make(&serve->render, serve->documents, document);
		else
			wait_for_work(serve);
	}
}

void serve_stop(struct serve *serve)
{
	atomic_store_explicit(&serve->stopped, true, memory_order_relaxed);
	sem_post(&serve->wake);
}
