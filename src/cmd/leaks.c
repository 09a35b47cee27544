/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * leaks.c - `pmem leaks`: what cannot be reached any more, in a process that runs or at a program's end.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/leaks_parts.h"
#include "cmd/options.h"

enum { NEXT = OPTIONS_NEXT }; /* no exit code: go on */

enum {
	OPTION_AT_EXIT = 256,
	OPTION_JSON,
	OPTION_TOP,
	OPTION_SUPPRESSIONS,
	OPTION_ERROR_CODE,
	OPTION_ALL_FRAMES,
};

static const struct option long_options[] = {
	{"at-exit", no_argument, NULL, OPTION_AT_EXIT},
	{"json", no_argument, NULL, OPTION_JSON},
	{"top", required_argument, NULL, OPTION_TOP},
	{"output", required_argument, NULL, 'o'},
	{"suppressions", required_argument, NULL, OPTION_SUPPRESSIONS},
	{"error-exitcode", required_argument, NULL, OPTION_ERROR_CODE},
	{"all-frames", no_argument, NULL, OPTION_ALL_FRAMES},
	{"quiet", no_argument, NULL, 'q'},
	SYMBOL_OPTIONS_ROWS,
	OPTIONS_LAST_ROWS,
};

static int set_top(struct leaks_request *request, const char *text)
{
	unsigned long value;

	if (!cmd_parse_number(text, 1000000, &value) || value == 0)
		return cmd_usage("leaks", "--top %s: no number from 1 to 1000000", text);
	request->report.top = (unsigned)value;
	return NEXT;
}

static int set_error_code(struct leaks_request *request, const char *text)
{
	unsigned long value;

	if (!cmd_parse_number(text, 255, &value))
		return cmd_usage("leaks", "--error-exitcode %s: no number from 0 to 255", text);
	request->error_code = (int)value;
	return NEXT;
}

static int add_suppressions(struct leaks_request *request, const char *path)
{
	struct error err;

	return suppress_read(&request->suppress, path, &err) ? NEXT : cmd_fail("leaks", &err);
}

static int take_option(void *to, int option, const char *argument)
{
	struct leaks_request *request = to;

	switch (option) {
	case OPTION_AT_EXIT:
		request->at_exit = true;
		return NEXT;
	case OPTION_JSON:
		request->json = true;
		return NEXT;
	case OPTION_TOP:
		return set_top(request, argument);
	case OPTION_ERROR_CODE:
		return set_error_code(request, argument);
	case OPTION_SUPPRESSIONS:
		return add_suppressions(request, argument);
	case OPTION_ALL_FRAMES:
		request->report.all_frames = true;
		return NEXT;
	case 'o':
		request->output = argument;
		return NEXT;
	default:
		request->quiet = true;
		return NEXT;
	}
}

/* Looked for before the other options, as their mistakes have another exit code then, which must not look like the program's own.  It may be
 * cut short, as getopt_long() allows. */
static bool wants_at_exit(int argc, char **argv)
{
	static const char option[] = "--at-exit";

	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strlen(argv[i]) > 3 && strncmp(argv[i], option, strlen(argv[i])) == 0)
			return true;
	return false;
}

/* Returns NEXT or the exit code. */
static int parse(int argc, char **argv, struct leaks_request *request)
{
	/* A program's arguments are its own; of a process options may also stand behind. */
	const struct options options = {"leaks", wants_at_exit(argc, argv) ? "+:o:q" : ":o:q",
					long_options, take_option, &request->symbols};
	int code;

	request->report.view = "leaks";
	request->report.key = SITES_LIVE;
	code = options_parse(&options, argc, argv, request);
	if (request->json)
		request->report.view = "json";
	return code;
}

static int run(struct leaks_request *request, int argc, char **argv)
{
	const char *name = argv[0];
	unsigned long pid;

	if (request->at_exit && argc)
		return leaks_at_exit(request, argv);
	if (request->at_exit) {
		cmd_usage("leaks", "which program?");
		return CMD_RUN_FAILED;
	}
	if (argc != 1)
		return cmd_usage("leaks", argc ? "one process at a time, not %d" : "which process?",
				 argc);
	if (!cmd_parse_number(name, INT32_MAX, &pid) || pid == 0)
		return cmd_usage(
			"leaks",
			"%s is no process id: what is reachable can be told of a process that "
			"runs only; what was not freed: pmem report --leaks",
			name);
	return leaks_live(request, name);
}

int cmd_leaks(int argc, char **argv)
{
	struct leaks_request request = {.json = false};
	int code = parse(argc, argv, &request);

	if (code == NEXT)
		code = symbol_options_finish("leaks");
	if (code == NEXT)
		code = run(&request, argc - optind, argv + optind);
	else if (code != CMD_OK && wants_at_exit(argc, argv))
		code = CMD_RUN_FAILED;
	suppress_free(&request.suppress);
	symbol_options_free(&request.symbols);
	return code;
}
