/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cmd.h - the subcommands of pmem, and how to add one.
 *
 * A subcommand is a file src/cmd/VERB.c with int cmd_VERB(int argc, char **argv), a row in the table of
 * table.c, a man page doc/man/pmem-VERB.1.scd and its words in the completions.  It parses argv with getopt_long() (argv[0] is the verb),
 * prints and returns the exit code.  Everything below src/cmd returns errors instead.
 */
#ifndef PMEM_CMD_CMD_H
#define PMEM_CMD_CMD_H
#include <stdbool.h>

#include "base/error.h"

/* Exit codes; `run` passes the program's own on and fails with 125 (pmem), 126 (cannot be executed), 127 (not found). */
enum { CMD_OK = 0, CMD_FAILED = 1, CMD_USAGE = 2 };

enum { CMD_RUN_FAILED = 125, CMD_RUN_CANNOT = 126, CMD_RUN_NOT_FOUND = 127 };

struct cmd {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *arguments; /* "[FILE|PID|DIR]" */
	const char *summary;   /* one line for `pmem help` */
	const char *options;   /* the most used, lines "  --top N      ..." */
	const char *more; /* the others, which only `pmem help VERB` shows; NULL = there are none */
	const char *notes; /* lines of text; NULL = none */
};

/* All subcommands; a row without name ends the table. */
extern const struct cmd cmd_table[];

/* The row of a name, or NULL. */
const struct cmd *cmd_find(const char *name);

/* Prints "pmem VERB: message" on stderr; returns CMD_FAILED. */
int cmd_fail(const char *verb, const struct error *err);

/* Prints "pmem VERB: message" and how to get help on stderr; returns CMD_USAGE. */
int cmd_usage(const char *verb, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What getopt_long(), with ":" at the start of its letters, calls ':' or '?': an option without its argument, or an unknown one.  As
 * cmd_usage(). */
int cmd_bad_option(const char *verb, int option, char *const *argv);

/* A whole number in digits, up to most.  False: it is none, and *number is as it was. */
bool cmd_parse_number(const char *text, unsigned long most, unsigned long *number);

/* Prints the help of a verb on stdout: for `pmem VERB --help` what fits on a screen of 80x24, and all for `pmem help VERB`. */
void cmd_help_print(const struct cmd *cmd);
void cmd_help_print_all(const struct cmd *cmd);

int cmd_run(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_leaks(int argc, char **argv);
int cmd_info(int argc, char **argv);
int cmd_bundle(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_html(int argc, char **argv);
int cmd_push(int argc, char **argv);
int cmd_serve(int argc, char **argv);
int cmd_help(int argc, char **argv);

#endif
