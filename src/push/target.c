/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * target.c - see target.h.
 *
 * Where the rules of the table come from:
 * Pyroscope: alloc_* of memory profiles are summed up over time, and inuse_* averaged; its SDK for Go pushes alloc_* as differences
 * (godeltaprof), says so to /ingest with a sample_type_config without "cumulative" (pyroscope-go, session.go), and Alloy's scraper
 * says it with the label __delta__="false" (phlaremodel.LabelNameDelta): the server must not take differences again.  By default
 * it refuses more than 16,000 samples in a profile (validation.max_profile_stacktrace_samples).
 * Parca: scrapes /debug/pprof/allocs of Go programs with delta: false (pkg/config/config.go), so alloc_* are sums since the start,
 * in a profile without duration; with one it would be of another type, "...:delta".
 * OTLP: profiles cover an interval; Pyroscope reads them with __delta__="false" too (pkg/ingester/otlp).
 */
#include "push/target.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>

struct protocol {
	const char *name;
	const char *path;
	const char *end;  /* a URL that ends so has the path already; NULL = path */
	const char *port; /* that the server listens to by default */
	unsigned stack_limit;
	bool wants_deltas;
};

static const struct protocol protocols[TARGET_PROTOCOLS] = {
	[TARGET_PYROSCOPE] = {"pyroscope", "/push.v1.PusherService/Push", NULL, "4040", 16000, true},
	[TARGET_PYROSCOPE_INGEST] = {"pyroscope-ingest", "/ingest", NULL, NULL, 16000, true},
	[TARGET_PARCA] = {"parca", "/parca.profilestore.v1alpha1.ProfileStoreService/WriteRaw",
			  NULL, "7070", 0, false},
	[TARGET_OTLP] = {"otlp", "/v1development/profiles", "/profiles", "4318", 0, true},
};

const char *target_protocol_name(enum target_protocol protocol)
{
	return protocols[protocol].name;
}

bool target_wants_deltas(enum target_protocol protocol)
{
	return protocols[protocol].wants_deltas;
}

unsigned target_stack_limit(enum target_protocol protocol)
{
	return protocols[protocol].stack_limit;
}

bool target_protocol_find(const char *name, enum target_protocol *protocol)
{
	unsigned i;

	for (i = 0; i < TARGET_PROTOCOLS; i++) {
		if (strcmp(protocols[i].name, name) != 0)
			continue;
		*protocol = (enum target_protocol)i;
		return true;
	}
	return false;
}

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), end_length = strlen(end);

	return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

/* A part of the URL, to be freed with curl_free(); NULL: it has none. */
static char *part_of(CURLU *url, CURLUPart part)
{
	char *text = NULL;

	return curl_url_get(url, part, &text, 0) == CURLUE_OK ? text : NULL;
}

static bool has_part(CURLU *url, CURLUPart part)
{
	char *text = part_of(url, part);

	curl_free(text);
	return text != NULL;
}

/* The URL itself is not told: it may have the password. */
static bool read_url(CURLU *url, const char *text, struct error *err)
{
	CURLUcode code = url ? curl_url_set(url, CURLUPART_URL, text, 0) : CURLUE_OUT_OF_MEMORY;

	/* Without "://", and with a protocol that libcurl does not know. */
	if (code == CURLUE_BAD_SCHEME || code == CURLUE_UNSUPPORTED_SCHEME)
		return error_set(err, "the URL must begin with http:// or https://");
	return code == CURLUE_OK || error_set(err, "the URL: %s", curl_url_strerror(code));
}

static bool check_parts(CURLU *url, struct error *err)
{
	char *scheme = part_of(url, CURLUPART_SCHEME);
	bool is_http = scheme && (strcmp(scheme, "http") == 0 || strcmp(scheme, "https") == 0);

	curl_free(scheme);
	if (!is_http)
		return error_set(err, "the URL must begin with http:// or https://");
	if (has_part(url, CURLUPART_USER) || has_part(url, CURLUPART_PASSWORD))
		return error_set(err, "a name and password in the URL would be seen in the list of "
				      "processes: use --user and $PMEM_PUSH_PASSWORD");
	if (has_part(url, CURLUPART_QUERY) || has_part(url, CURLUPART_FRAGMENT))
		return error_set(err, "the URL must end with its path, without ? or #");
	return true;
}

/* From the path, which says it exactly, or else the port. */
static bool guess(const char *path, const char *port, enum target_protocol *protocol)
{
	unsigned i;

	for (i = 0; i < TARGET_PROTOCOLS; i++)
		if (ends_with(path, protocols[i].path)) {
			*protocol = (enum target_protocol)i;
			return true;
		}
	for (i = 0; i < TARGET_PROTOCOLS && port; i++)
		if (protocols[i].port && strcmp(port, protocols[i].port) == 0) {
			*protocol = (enum target_protocol)i;
			return true;
		}
	return false;
}

static bool choose(struct target *target, CURLU *url, const char *to, struct error *err)
{
	char *path, *port;
	bool ok;

	if (to)
		return target_protocol_find(to, &target->protocol) ||
		       error_set(err,
				 "--to %s: no such protocol; there are pyroscope, "
				 "pyroscope-ingest, parca and otlp",
				 to);
	path = part_of(url, CURLUPART_PATH);
	port = part_of(url, CURLUPART_PORT);
	ok = path && guess(path, port, &target->protocol);
	curl_free(path);
	curl_free(port);
	return ok || error_set(err, "the URL does not tell what server it is: add --to pyroscope, "
				    "pyroscope-ingest, parca or otlp");
}

/* "/prefix/" -> "/prefix/ingest" */
static bool add_path(CURLU *url, const struct protocol *protocol, struct error *err)
{
	const char *end = protocol->end ? protocol->end : protocol->path;
	char *path = part_of(url, CURLUPART_PATH), *whole;
	size_t length = path ? strlen(path) : 0;
	bool ok;

	while (length > 0 && path[length - 1] == '/')
		length--;
	if (path && ends_with(path, end)) {
		curl_free(path);
		return true;
	}
	ok = asprintf(&whole, "%.*s%s", (int)length, path ? path : "", protocol->path) >= 0;
	curl_free(path);
	if (!ok)
		return error_set(err, "no memory for the URL");
	ok = curl_url_set(url, CURLUPART_PATH, whole, 0) == CURLUE_OK;
	free(whole);
	return ok || error_set(err, "no memory for the URL");
}

/* 127.0.0.0/8; a name can begin like that too. */
static bool is_loopback(const char *host)
{
	return strncmp(host, "127.", 4) == 0 && strspn(host, "0123456789.") == strlen(host);
}

static bool host_is_local(CURLU *url)
{
	char *host = part_of(url, CURLUPART_HOST);
	bool local = host && (strcmp(host, "localhost") == 0 || is_loopback(host) ||
			      strcmp(host, "[::1]") == 0);

	curl_free(host);
	return local;
}

static bool finish(struct target *target, CURLU *url, struct error *err)
{
	char *text = part_of(url, CURLUPART_URL);

	target->is_local = host_is_local(url);
	target->url = text ? strdup(text) : NULL;
	curl_free(text);
	if (!target->url)
		return error_set(err, "no memory for the URL");
	target->is_encrypted = strncmp(target->url, "https:", 6) == 0;
	return true;
}

bool target_parse(struct target *target, const char *text, const char *to, struct error *err)
{
	CURLU *url = curl_url();
	bool ok;

	*target = (struct target){0};
	ok = read_url(url, text, err) && check_parts(url, err) && choose(target, url, to, err) &&
	     add_path(url, &protocols[target->protocol], err) && finish(target, url, err);
	curl_url_cleanup(url);
	return ok;
}

void target_free(struct target *target)
{
	free(target->url);
	*target = (struct target){0};
}
