/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * http.c - see http.h.
 */
#include "push/http.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/base64.h"
#include "core/version.h"
#include "export/clean.h"
#include "push/grpc_status.h"
#include "push/rejected.h"
#include "push/secrets.h"

enum { KEPT = 512, WORDS_MAX = 200, CONNECT_MS = 10000, RETRY_AFTER_MAX_S = 3600 };

struct http {
	const struct target *target;
	const struct http_options *options;
	CURLM *multi;
	CURL *easy;
	bool is_busy;
	struct curl_slist *given;   /* headers of the options */
	struct curl_slist *headers; /* of this request */
	struct secrets secrets;
	char *password; /* of options.user; NULL = none */
	FILE *body;
	long body_start;      /* where in its file */
	char begin[KEPT + 1]; /* of the answer */
	size_t begin_size;
	char reason[CURL_ERROR_SIZE];
};

/* --- options --------------------------------------------------------------------------------- */

static bool add_header(struct curl_slist **list, const char *line, struct error *err)
{
	struct curl_slist *grown = curl_slist_append(*list, line);

	if (!grown)
		return error_set(err, "no memory for headers");
	*list = grown;
	return true;
}

/* Without what would end the header. */
static bool is_value(const char *text)
{
	for (; *text; text++)
		if (((unsigned char)*text < ' ' && *text != '\t') || *text == 0x7f)
			return false;
	return true;
}

/* "Name: value" */
static bool is_header(const char *line)
{
	size_t length = strcspn(line, ": \t");

	return length > 0 && line[length] == ':' && is_value(line);
}

/* Names whose values are secrets, wherever they come from. */
static bool is_secret(const char *line)
{
	static const char *const words[] = {"authorization", "cookie", "token",
					    "key",	     "secret", "password"};
	char name[64];
	size_t length = strcspn(line, ":"), i;

	snprintf(name, sizeof(name), "%.*s", (int)length, line);
	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcasestr(name, words[i]))
			return true;
	return false;
}

static bool add_secret_header(struct http *http, const char *path, char *line, struct error *err)
{
	const char *value, *word;

	line[strcspn(line, "\r\n")] = '\0';
	if (!line[0])
		return true;
	if (!is_header(line))
		return error_set(err, "%s: a line that is not NAME: VALUE", path);
	value = line + strcspn(line, ":") + 1;
	value += strspn(value, " \t");
	word = strrchr(value, ' '); /* of "Bearer TOKEN" */
	if ((value[0] && !secrets_keep(&http->secrets, value)) ||
	    (word && word[1] && !secrets_keep(&http->secrets, word + 1)))
		return error_set(err, "%s: no memory", path);
	return add_header(&http->given, line, err);
}

static bool read_headers(struct http *http, const char *path, struct error *err)
{
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t size = 0;
	bool ok = true;

	if (!file)
		return error_set_errno(err, "%s", path);
	while (ok && getline(&line, &size, file) >= 0)
		ok = add_secret_header(http, path, line, err);
	free(line);
	fclose(file);
	return ok;
}

static bool check_header(const char *header, struct error *err)
{
	if (header[0] == '@')
		return true;
	if (!is_header(header))
		return error_set(err, "--header: it must be NAME: VALUE, or @FILE");
	if (is_secret(header))
		return error_set(err,
				 "--header %.*s: as an argument it would be seen in the list of "
				 "processes: put it into a file, --header @FILE",
				 (int)strcspn(header, ":"), header);
	return true;
}

static bool check_secrets(const struct http_options *options, const struct target *target,
			  struct error *err)
{
	bool has_secrets = options->user || options->token || options->token_file;
	unsigned i;

	for (i = 0; i < options->header_count; i++)
		has_secrets |= options->headers[i][0] == '@';
	if (options->user && options->token_file)
		return error_set(err, "--user and --bearer-file do not go together");
	if (options->user && strchr(options->user, ':'))
		return error_set(err,
				 "--user NAME: the password is not given here, where it would "
				 "be seen in the list of processes: set $PMEM_PUSH_PASSWORD, or "
				 "use --password-file");
	if (options->user && !options->password && !options->password_file)
		return error_set(err, "--user: its password is not there: set $PMEM_PUSH_PASSWORD, "
				      "or use --password-file");
	if (options->password_file && !options->user)
		return error_set(err, "--password-file goes with --user");
	if (has_secrets && !target->is_encrypted && !target->is_local && !options->insecure)
		return error_set(err,
				 "password or token would go to %s unencrypted: use https, "
				 "or --insecure",
				 target->url);
	return true;
}

bool http_check(const struct http_options *options, const struct target *target, struct error *err)
{
	unsigned i;

	for (i = 0; i < options->header_count; i++)
		if (!check_header(options->headers[i], err))
			return false;
	if (options->key && !options->cert)
		return error_set(err, "--key goes with --cert");
	if (options->tenant && (strlen(options->tenant) >= 200 || !is_value(options->tenant)))
		return error_set(err, "--tenant: no control characters, and less than 200 bytes");
	return check_secrets(options, target, err);
}

static bool set_headers(struct http *http, struct error *err)
{
	const struct http_options *options = http->options;
	char line[256];
	bool ok = true;
	unsigned i;

	for (i = 0; i < options->header_count && ok; i++) {
		const char *header = options->headers[i];

		ok = header[0] == '@' ? read_headers(http, header + 1, err)
				      : add_header(&http->given, header, err);
	}
	if (!ok || !options->tenant)
		return ok;
	snprintf(line, sizeof(line), "X-Scope-OrgID: %s", options->tenant);
	return add_header(&http->given, line, err);
}

static bool read_password(struct http *http, struct error *err)
{
	const struct http_options *options = http->options;

	if (!options->user)
		return true;
	http->password = options->password_file ? secrets_read_line(options->password_file, err)
						: strdup(options->password);
	if (http->password)
		return true;
	return options->password_file ? false : error_set(err, "no memory");
}

/* --- the request ----------------------------------------------------------------------------- */

static size_t read_body(char *to, size_t size, size_t count, void *context)
{
	struct http *http = context;

	return fread(to, 1, size * count, http->body);
}

/* libcurl goes back to the beginning when a connection that it kept turns out to be closed. */
static int seek_body(void *context, curl_off_t offset, int origin)
{
	struct http *http = context;

	return origin == SEEK_SET && fseek(http->body, http->body_start + (long)offset, origin) == 0
		       ? CURL_SEEKFUNC_OK
		       : CURL_SEEKFUNC_FAIL;
}

static size_t keep_answer(char *from, size_t size, size_t count, void *context)
{
	struct http *http = context;
	size_t all = size * count, fits = KEPT - http->begin_size;

	if (fits > all)
		fits = all;
	memcpy(http->begin + http->begin_size, from, fits);
	http->begin_size += fits;
	http->begin[http->begin_size] = '\0';
	return all;
}

static void set_tls(CURL *easy, const struct http_options *options)
{
	curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, options->insecure ? 0L : 1L);
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, options->insecure ? 0L : 2L);
	if (options->cacert)
		curl_easy_setopt(easy, CURLOPT_CAINFO, options->cacert);
	if (options->cert)
		curl_easy_setopt(easy, CURLOPT_SSLCERT, options->cert);
	if (options->key)
		curl_easy_setopt(easy, CURLOPT_SSLKEY, options->key);
	if (options->key_password)
		curl_easy_setopt(easy, CURLOPT_KEYPASSWD, options->key_password);
}

static void set_fixed(struct http *http)
{
	CURL *easy = http->easy;

	curl_easy_setopt(easy, CURLOPT_POST, 1L);
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(easy, CURLOPT_USERAGENT, "pmem/" PMEM_VERSION);
	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
	curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)http->options->timeout_ms);
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, http->reason);
	curl_easy_setopt(easy, CURLOPT_READFUNCTION, read_body);
	curl_easy_setopt(easy, CURLOPT_READDATA, http);
	curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, seek_body);
	curl_easy_setopt(easy, CURLOPT_SEEKDATA, http);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, keep_answer);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, http);
	set_tls(easy, http->options);
}

/* As it goes over the wire, too. */
static bool keep_password(struct http *http)
{
	const struct http_options *options = http->options;
	char *pair, *coded;
	bool ok;

	if (asprintf(&pair, "%s:%s", options->user, http->password) < 0)
		return false;
	coded = base64_of(pair, strlen(pair));
	ok = coded && secrets_keep(&http->secrets, coded) &&
	     (!http->password[0] || secrets_keep(&http->secrets, http->password));
	free(coded);
	free(pair);
	return ok;
}

/* The user's password, or the token as it is now. */
static bool set_credentials(struct http *http, struct error *err)
{
	const struct http_options *options = http->options;
	char *line = NULL;
	const char *token = options->token;
	bool ok = true;

	if (options->user) {
		curl_easy_setopt(http->easy, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
		curl_easy_setopt(http->easy, CURLOPT_USERNAME, options->user);
		curl_easy_setopt(http->easy, CURLOPT_PASSWORD, http->password);
		return keep_password(http) || error_set(err, "no memory");
	}
	if (options->token_file) {
		token = line = secrets_read_line(options->token_file, err);
		if (!line)
			return false;
	}
	if (token) {
		curl_easy_setopt(http->easy, CURLOPT_HTTPAUTH, (long)CURLAUTH_BEARER);
		curl_easy_setopt(http->easy, CURLOPT_XOAUTH2_BEARER, token);
		ok = !token[0] || secrets_renew(&http->secrets, token) ||
		     error_set(err, "no memory");
	}
	free(line);
	return ok;
}

static bool set_request_headers(struct http *http, const struct spool_head *head, struct error *err)
{
	const struct curl_slist *item;
	char line[256];
	bool ok;

	curl_slist_free_all(http->headers);
	http->headers = NULL;
	snprintf(line, sizeof(line), "Content-Type: %s", head->type);
	ok = add_header(&http->headers, line, err) && add_header(&http->headers, "Expect:", err);
	if (head->encoding[0]) {
		snprintf(line, sizeof(line), "Content-Encoding: %s", head->encoding);
		ok = ok && add_header(&http->headers, line, err);
	}
	if (http->target->protocol == TARGET_PYROSCOPE)
		ok = ok && add_header(&http->headers, "Connect-Protocol-Version: 1", err);
	if (http->target->protocol == TARGET_PARCA)
		ok = ok && add_header(&http->headers, "X-Grpc-Web: 1", err);
	for (item = http->given; item && ok; item = item->next)
		ok = add_header(&http->headers, item->data, err);
	curl_easy_setopt(http->easy, CURLOPT_HTTPHEADER, http->headers);
	return ok;
}

static bool set_url(struct http *http, const char *query, struct error *err)
{
	char *url;
	CURLcode code;

	if (asprintf(&url, "%s%s%s", http->target->url, query[0] ? "?" : "", query) < 0)
		return error_set(err, "no memory for the URL");
	code = curl_easy_setopt(http->easy, CURLOPT_URL, url);
	free(url);
	return code == CURLE_OK || error_set(err, "no memory for the URL");
}

bool http_begin(struct http *http, const struct http_request *request, struct error *err)
{
	if (!set_credentials(http, err) || !set_request_headers(http, request->head, err) ||
	    !set_url(http, request->head->query, err))
		return false;
	curl_easy_setopt(http->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->size);
	http->body = request->body;
	http->body_start = ftell(request->body);
	http->begin_size = 0;
	http->begin[0] = '\0';
	http->reason[0] = '\0';
	http->is_busy = curl_multi_add_handle(http->multi, http->easy) == CURLM_OK;
	return http->is_busy || error_set(err, "libcurl takes no request");
}

bool http_is_busy(const struct http *http)
{
	return http->is_busy;
}

/* --- the answer ------------------------------------------------------------------------------ */

/* What goes wrong before HTTP: a server that is not there is waited for, a certificate that is wrong will be so again. */
static enum http_outcome outcome_of_failure(CURLcode code)
{
	switch (code) {
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_SSL_CIPHER:
	case CURLE_SSL_ISSUER_ERROR:
	case CURLE_UNSUPPORTED_PROTOCOL:
	case CURLE_URL_MALFORMAT:
		return HTTP_BAD_REQUEST;
	default:
		return HTTP_LATER;
	}
}

static enum http_outcome outcome_of_status(long status)
{
	if (status >= 200 && status < 300)
		return HTTP_DELIVERED;
	if (status == 408 || status == 429 || (status >= 500 && status != 501))
		return HTTP_LATER;
	if (status == 400 || status == 413 || status == 422)
		return HTTP_BAD_PROFILE;
	return HTTP_BAD_REQUEST;
}

/* Pyroscope's /ingest says 422 to whatever went wrong behind it, also while it ends; its words tell what is the profile's fault. */
static bool is_for_now(const struct http *http, long status)
{
	return http->target->protocol == TARGET_PYROSCOPE_INGEST && status == 422 &&
	       !strstr(http->begin, "invalid_argument");
}

/* "the server says 401: missing token", with what the answer begins with in one line. */
static void say_status(struct http *http, struct http_answer *answer)
{
	char *location = NULL, *words;

	curl_easy_getinfo(http->easy, CURLINFO_REDIRECT_URL, &location);
	if (answer->status >= 300 && answer->status < 400 && location) {
		error_set(&answer->text, "the server says %ld: it is at %s", answer->status,
			  location);
		return;
	}
	secrets_hide(&http->secrets, http->begin);
	http->begin[strcspn(http->begin, "\r\n")] = '\0';
	words = clean_text(http->begin, "");
	error_set(&answer->text, "the server says %ld%s%.*s", answer->status,
		  words && words[0] ? ": " : "", WORDS_MAX, words ? words : "");
	free(words);
}

/* A good answer can say that not all was taken. */
static void look_for_rejected(struct http *http, struct http_answer *answer)
{
	char why[REJECTED_TEXT], *words;

	if (rejected_profiles(http->begin, http->begin_size, why) == 0)
		return;
	answer->outcome = HTTP_BAD_PROFILE;
	secrets_hide(&http->secrets, why);
	words = clean_text(why, "");
	error_set(&answer->text, "the server has rejected profiles%s%.*s",
		  words && words[0] ? ": " : "", WORDS_MAX, words ? words : "");
	free(words);
}

static enum http_outcome outcome_of_call(unsigned code)
{
	switch (code) {
	case GRPC_STATUS_OK:
		return HTTP_DELIVERED;
	case GRPC_STATUS_INVALID_ARGUMENT:
	case GRPC_STATUS_OUT_OF_RANGE:
		return HTTP_BAD_PROFILE;
	case GRPC_STATUS_NOT_FOUND:
	case GRPC_STATUS_PERMISSION_DENIED:
	case GRPC_STATUS_UNIMPLEMENTED:
	case GRPC_STATUS_UNAUTHENTICATED:
		return HTTP_BAD_REQUEST;
	default:
		return HTTP_LATER;
	}
}

static bool status_of_call(struct http *http, struct grpc_status *status)
{
	struct curl_header *header;
	const char *code;

	if (curl_easy_header(http->easy, "grpc-status", 0, CURLH_HEADER, -1, &header) != CURLHE_OK)
		return grpc_status_find(status, http->begin, http->begin_size);
	code = header->value;
	if (curl_easy_header(http->easy, "grpc-message", 0, CURLH_HEADER, -1, &header) != CURLHE_OK)
		header = NULL;
	return grpc_status_of(status, code, header ? header->value : NULL);
}

/* A call has a status of its own. */
static void judge_call(struct http *http, struct http_answer *answer)
{
	struct grpc_status status;
	char *words;

	if (!status_of_call(http, &status)) {
		answer->outcome = HTTP_BAD_REQUEST;
		error_set(&answer->text, "the server's answer is not one of gRPC: is it Parca?");
		return;
	}
	answer->outcome = outcome_of_call(status.code);
	if (answer->outcome == HTTP_DELIVERED)
		return;
	secrets_hide(&http->secrets, status.text);
	words = clean_text(status.text, "");
	error_set(&answer->text, "the server says gRPC status %u%s%.*s", status.code,
		  words && words[0] ? ": " : "", WORDS_MAX, words ? words : "");
	free(words);
}

static void judge(struct http *http, CURLcode code, struct http_answer *answer)
{
	curl_off_t retry_after_s = 0;

	*answer = (struct http_answer){0};
	if (code != CURLE_OK) {
		answer->outcome = outcome_of_failure(code);
		error_set(&answer->text, "%s",
			  http->reason[0] ? http->reason : curl_easy_strerror(code));
		secrets_hide(&http->secrets, answer->text.text);
		return;
	}
	curl_easy_getinfo(http->easy, CURLINFO_RESPONSE_CODE, &answer->status);
	curl_easy_getinfo(http->easy, CURLINFO_RETRY_AFTER, &retry_after_s);
	if (retry_after_s > RETRY_AFTER_MAX_S)
		retry_after_s = RETRY_AFTER_MAX_S;
	answer->retry_after_ms = (uint64_t)retry_after_s * 1000;
	answer->outcome = is_for_now(http, answer->status) ? HTTP_LATER
							   : outcome_of_status(answer->status);
	if (answer->outcome != HTTP_DELIVERED)
		say_status(http, answer);
	else if (http->target->protocol == TARGET_PARCA)
		judge_call(http, answer);
	else if (http->target->protocol == TARGET_OTLP)
		look_for_rejected(http, answer);
}

bool http_work(struct http *http, int stop, uint64_t wait_ms, struct http_answer *answer)
{
	struct curl_waitfd extra = {.fd = stop, .events = CURL_WAIT_POLLIN};
	int running = 0, left;
	CURLMsg *message;

	curl_multi_perform(http->multi, &running);
	message = curl_multi_info_read(http->multi, &left);
	if (!message) {
		curl_multi_poll(http->multi, stop >= 0 ? &extra : NULL, stop >= 0,
				wait_ms < 60000 ? (int)wait_ms : 60000, NULL);
		curl_multi_perform(http->multi, &running);
		message = curl_multi_info_read(http->multi, &left);
	}
	if (!message || message->msg != CURLMSG_DONE)
		return false;
	judge(http, message->data.result, answer);
	curl_multi_remove_handle(http->multi, http->easy);
	http->is_busy = false;
	http->body = NULL;
	return true;
}

/* --------------------------------------------------------------------------------------------- */

struct http *http_open(const struct target *target, const struct http_options *options,
		       struct error *err)
{
	struct http *http = calloc(1, sizeof(*http));

	if (!http || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
		free(http);
		error_set(err, "libcurl cannot be used, or no memory");
		return NULL;
	}
	http->target = target;
	http->options = options;
	http->multi = curl_multi_init();
	http->easy = curl_easy_init();
	if (!http->multi || !http->easy) {
		error_set(err, "no memory for libcurl");
	} else if (set_headers(http, err) && read_password(http, err)) {
		set_fixed(http);
		return http;
	}
	http_close(http);
	return NULL;
}

void http_close(struct http *http)
{
	if (!http)
		return;
	if (http->is_busy)
		curl_multi_remove_handle(http->multi, http->easy);
	curl_easy_cleanup(http->easy);
	curl_multi_cleanup(http->multi);
	curl_slist_free_all(http->given);
	curl_slist_free_all(http->headers);
	secrets_free(&http->secrets);
	if (http->password)
		explicit_bzero(http->password, strlen(http->password));
	free(http->password);
	curl_global_cleanup();
	free(http);
}
