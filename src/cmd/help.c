/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * help.c - `pmem help`, `pmem help VERB`.
 */
#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/overview.h"

void overview_print(FILE *file)
{
	const struct cmd *cmd;

	fputs("pmem shows who holds the memory of a program.\n\n"
	      "  pmem run -- ./server --port 80      run it and record\n"
	      "  pmem report                         the newest profile here\n"
	      "  pmem report 4711                    a recorded process that runs\n\n"
	      "Commands:\n",
	      file);
	for (cmd = cmd_table; cmd->name; cmd++)
		fprintf(file, "  %-8s %s\n", cmd->name, cmd->summary);
	fputs("\n`pmem help COMMAND` explains one, `pmem COMMAND --help` in short.\n"
	      "`pmem PROGRAM ...` is short for `pmem run PROGRAM ...`.\n",
	      file);
}

int cmd_help(int argc, char **argv)
{
	const struct cmd *cmd;
	int i = 1;

	if (i < argc && strcmp(argv[i], "--") == 0)
		i++;
	else if (i < argc && argv[i][0] == '-')
		return cmd_usage("help", "unknown option %s", argv[i]);
	if (argc > i + 1)
		return cmd_usage("help", "one command at a time");
	if (argc == i) {
		overview_print(stdout);
		return CMD_OK;
	}
	cmd = cmd_find(argv[i]);
	if (!cmd)
		return cmd_usage("help", "%s is not a command of pmem", argv[i]);
	cmd_help_print_all(cmd);
	return CMD_OK;
}
