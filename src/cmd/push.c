/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * push.c - `pmem push`: brings profiles to a server.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "push/pusher.h"

enum {
	NEXT = OPTIONS_NEXT,
	OPTION_TO = 256,
	OPTION_EVERY,
	OPTION_LABEL,
	OPTION_SPOOL,
	OPTION_SPOOL_MAX,
	OPTION_GIVE_UP,
	OPTION_DRAIN,
	OPTION_NOW,
	OPTION_MAX_STACKS,
	OPTION_TIMEOUT,
	OPTION_CACERT,
	OPTION_CERT,
	OPTION_KEY,
	OPTION_INSECURE,
	OPTION_USER,
	OPTION_PASSWORD_FILE,
	OPTION_BEARER_FILE,
	OPTION_HEADER,
	OPTION_TENANT,
};

#define NS_IN_S UINT64_C(1000000000)

struct request {
	struct pusher_options push;
	struct symbol_options symbols;
	struct labels labels;
	const char *url;
	const char *to; /* NULL = it follows from the URL */
	bool has_max_stacks;
	bool quiet;
};

static int set_duration(const char *option, const char *text, uint64_t *duration_ns)
{
	if (units_parse_duration(text, duration_ns) && *duration_ns > 0 &&
	    *duration_ns <= UINT64_C(1000000) * NS_IN_S)
		return NEXT;
	return cmd_usage("push", "%s %s: no duration; 15, 90s and 10m are some", option, text);
}

static int set_every(struct request *request, const char *text)
{
	int code = set_duration("--every", text, &request->push.every_ns);

	if (code == NEXT && request->push.every_ns < NS_IN_S)
		return cmd_usage("push", "--every %s: once a second is the most", text);
	return code;
}

static int set_timeout(struct request *request, const char *text)
{
	uint64_t duration_ns;
	int code = set_duration("--timeout", text, &duration_ns);

	if (code == NEXT)
		request->push.http.timeout_ms = duration_ns / 1000000 + 1;
	return code;
}

static int set_spool_max(struct request *request, const char *text)
{
	if (units_parse_bytes(text, &request->push.spool_max) && request->push.spool_max > 0)
		return NEXT;
	return cmd_usage("push", "--spool-max %s: no size; 512k, 64m and 1g are some", text);
}

static int set_max_stacks(struct request *request, const char *text)
{
	unsigned long value;

	if (!cmd_parse_number(text, UINT32_MAX, &value))
		return cmd_usage("push", "--max-stacks %s: no number up to %" PRIu32, text,
				 UINT32_MAX);
	request->push.collect.stacks_max = (uint32_t)value;
	request->has_max_stacks = true;
	return NEXT;
}

static int add_header(struct http_options *http, const char *header)
{
	if (http->header_count == HTTP_HEADERS_MAX)
		return cmd_usage("push", "--header: more than %d", HTTP_HEADERS_MAX);
	http->headers[http->header_count++] = header;
	return NEXT;
}

static int add_label(struct request *request, const char *text)
{
	struct error err = {""};

	return labels_parse(&request->labels, text, &err)
		       ? NEXT
		       : cmd_usage("push", "--label: %s", err.text);
}

/* Those that are about the connection.  Returns false if it is none of them. */
static bool set_http_option(struct http_options *http, int option, const char *argument, int *code)
{
	*code = NEXT;
	switch (option) {
	case OPTION_CACERT:
		http->cacert = argument;
		return true;
	case OPTION_CERT:
		http->cert = argument;
		return true;
	case OPTION_KEY:
		http->key = argument;
		return true;
	case OPTION_INSECURE:
		http->insecure = true;
		return true;
	case OPTION_USER:
		http->user = argument;
		return true;
	case OPTION_PASSWORD_FILE:
		http->password_file = argument;
		return true;
	case OPTION_BEARER_FILE:
		http->token_file = argument;
		return true;
	case OPTION_HEADER:
		*code = add_header(http, argument);
		return true;
	case OPTION_TENANT:
		http->tenant = argument;
		return true;
	default:
		return false;
	}
}

static int set_option(void *to, int option, const char *argument)
{
	struct request *request = to;
	int code;

	if (set_http_option(&request->push.http, option, argument, &code))
		return code;
	switch (option) {
	case OPTION_TO:
		request->to = argument;
		return NEXT;
	case OPTION_EVERY:
		return set_every(request, argument);
	case OPTION_LABEL:
		return add_label(request, argument);
	case OPTION_SPOOL:
		request->push.spool = argument;
		return NEXT;
	case OPTION_SPOOL_MAX:
		return set_spool_max(request, argument);
	case OPTION_GIVE_UP:
		return set_duration("--give-up", argument, &request->push.give_up_ns);
	case OPTION_DRAIN:
		request->push.drain = true;
		return NEXT;
	case OPTION_NOW:
		request->push.collect.now = true;
		return NEXT;
	case OPTION_MAX_STACKS:
		return set_max_stacks(request, argument);
	case OPTION_TIMEOUT:
		return set_timeout(request, argument);
	default:
		request->quiet = true;
		return NEXT;
	}
}

/* What follows from other options, and whether they go together. */
static int finish(struct request *request)
{
	struct pusher_options *push = &request->push;
	struct http_options *http = &push->http;
	struct error err = {""};
	struct stat status;

	if (!target_parse(&push->target, request->url, request->to, &err))
		return cmd_usage("push", "%s", err.text);
	http->password = getenv("PMEM_PUSH_PASSWORD");
	http->key_password = getenv("PMEM_PUSH_KEY_PASSWORD");
	if (!http->user && !http->token_file)
		http->token = getenv("PMEM_PUSH_TOKEN");
	if (!http_check(http, &push->target, &err))
		return cmd_usage("push", "%s", err.text);
	if (push->drain && (!push->spool || push->collect.name || push->every_ns))
		return cmd_usage("push", "--drain takes a --spool, and neither a profile nor "
					 "--every");
	if (!request->has_max_stacks)
		push->collect.stacks_max = target_stack_limit(push->target.protocol);
	push->collect.all = push->every_ns && push->collect.name &&
			    stat(push->collect.name, &status) == 0 && S_ISDIR(status.st_mode);
	return NEXT;
}

/* Returns NEXT or the exit code. */
static int parse(int argc, char **argv, struct request *request)
{
	static const struct option options[] = {
		{"to", required_argument, NULL, OPTION_TO},
		{"every", required_argument, NULL, OPTION_EVERY},
		{"label", required_argument, NULL, OPTION_LABEL},
		{"spool", required_argument, NULL, OPTION_SPOOL},
		{"spool-max", required_argument, NULL, OPTION_SPOOL_MAX},
		{"give-up", required_argument, NULL, OPTION_GIVE_UP},
		{"drain", no_argument, NULL, OPTION_DRAIN},
		{"now", no_argument, NULL, OPTION_NOW},
		{"max-stacks", required_argument, NULL, OPTION_MAX_STACKS},
		{"timeout", required_argument, NULL, OPTION_TIMEOUT},
		{"cacert", required_argument, NULL, OPTION_CACERT},
		{"cert", required_argument, NULL, OPTION_CERT},
		{"key", required_argument, NULL, OPTION_KEY},
		{"insecure", no_argument, NULL, OPTION_INSECURE},
		{"user", required_argument, NULL, OPTION_USER},
		{"password-file", required_argument, NULL, OPTION_PASSWORD_FILE},
		{"bearer-file", required_argument, NULL, OPTION_BEARER_FILE},
		{"header", required_argument, NULL, OPTION_HEADER},
		{"tenant", required_argument, NULL, OPTION_TENANT},
		SYMBOL_OPTIONS_ROWS,
		{"quiet", no_argument, NULL, 'q'},
		OPTIONS_LAST_ROWS,
	};
	const struct options known = {"push", ":q", options, set_option, &request->symbols};
	int code = options_parse(&known, argc, argv, request);

	if (code != NEXT)
		return code;
	if (argc - optind < 1 || argc - optind > 2)
		return cmd_usage("push", argc == optind ? "no URL" : "one profile at a time");
	request->url = argv[optind];
	request->push.collect.name = argv[optind + 1];
	return finish(request);
}

static void say(const char *text)
{
	struct error err;

	error_set(&err, "%s", text);
	cmd_fail("push", &err);
}

/* A descriptor that becomes readable when somebody wants the program to end; -1: there is none, and it ends at once then. */
static int open_stop(void)
{
	sigset_t signals;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	if (sigprocmask(SIG_BLOCK, &signals, NULL) != 0)
		return -1;
	return signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

static const char *count_of(uint64_t count, char text[UNITS_SIZE])
{
	snprintf(text, UNITS_SIZE, "%" PRIu64 " profile%s", count, count == 1 ? "" : "s");
	return text;
}

static void print_pushed(const struct request *request, const struct pusher_result *result)
{
	char count[UNITS_SIZE], bytes[UNITS_SIZE];

	if (request->quiet)
		return;
	if (result->nothing_new && result->pushed_count == 0)
		printf("nothing new: it was pushed before\n");
	else
		printf("pushed %s, %s, to %s\n", count_of(result->pushed_count, count),
		       units_bytes(result->pushed_bytes, bytes), request->push.target.url);
}

/* Returns the exit code: whether what should be at the server is there. */
static int print_result(const struct request *request, const struct pusher_result *result)
{
	char count[UNITS_SIZE], text[1200];
	bool ok = result->refused_count == 0 && result->lost_count == 0;

	print_pushed(request, result);
	if (result->lost_count) {
		snprintf(text, sizeof(text), "%s dropped: the spool was full (--spool-max)",
			 count_of(result->lost_count, count));
		say(text);
	}
	if (result->refused_count) {
		snprintf(text, sizeof(text), "%s dropped: the server does not take them",
			 count_of(result->refused_count, count));
		say(text);
	}
	if (result->left_count) {
		snprintf(text, sizeof(text), "%s not delivered%s%s%s",
			 count_of(result->left_count, count),
			 result->spool[0] ? "; to go on: --spool " : "", result->spool,
			 result->spool[0] ? " --drain" : "");
		say(text);
		ok = ok && result->is_stopped && !result->is_temporary;
	}
	return ok ? CMD_OK : CMD_FAILED;
}

static int run(struct request *request)
{
	struct pusher_result result;
	struct error err = {""};
	bool ok;

	request->push.stop = open_stop();
	request->push.say = say;
	request->push.collect.labels = &request->labels;
	request->push.collect.symbols = &request->symbols.symbols;
	ok = pusher_run(&request->push, &result, &err);
	if (request->push.stop >= 0)
		close(request->push.stop);
	return ok ? print_result(request, &result) : cmd_fail("push", &err);
}

int cmd_push(int argc, char **argv)
{
	struct request request = {.push = {.spool_max = UINT64_C(256) << 20,
					   .give_up_ns = 60 * NS_IN_S,
					   .http = {.timeout_ms = 30000}}};
	int code = parse(argc, argv, &request);

	if (code == NEXT)
		code = symbol_options_finish("push");
	if (code == NEXT)
		code = run(&request);
	symbol_options_free(&request.symbols);
	labels_free(&request.labels);
	target_free(&request.push.target);
	return code;
}
