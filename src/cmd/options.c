/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * options.c - see options.h.
 */
#include "cmd/options.h"

#include "cmd/cmd.h"
#include "profile/diff_moment.h"

static int take(const struct options *options, int option, char **argv, void *request)
{
	if (option == ':' || option == '?')
		return cmd_bad_option(options->verb, option, argv);
	if (option == OPTIONS_HELP) {
		cmd_help_print(cmd_find(options->verb));
		return CMD_OK;
	}
	if (option >= SYMBOL_OPTIONS_SYSROOT && option < SYMBOL_OPTIONS_END)
		return symbol_options_set(options->symbols, options->verb, option, optarg);
	return options->take(request, option, optarg);
}

int options_parse(const struct options *options, int argc, char **argv, void *request)
{
	int option, code = OPTIONS_NEXT;

	opterr = 0;
	optind = 1;
	while (code == OPTIONS_NEXT &&
	       (option = getopt_long(argc, argv, options->letters, options->rows, NULL)) != -1)
		code = take(options, option, argv, request);
	return code;
}

int options_check_moment(const char *verb, const char *text)
{
	if (diff_moment_is_well_formed(text))
		return OPTIONS_NEXT;
	return cmd_usage(verb, "%s: no time such as 90s, 10m, -10m, 10:42:13 or end", text);
}
