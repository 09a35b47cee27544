/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_output.c - widths, shortening, safe text, colours, and the pager on a pseudo-terminal.
 *
 * What needs a terminal runs in a child whose standard output is one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/output.h"

static char *text;
static size_t text_size;

static struct output begin(void)
{
	return (struct output){.file = open_memstream(&text, &text_size), .width = 80};
}

static void expect(const struct output *out, const char *expected)
{
	fclose(out->file);
	assert_string_equal(text, expected);
	free(text);
}

static void expect_shortened(const char *given, unsigned width, const char *expected)
{
	struct output out = begin();

	output_shortened(&out, given, width);
	expect(&out, expected);
}

static void shortened(void **state)
{
	(void)state;
	expect_shortened("short", 5, "short");
	expect_shortened("", 0, "");
	expect_shortened("Session::remember", 16, "Session::...mber");
	expect_shortened("0123456789abcdefghijklmnop", 19, "0123456789a...lmnop");
	expect_shortened("0123456789", 4, "0...");
	expect_shortened("0123456789", 3, "012");
	expect_shortened("0123456789", 0, "");
	expect_shortened("\xc3\xa4\xc3\xb6\xc3\xbc\xe2\x82\xac"
			 "12345",
			 8, "\xc3\xa4\xc3\xb6\xc3\xbc\xe2\x82\xac...5");
	expect_shortened("a\x1b[31mb", 7, "a?[31mb");
	expect_shortened("\xff\xff\xff\xff\xff\xff", 5, "??...");
}

static void safe(void **state)
{
	struct output out = begin();

	(void)state;
	output_safe(&out, "ok \xe2\x82\xac\n\t\x1b[2J\x7f\xc2\x9b\xc2\xa0\xff\xe2\x82");
	expect(&out, "ok \xe2\x82\xac???[2J??\xc2\xa0???");
}

static void columns(void **state)
{
	(void)state;
	assert_int_equal(output_columns(""), 0);
	assert_int_equal(output_columns("abc"), 3);
	assert_int_equal(output_columns("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"), 3);
	assert_int_equal(output_columns("\xff\xfe"), 2);
	assert_int_equal(output_columns("\x1b[1mbold\x1b[0m"), 4);
	assert_int_equal(output_columns("\x1b["), 2);
	assert_int_equal(output_columns("\x1b[12;3"), 6);
}

static void style(void **state)
{
	struct output out = {.colors = false};
	static const enum output_style styles[] = {OUTPUT_PLAIN, OUTPUT_BOLD,  OUTPUT_DIM,
						   OUTPUT_RED,	 OUTPUT_GREEN, OUTPUT_YELLOW};
	static const char *const expected[] = {"\033[0m",  "\033[1m",  "\033[2m",
					       "\033[31m", "\033[32m", "\033[33m"};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(styles) / sizeof(*styles); i++) {
		out.colors = false;
		assert_string_equal(output_style(&out, styles[i]), "");
		out.colors = true;
		assert_string_equal(output_style(&out, styles[i]), expected[i]);
	}
}

/* Does work(argument) in a child whose standard output is a terminal of 100 columns, or a pipe; returns what came out. */
static const char *in_child(void (*work)(const char *), const char *argument, bool terminal)
{
	static char got[4096];
	struct winsize size = {.ws_row = 24, .ws_col = 100};
	int ends[2], status;
	size_t length = 0;
	ssize_t count;
	pid_t pid;

	if (terminal) {
		ends[0] = posix_openpt(O_RDWR | O_NOCTTY);
		assert_true(ends[0] >= 0 && grantpt(ends[0]) == 0 && unlockpt(ends[0]) == 0);
		ends[1] = open(ptsname(ends[0]), O_RDWR | O_NOCTTY);
		assert_true(ends[1] >= 0 && ioctl(ends[1], TIOCSWINSZ, &size) == 0);
	} else {
		assert_int_equal(pipe(ends), 0);
	}
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		dup2(ends[1], STDOUT_FILENO);
		close(ends[0]);
		close(ends[1]);
		work(argument);
		fflush(NULL);
		_exit(0);
	}
	close(ends[1]);
	while ((count = read(ends[0], got + length, sizeof(got) - 1 - length)) > 0)
		length += (size_t)count;
	got[length] = 0;
	close(ends[0]);
	assert_true(waitpid(pid, &status, 0) == pid);
	assert_int_equal(status, 0);
	return got;
}

static void print_facts(const char *unused)
{
	struct output out;

	(void)unused;
	output_begin(&out);
	fprintf(out.file, "colors=%d width=%u", out.colors, out.width);
	output_end(&out);
}

static void facts(void **state)
{
	(void)state;
	setenv("PMEM_PAGER", "", 1);
	setenv("TERM", "xterm", 1);
	unsetenv("NO_COLOR");
	unsetenv("COLUMNS");
	assert_string_equal(in_child(print_facts, "", false), "colors=0 width=80");
	setenv("COLUMNS", "132", 1);
	assert_string_equal(in_child(print_facts, "", false), "colors=0 width=132");
	assert_string_equal(in_child(print_facts, "", true), "colors=1 width=100");
	setenv("COLUMNS", "7", 1);
	assert_string_equal(in_child(print_facts, "", false), "colors=0 width=40");
	setenv("COLUMNS", "many", 1);
	assert_string_equal(in_child(print_facts, "", false), "colors=0 width=80");
	setenv("NO_COLOR", "1", 1);
	assert_string_equal(in_child(print_facts, "", true), "colors=0 width=100");
	setenv("NO_COLOR", "", 1);
	assert_string_equal(in_child(print_facts, "", true), "colors=1 width=100");
	setenv("TERM", "dumb", 1);
	assert_string_equal(in_child(print_facts, "", true), "colors=0 width=100");
}

static void page(const char *pager)
{
	struct output out;

	setenv("PMEM_PAGER", pager, 1);
	output_begin(&out);
	fputs("body", out.file);
	output_end(&out);
	fputs("|after", stdout);
}

static void pager(void **state)
{
	(void)state;
	assert_string_equal(in_child(page, "tr b B", true), "Body|after");
	/* No terminal, no pager; an empty name, no pager. */
	assert_string_equal(in_child(page, "tr b B", false), "body|after");
	assert_string_equal(in_child(page, "", true), "body|after");
}

/* More than a pipe holds, to a pager that reads nothing; then the signals must be as before. */
static void page_much(const char *pager_command)
{
	struct sigaction action;
	struct output out;
	unsigned i;

	setenv("PMEM_PAGER", pager_command, 1);
	output_begin(&out);
	for (i = 0; i < 100000; i++)
		fputs("0123456789", out.file);
	output_end(&out);
	sigaction(SIGPIPE, NULL, &action);
	printf("%d", action.sa_handler == SIG_DFL);
	sigaction(SIGINT, NULL, &action);
	printf("%d", action.sa_handler == SIG_DFL);
}

static void pager_was_quit(void **state)
{
	(void)state;
	assert_string_equal(in_child(page_much, "true", true), "11");
}

static void make_progress(const char *unused)
{
	(void)unused;
	dup2(STDOUT_FILENO, STDERR_FILENO);
	output_progress("reading", 1, 4);
	output_progress("reading", 2, 4); /* too soon */
	output_progress_end();
	output_progress_end(); /* nothing is shown any more */
	output_progress("reading", 7, 0);
}

static void progress(void **state)
{
	(void)state;
	setenv("TERM", "xterm", 1);
	assert_string_equal(in_child(make_progress, "", true),
			    "\rreading 25 %\033[K\r\033[K\rreading 7\033[K");
	assert_string_equal(in_child(make_progress, "", false), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shortened),	  cmocka_unit_test(safe),
		cmocka_unit_test(columns),	  cmocka_unit_test(style),
		cmocka_unit_test(facts),	  cmocka_unit_test(pager),
		cmocka_unit_test(pager_was_quit), cmocka_unit_test(progress),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
