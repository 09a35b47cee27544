/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * serve.c - `pmem serve`: recorded processes and profiles in a browser, as they are now.
 */
#include "serve/serve.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/output.h"
#include "cmd/cmd.h"
#include "cmd/info_text.h"
#include "cmd/options.h"

enum {
	NEXT = OPTIONS_NEXT,
	OPTION_PORT = 256,
	OPTION_LISTEN,
	OPTION_TOKEN_FILE,
	OPTION_SITES,
};

enum { PORT_MAX = 65535 };

struct request {
	struct serve_options serve;
	struct symbol_options symbols;
};

static int set_number(struct request *request, int option, const char *text)
{
	unsigned long value;

	if (option == OPTION_PORT) {
		if (!cmd_parse_number(text, PORT_MAX, &value))
			return cmd_usage("serve", "--port %s: no number up to %d", text, PORT_MAX);
		request->serve.port = (uint16_t)value;
	} else {
		if (!cmd_parse_number(text, SERVE_SITES_MAX, &value))
			return cmd_usage("serve", "--sites %s: no number up to %d", text,
					 SERVE_SITES_MAX);
		request->serve.sites = (unsigned)value;
	}
	return NEXT;
}

static int set_option(void *to, int option, const char *argument)
{
	struct request *request = to;

	switch (option) {
	case OPTION_PORT:
	case OPTION_SITES:
		return set_number(request, option, argument);
	case OPTION_LISTEN:
		request->serve.listen = argument;
		return NEXT;
	default:
		request->serve.token_file = argument;
		return NEXT;
	}
}

/* Returns NEXT or the exit code. */
static int parse(int argc, char **argv, struct request *request)
{
	static const struct option options[] = {
		{"port", required_argument, NULL, OPTION_PORT},
		{"listen", required_argument, NULL, OPTION_LISTEN},
		{"token-file", required_argument, NULL, OPTION_TOKEN_FILE},
		{"sites", required_argument, NULL, OPTION_SITES},
		SYMBOL_OPTIONS_ROWS,
		OPTIONS_LAST_ROWS,
	};
	const struct options known = {"serve", ":", options, set_option, &request->symbols};
	int code = options_parse(&known, argc, argv, request);

	if (code != NEXT)
		return code;
	if (argc - optind > 1)
		return cmd_usage("serve", "one profile, process or folder, not %d", argc - optind);
	request->serve.name = argv[optind];
	return NEXT;
}

static struct serve *running; /* for the handler */

static void handle(int number)
{
	(void)number;
	serve_stop(running);
}

/* The second time a signal does what it does by itself: for who does not want to wait for what is being made. */
static void handle_signals(struct serve *serve)
{
	struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESETHAND};

	running = serve;
	sigemptyset(&action.sa_mask);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	action = (struct sigaction){.sa_handler = SIG_IGN};
	sigaction(SIGPIPE, &action, NULL);
}

static int run(const struct request *request)
{
	struct serve *serve;
	struct error err = {""};
	bool ok;

	if (!serve_open(&request->serve, &serve, &err))
		return cmd_fail("serve", &err);
	handle_signals(serve);
	if (serve_is_open(serve))
		fprintf(stderr,
			"pmem serve: other machines can reach this address. Whoever knows it sees "
			"the "
			"names,\n"
			"arguments and call stacks of what is served; it is sent unencrypted.\n");
	printf("pmem serve: %s\n", serve_address(serve));
	/* An address that nobody learns is of no use. */
	ok = output_flush(stdout) || error_set_errno(&err, "standard output");
	if (ok)
		serve_run(serve);
	serve_close(serve);
	return ok ? CMD_OK : cmd_fail("serve", &err);
}

int cmd_serve(int argc, char **argv)
{
	struct request request = {.serve.sites = SERVE_SITES};
	int code = parse(argc, argv, &request);

	if (code == NEXT)
		code = symbol_options_finish("serve");
	request.serve.how = (struct opened_how){&request.symbols.symbols, info_text_print, NULL};
	if (code == NEXT)
		code = run(&request);
	symbol_options_free(&request.symbols);
	return code;
}
