/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * main.c - finds the verb.
 *
 * A first word that is no verb is a program to run.  --help is understood here for all verbs but run, whose arguments
 * may be those of another program.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/overview.h"
#include "core/version.h"

/* A program that was started without one of the standard descriptors would write its messages into the first file it
 * opens.  Opened close-on-exec: the program that `run` starts gets what pmem got. */
static void fill_standard_descriptors(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd > STDERR_FILENO)
		close(fd);
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

/* Where SIGPIPE is ignored: the failed write was an earlier one, whose errno is gone. */
static bool reader_is_gone(void)
{
	struct pollfd output = {.fd = STDOUT_FILENO, .events = POLLOUT};

	return poll(&output, 1, 0) == 1 && (output.revents & POLLERR);
}

/* A report that did not reach its file must not pass for one that did.  EPIPE: the reader has had enough. */
static bool flush_output(void)
{
	errno = 0;
	if (!ferror(stdout) && fflush(stdout) == 0)
		return true;
	if (errno == EPIPE || (!errno && reader_is_gone()))
		return true;
	fprintf(stderr, "pmem: standard output: %s\n", errno ? strerror(errno) : "write error");
	return false;
}

int main(int argc, char **argv)
{
	int code;

	fill_standard_descriptors();
	code = dispatch(argc, argv);
	if (!flush_output() && code == CMD_OK)
		code = CMD_FAILED;
	return code;
}
