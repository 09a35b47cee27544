/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_table.c - the table of subcommands is whole, and can be searched.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cmd/cmd.h"

/* NULL, or whole lines. */
static void assert_lines(const char *text)
{
	assert_true(!text || (text[0] && text[strlen(text) - 1] == '\n'));
}

static void rows(void **state)
{
	const struct cmd *cmd;
	unsigned count = 0;

	(void)state;
	for (cmd = cmd_table; cmd->name; cmd++, count++) {
		assert_non_null(cmd->run);
		assert_true(strlen(cmd->arguments) > 0 && strlen(cmd->summary) > 0);
		assert_non_null(strstr(cmd->more ? cmd->more : cmd->options, "  --help "));
		assert_lines(cmd->options);
		assert_lines(cmd->more);
		assert_lines(cmd->notes);
		assert_ptr_equal(cmd_find(cmd->name), cmd);
	}
	assert_true(count >= 5);
}

static void find(void **state)
{
	(void)state;
	assert_ptr_equal(cmd_find("run")->run, cmd_run);
	assert_ptr_equal(cmd_find("help")->run, cmd_help);
	assert_null(cmd_find(""));
	assert_null(cmd_find("ru"));
	assert_null(cmd_find("runs"));
	assert_null(cmd_find("--help"));
}

static void codes(void **state)
{
	const struct error err = {"a.prof: line 1\nline 2"};

	(void)state;
	assert_int_equal(cmd_fail("info", &err), CMD_FAILED);
	assert_int_equal(cmd_usage("info", "unknown option %s", "--x"), CMD_USAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows),
		cmocka_unit_test(find),
		cmocka_unit_test(codes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
