/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * main.c - finds the verb.
 *
 * A first word that is no verb is a program to run.  --help is understood here for all verbs but run, whose arguments
 * may be those of another program.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/output.h"
#include "cmd/cmd.h"
#include "cmd/overview.h"
#include "core/version.h"

/* A program that was started without one of the standard descriptors would write its messages into the first file it
 * opens.  Opened close-on-exec: the program that `run` starts gets what pmem got.  What is written to standard output must
 * not be lost silently: a folder takes nothing, under whatever name. */
static void fill_standard_descriptors(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) >= 0)
			continue;
		/* Gets the lowest number that is free: fd. */
		if (fd == STDOUT_FILENO)
			open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		else
			open("/dev/null", O_RDWR | O_CLOEXEC);
	}
}

static bool asks_for_help(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strcmp(argv[i], "--help") == 0 || (i == 1 && strcmp(argv[i], "-h") == 0))
			return true;
	return false;
}

static int run_verb(const struct cmd *cmd, int argc, char **argv)
{
	if (cmd->run == cmd_run || !asks_for_help(argc, argv))
		return cmd->run(argc, argv);
	cmd_help_print(cmd);
	return CMD_OK;
}

static int dispatch(int argc, char **argv)
{
	const struct cmd *cmd;

	if (argc < 2) {
		overview_print(stderr);
		return CMD_USAGE;
	}
	if (strcmp(argv[1], "--version") == 0) {
		printf("pmem %s\n", PMEM_VERSION);
		return CMD_OK;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		overview_print(stdout);
		return CMD_OK;
	}
	cmd = cmd_find(argv[1]);
	return cmd ? run_verb(cmd, argc - 1, argv + 1) : cmd_run(argc, argv);
}

/* A report that did not reach its file must not pass for one that did. */
static bool flush_output(void)
{
	struct error err;

	if (output_finish(stdout, &err))
		return true;
	fprintf(stderr, "pmem: %s\n", err.text);
	return false;
}

int main(int argc, char **argv)
{
	int code;

	fill_standard_descriptors();
	code = dispatch(argc, argv);
	/* What failed has said so, be it this. */
	if (code == CMD_OK && !flush_output())
		code = CMD_FAILED;
	return code;
}
