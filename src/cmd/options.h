/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * options.h - the options of a command, from first to last: what is the same in all of them.
 */
#ifndef PMEM_CMD_OPTIONS_H
#define PMEM_CMD_OPTIONS_H
#include <getopt.h>

#include "cmd/symbol_options.h"

/* What options_parse() and what it calls return to go on; all else is an exit code. */
enum { OPTIONS_NEXT = -1 };

/* What getopt_long() returns for --help, the last row of all commands. */
enum { OPTIONS_HELP = 2048 };

#define OPTIONS_LAST_ROWS                          \
	{"help", no_argument, NULL, OPTIONS_HELP}, \
	{                                          \
		NULL, 0, NULL, 0                   \
	}

struct options {
	const char *verb;
	const char *letters; /* those with one letter, as for getopt_long(), behind ":" */
	const struct option *rows;
	/* Takes one of them, and its argument. */
	int (*take)(void *request, int option, const char *argument);
	struct symbol_options *symbols; /* takes those of SYMBOL_OPTIONS_ROWS; NULL: there are none */
};

/* Hands all options to where they belong, and says what is wrong with them; the first argument is argv[optind] then. */
int options_parse(const struct options *options, int argc, char **argv, void *request);

/* Says what is wrong with a profile that may have a moment, "FILE@TIME", as far as the text shows it. */
int options_check_moment(const char *verb, const char *text);

#endif
