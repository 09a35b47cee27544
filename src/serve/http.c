/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * http.c - see http.h.
 *
 * A request is checked when its header is there: Host, then token, then method, then what it asks for.  Who has no token learns nothing
 * but that.  Its connection is suspended until the answer is made (documents.h).
 *
 * The library's timeout is one of silence: who sends a byte now and then could hold a connection for days.  So each has a deadline, and is
 * shut down when it has passed.
 */
#include "serve/http.h"

#include <microhttpd.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>

#include "serve/token.h"

enum {
	CONNECTIONS_MAX = 256,
	DESCRIPTORS_KEPT = 320, /* for profiles */
	MEMORY_MAX = 32 * 1024, /* of a connection: the largest header */
	SILENCE_S = 15,
	ASK_S = 10,	 /* from the connection, or the last answer, to the whole request */
	TAKE_S = 120,	 /* for the answer */
	BODY_MAX = 1024, /* is passed over */
};

#define SECOND_NS UINT64_C(1000000000)

struct connection {
	struct connection *next;
	int fd;
	uint64_t deadline_ns; /* UINT64_MAX = none: it waits for us */
};

struct http {
	struct http_options options;
	struct MHD_Daemon *daemon;
	pthread_mutex_t mutex;
	struct connection *connections; /* under lock */
};

struct request {
	struct waiter waiter; /* first */
	struct MHD_Connection *connection;
	struct route route;
	size_t body;
	bool was_suspended;
};

/* --- deadlines ------------------------------------------------------------------------------- */

static void add_connection(struct http *http, struct MHD_Connection *mhd, void **context)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
		mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct connection *connection = calloc(1, sizeof(*connection));

	*context = connection;
	if (!connection || !info)
		return;
	connection->fd = info->connect_fd;
	connection->deadline_ns = documents_now() + ASK_S * SECOND_NS;
	pthread_mutex_lock(&http->mutex);
	connection->next = http->connections;
	http->connections = connection;
	pthread_mutex_unlock(&http->mutex);
}

/* Before the descriptor is closed: none that is somebody else's by then is shut down. */
static void remove_connection(struct http *http, struct connection *connection)
{
	struct connection **at = &http->connections;

	pthread_mutex_lock(&http->mutex);
	while (*at && *at != connection)
		at = &(*at)->next;
	if (*at)
		*at = connection->next;
	pthread_mutex_unlock(&http->mutex);
	free(connection);
}

static void notify_connection(void *argument, struct MHD_Connection *mhd, void **context,
			      enum MHD_ConnectionNotificationCode code)
{
	if (code == MHD_CONNECTION_NOTIFY_STARTED)
		add_connection(argument, mhd, context);
	else if (*context)
		remove_connection(argument, *context);
}

static void set_deadline(struct http *http, struct MHD_Connection *mhd, uint64_t deadline_ns)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
		mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct connection *connection = info ? info->socket_context : NULL;

	if (!connection)
		return;
	pthread_mutex_lock(&http->mutex);
	connection->deadline_ns = deadline_ns;
	pthread_mutex_unlock(&http->mutex);
}

void http_tidy(struct http *http)
{
	uint64_t now = documents_now();

	pthread_mutex_lock(&http->mutex);
	for (struct connection *c = http->connections; c; c = c->next)
		if (c->deadline_ns < now)
			shutdown(c->fd, SHUT_RDWR);
	pthread_mutex_unlock(&http->mutex);
}

/* --- answers --------------------------------------------------------------------------------- */

static const char *const types[] = {
	[RENDERED_TEXT] = "text/plain; charset=utf-8",
	[RENDERED_HTML] = "text/html; charset=utf-8",
	[RENDERED_FRAGMENT] = "text/html; charset=utf-8",
	[RENDERED_JSON] = "application/json",
	[RENDERED_METRICS] = "text/plain; version=0.0.4; charset=utf-8",
	[RENDERED_GZIP] = "application/octet-stream",
};

/* A page has its own policy too, about what it may load; all else is nothing that runs. */
static void add_headers(struct MHD_Response *response, enum rendered_form form)
{
	static const char *const always[][2] = {
		{"Cache-Control", "no-store"},
		{"Cross-Origin-Opener-Policy", "same-origin"},
		{"Cross-Origin-Resource-Policy", "same-origin"},
		{"Referrer-Policy", "no-referrer"},
		{"X-Content-Type-Options", "nosniff"},
		{"X-Frame-Options", "DENY"},
	};

	for (size_t i = 0; i < sizeof(always) / sizeof(*always); i++)
		MHD_add_response_header(response, always[i][0], always[i][1]);
	MHD_add_response_header(
		response, "Content-Security-Policy",
		form == RENDERED_HTML ? "frame-ancestors 'none'; base-uri 'none'; object-src 'none'"
				      : "default-src 'none'; frame-ancestors 'none'; sandbox");
	MHD_add_response_header(response, "Content-Type", types[form]);
}

static enum MHD_Result queue(struct MHD_Connection *connection, unsigned status,
			     struct MHD_Response *response)
{
	enum MHD_Result result;

	if (!response)
		return MHD_NO;
	result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

static void release(void *rendered)
{
	rendered_release(rendered);
}

/* Takes rendered over. */
static struct MHD_Response *new_response(struct rendered *rendered)
{
	struct MHD_Response *response = MHD_create_response_from_buffer_with_free_callback_cls(
		rendered->size, rendered->bytes, release, rendered);

	if (!response) {
		rendered_release(rendered);
		return NULL;
	}
	add_headers(response, rendered->form);
	if (rendered->tag[0])
		MHD_add_response_header(response, MHD_HTTP_HEADER_ETAG, rendered->tag);
	if (rendered->location)
		MHD_add_response_header(response, MHD_HTTP_HEADER_LOCATION, rendered->location);
	if (rendered->profile)
		MHD_add_response_header(response, "Pmem-Profile", rendered->profile);
	if (rendered->status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD, POST");
	return response;
}

/* True if the client has it: If-None-Match (RFC 9110, section 13.1.2). */
static bool has_it(struct MHD_Connection *connection, const struct rendered *rendered)
{
	const char *tags = MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
						       MHD_HTTP_HEADER_IF_NONE_MATCH);

	return tags && rendered->status == MHD_HTTP_OK && rendered->tag[0] &&
	       strstr(tags, rendered->tag);
}

/* Takes rendered over; NULL: no memory. */
static enum MHD_Result answer(struct http *http, struct MHD_Connection *connection,
			      struct rendered *rendered)
{
	unsigned status = rendered ? rendered->status : 0;

	if (!rendered)
		return MHD_NO;
	set_deadline(http, connection, documents_now() + TAKE_S * SECOND_NS);
	if (has_it(connection, rendered)) {
		struct rendered *same = rendered_text(MHD_HTTP_NOT_MODIFIED, "%s", "");

		if (same)
			memcpy(same->tag, rendered->tag, sizeof(same->tag));
		rendered_release(rendered);
		rendered = same;
		status = MHD_HTTP_NOT_MODIFIED;
	}
	return rendered ? queue(connection, status, new_response(rendered)) : MHD_NO;
}

/* --- questions ------------------------------------------------------------------------------- */

struct hosts {
	const char *value;
	unsigned count;
};

static enum MHD_Result see_host(void *argument, enum MHD_ValueKind kind, const char *key,
				const char *value)
{
	struct hosts *hosts = argument;

	(void)kind;
	if (strcasecmp(key, MHD_HTTP_HEADER_HOST) != 0)
		return MHD_YES;
	hosts->value = value;
	hosts->count++;
	return MHD_YES;
}

static bool is_for_us(const struct http *http, struct MHD_Connection *connection)
{
	struct hosts hosts = {NULL, 0};

	MHD_get_connection_values(connection, MHD_HEADER_KIND, see_host, &hosts);
	return hosts.count == 1 && hosts.value &&
	       address_is_host(http->options.address, hosts.value);
}

/* What follows "/TOKEN": "" or "/..."; NULL: that is not how it begins. */
static const char *behind_token(const struct http *http, const char *url)
{
	size_t length = strcspn(url[0] == '/' ? url + 1 : "", "/");

	return token_is(http->options.token, url[0] ? url + 1 : "", length) ? url + 1 + length
									    : NULL;
}

struct arguments {
	struct route *route;
	bool wrong;
};

static enum MHD_Result see_argument(void *cls, enum MHD_ValueKind kind, const char *key,
				    const char *value)
{
	struct arguments *arguments = cls;

	(void)kind;
	if (!route_argument(arguments->route, key, value ? value : ""))
		arguments->wrong = true;
	return MHD_YES;
}

static bool is_reading(const char *method)
{
	return strcmp(method, MHD_HTTP_METHOD_GET) == 0 || strcmp(method, MHD_HTTP_METHOD_HEAD) == 0;
}

static struct rendered *not_found(void)
{
	return rendered_text(MHD_HTTP_NOT_FOUND, "Not found.\n");
}

/* "/TOKEN" without a slash at its end. */
static struct rendered *redirect_home(const struct http *http)
{
	struct rendered *rendered = rendered_text(MHD_HTTP_FOUND, "%s", "");

	if (rendered && asprintf(&rendered->location, "/%s/", http->options.token) < 0)
		rendered->location = NULL;
	return rendered;
}

/* NULL: it is a request for request->route; else why not. */
static struct rendered *check(const struct http *http, struct request *request, const char *url,
			      const char *method)
{
	struct arguments arguments = {&request->route, false};
	const char *path;

	if (!is_for_us(http, request->connection))
		return rendered_text(MHD_HTTP_FORBIDDEN,
				     "This is not a name of this server: ask for the address that "
				     "it printed.\n");
	path = behind_token(http, url);
	if (!path)
		return not_found();
	if (path[0] == '\0')
		return redirect_home(http);
	route_parse(path + 1, &request->route);
	if (request->route.kind == ROUTE_NOTHING)
		return not_found();
	if (!is_reading(method) && strcmp(method, MHD_HTTP_METHOD_POST) != 0)
		return rendered_text(MHD_HTTP_METHOD_NOT_ALLOWED, "GET, HEAD or POST.\n");
	if (route_changes(&request->route) == is_reading(method))
		return rendered_text(MHD_HTTP_METHOD_NOT_ALLOWED, "Not by this method.\n");
	MHD_get_connection_values(request->connection, MHD_GET_ARGUMENT_KIND, see_argument,
				  &arguments);
	return arguments.wrong ? rendered_text(MHD_HTTP_BAD_REQUEST,
					       "seconds is a number, up to %d.\n", ROUTE_SECONDS_MAX)
			       : NULL;
}

static enum MHD_Result begin(struct http *http, struct request *request, const char *url,
			     const char *method)
{
	struct rendered *refusal = check(http, request, url, method);

	return refusal ? answer(http, request->connection, refusal) : MHD_YES;
}

/* Its whole request is there, or its answer. */
static enum MHD_Result go_on(struct http *http, struct request *request)
{
	struct rendered *rendered = request->waiter.answer;

	request->waiter.answer = NULL;
	if (!rendered && !request->was_suspended) {
		set_deadline(http, request->connection, UINT64_MAX);
		request->was_suspended = true;
		rendered = documents_ask(http->options.documents, &request->route, &request->waiter);
		if (!rendered)
			return MHD_YES;
	}
	return answer(http, request->connection, rendered);
}

static enum MHD_Result handle(void *argument, struct MHD_Connection *connection, const char *url,
			      const char *method, const char *version, const char *body,
			      size_t *body_size, void **context)
{
	struct request *request = *context;
	struct http *http = argument;

	(void)version;
	(void)body;
	if (!request) {
		request = *context = calloc(1, sizeof(*request));
		if (!request)
			return MHD_NO;
		request->connection = connection;
		return begin(http, request, url, method);
	}
	if (*body_size > 0) {
		request->body += *body_size;
		*body_size = 0;
		return request->body > BODY_MAX ? MHD_NO : MHD_YES;
	}
	return go_on(http, request);
}

static void completed(void *argument, struct MHD_Connection *connection, void **context,
		      enum MHD_RequestTerminationCode code)
{
	struct request *request = *context;
	struct http *http = argument;

	(void)code;
	set_deadline(http, connection, documents_now() + ASK_S * SECOND_NS);
	if (request)
		rendered_release(request->waiter.answer);
	free(request);
	*context = NULL;
}

void http_suspend(struct waiter *waiter)
{
	MHD_suspend_connection(((struct request *)waiter)->connection);
}

void http_resume(struct waiter *waiter)
{
	MHD_resume_connection(((struct request *)waiter)->connection);
}

/* --- begin and end --------------------------------------------------------------------------- */

/* Descriptors are for profiles too. */
static unsigned connections_max(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 ||
	    limit.rlim_cur >= DESCRIPTORS_KEPT + CONNECTIONS_MAX)
		return CONNECTIONS_MAX;
	return limit.rlim_cur < 32 ? 8 : (unsigned)limit.rlim_cur / 4;
}

static struct MHD_Daemon *start_daemon(struct http *http)
{
	unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME;

	if (http->options.address->socket.ss_family == AF_INET6)
		flags |= MHD_USE_IPv6;
	return MHD_start_daemon(
		flags, http->options.address->port, NULL, NULL, handle, http,
		MHD_OPTION_LISTEN_SOCKET, http->options.fd, MHD_OPTION_CONNECTION_LIMIT,
		connections_max(), MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MEMORY_MAX,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)SILENCE_S, MHD_OPTION_NOTIFY_COMPLETED,
		completed, http, MHD_OPTION_NOTIFY_CONNECTION, notify_connection, http,
		MHD_OPTION_END);
}

bool http_start(const struct http_options *options, struct http **http, struct error *err)
{
	struct http *made = calloc(1, sizeof(*made));
	sigset_t all, before;

	if (!made)
		return error_set(err, "no memory");
	made->options = *options;
	pthread_mutex_init(&made->mutex, NULL);
	/* Signals are for the thread that waits for them. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	made->daemon = start_daemon(made);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (made->daemon) {
		*http = made;
		return true;
	}
	pthread_mutex_destroy(&made->mutex);
	free(made);
	return error_set(err, "the HTTP server cannot be started");
}

void http_stop(struct http *http)
{
	if (!http)
		return;
	MHD_stop_daemon(http->daemon);
	pthread_mutex_destroy(&http->mutex);
	free(http);
}
