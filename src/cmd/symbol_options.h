/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * symbol_options.h - the options about names and whose they are, the same for all commands that show names.
 */
#ifndef PMEM_CMD_SYMBOL_OPTIONS_H
#define PMEM_CMD_SYMBOL_OPTIONS_H
#include <getopt.h>

#include "symbol/symbols.h"

enum {
	SYMBOL_OPTIONS_SYSROOT = 1024, /* what getopt_long() returns for them */
	SYMBOL_OPTIONS_DEBUG_DIR,
	SYMBOL_OPTIONS_DEBUGINFOD,
	SYMBOL_OPTIONS_BLAME,
	SYMBOL_OPTIONS_END,
};

/* Rows for getopt_long(). */
#define SYMBOL_OPTIONS_ROWS                                                       \
	{"sysroot", required_argument, NULL, SYMBOL_OPTIONS_SYSROOT},             \
		{"debug-dir", required_argument, NULL, SYMBOL_OPTIONS_DEBUG_DIR}, \
		{"debuginfod", no_argument, NULL, SYMBOL_OPTIONS_DEBUGINFOD},     \
	{                                                                         \
		"blame", required_argument, NULL, SYMBOL_OPTIONS_BLAME            \
	}

/* Their lines for cmd.options, with names as wide as those of `pmem report`. */
#define SYMBOL_OPTIONS_HELP                                                                  \
	"      --sysroot DIR       look for the program's files below DIR\n"                 \
	"      --debug-dir DIR     look for debug files there too, as in /usr/lib/debug;\n"  \
	"                          can be repeated\n"                                        \
	"      --debuginfod        ask the servers of $DEBUGINFOD_URLS for files that are\n" \
	"                          not here\n"                                               \
	"      --blame FILE        own rules about whose code is whose\n"

/* All 0 = none given. */
struct symbol_options {
	struct symbols_options symbols;
	char *paths[SYMBOLS_DEBUG_DIRS + 1]; /* of symbols */
	unsigned path_count;
};

/* Takes an option of the rows; verb is for messages.  Returns -1, or the exit code of a wrong argument. */
int symbol_options_set(struct symbol_options *options, const char *verb, int option,
		       const char *argument);

/* After the last option: puts the user's rules of blame into use if no option named some.  Returns -1, or an exit code. */
int symbol_options_finish(const char *verb);
void symbol_options_free(struct symbol_options *options);

#endif
