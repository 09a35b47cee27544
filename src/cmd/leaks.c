/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * leaks.c - `pmem leaks`: what cannot be reached any more, in a process that runs or at a program's end.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/leaks_parts.h"
#include "cmd/symbol_options.h"

enum { NEXT = -1 }; /* no exit code: go on */

enum {
	OPTION_AT_EXIT = 256,
	OPTION_JSON,
	OPTION_TOP,
	OPTION_SUPPRESSIONS,
	OPTION_ERROR_CODE,
	OPTION_ALL_FRAMES,
	OPTION_HELP,
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
	{"help", no_argument, NULL, OPTION_HELP},
	{NULL, 0, NULL, 0},
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

static int take_option(struct leaks_request *request, int option, const char *argument)
{
	switch (option) {
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
	case 'q':
		request->quiet = true;
		return NEXT;
	case OPTION_HELP:
		cmd_help_print(cmd_find("leaks"));
		return CMD_OK;
	default:
		return symbol_options_set(&request->symbols, "leaks", option, argument);
	}
}

/* A program's arguments are its own; of a process options may also stand behind. */
static const char *letters(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--at-exit") == 0)
			return "+:o:q";
	return ":o:q";
}

/* Returns NEXT or the exit code. */
static int parse(int argc, char **argv, struct leaks_request *request, bool *at_exit)
{
	int option, code = NEXT;

	request->report.view = "leaks";
	request->report.key = SITES_LIVE;
	opterr = 0;
	optind = 1;
	while (code == NEXT &&
	       (option = getopt_long(argc, argv, letters(argc, argv), long_options, NULL)) != -1) {
		if (option == OPTION_AT_EXIT)
			*at_exit = true;
		else if (option == ':' || option == '?')
			code = cmd_bad_option("leaks", option, argv);
		else
			code = take_option(request, option, optarg);
	}
	if (request->json)
		request->report.view = "json";
	return code;
}

static int run(struct leaks_request *request, int argc, char **argv, bool at_exit)
{
	const char *name = argv[0];
	unsigned long pid;

	if (at_exit)
		return argc ? leaks_at_exit(request, argv) : cmd_usage("leaks", "which program?");
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
	bool at_exit = false;
	int code = parse(argc, argv, &request, &at_exit);

	if (code == NEXT)
		code = symbol_options_finish("leaks");
	if (code == NEXT)
		code = run(&request, argc - optind, argv + optind, at_exit);
	suppress_free(&request.suppress);
	symbol_options_free(&request.symbols);
	return code;
}
