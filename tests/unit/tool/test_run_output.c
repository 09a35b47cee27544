/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_run_output.c - names of profiles, and older profiles that are in the way.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "cmd/run_output.h"

static char folder[] = "/tmp/pmem-test-100%h-XXXXXX";

static void put(const char *name, const char *content)
{
	FILE *file = fopen(name, "w");

	assert_non_null(file);
	fputs(content, file);
	fclose(file);
}

static void expect_content(const char *name, const char *expected)
{
	FILE *file = fopen(name, "r");
	char text[100] = "";

	assert_non_null(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = 0;
	fclose(file);
	assert_string_equal(text, expected);
}

static void expect_pattern(const char *name, const char *pattern_folder, const char *file)
{
	struct run_output output;
	struct error err = {""};
	char expected[300];

	if (!run_output_prepare(name, &output, &err))
		fail_msg("%s", err.text);
	snprintf(expected, sizeof(expected), "%s/%s", pattern_folder, file);
	assert_string_equal(output.pattern, expected);
	assert_string_equal(output.folder, pattern_folder[0] ? pattern_folder : "/");
	assert_null(output.moved);
	run_output_free(&output);
	assert_null(output.pattern);
}

static void patterns(void **state)
{
	char path[200];

	(void)state;
	expect_pattern(NULL, folder, "pmem.%p.prof");
	expect_pattern("x", folder, "x.prof");
	expect_pattern("x.prof", folder, "x.prof");
	expect_pattern(".prof", folder, ".prof.prof");
	expect_pattern("%e-%p-%h-%t-%%", folder, "%e-%p-%h-%t-%%.prof");
	snprintf(path, sizeof(path), "%s/y.prof", folder);
	expect_pattern(path, folder, "y.prof");
	expect_pattern("/x-%p.prof", "", "x-%p.prof");
	mkdir("sub", 0700);
	snprintf(path, sizeof(path), "%s/sub", folder);
	expect_pattern("sub/z", path, "z.prof");
}

static void expect_refused(const char *name, const char *message)
{
	struct run_output output;
	struct error err = {""};

	assert_false(run_output_prepare(name, &output, &err));
	assert_string_equal(err.text, message);
	assert_null(output.pattern);
	assert_null(output.folder);
	assert_null(output.moved);
}

static void refused(void **state)
{
	(void)state;
	expect_refused("", "-o: the file's name is empty");
	expect_refused("%", "-o %: a percent sign at the end; %% means one");
	expect_refused("%%%", "-o %%%: a percent sign at the end; %% means one");
	expect_refused("%d", "-o %d: %d is not known; %p %h %e %t and %% are");
	expect_refused("/no/such/x",
		       "/no/such: profiles cannot be written there: No such file or directory");
	expect_refused("/dev/null/x",
		       "/dev/null: profiles cannot be written there: Not a directory");
	expect_refused("/", "-o /: is a folder; -o /pmem.%p.prof writes there");
	expect_refused("/tmp", "-o /tmp: is a folder; -o /tmp/pmem.%p.prof writes there");
}

static void older_profile(void **state)
{
	struct run_output output;
	struct error err = {""};

	(void)state;
	put("50%.prof", "pmemprof 1");
	put("50%.log", "# pmem log of 1");
	assert_true(run_output_prepare("50%%", &output, &err));
	assert_string_equal(strrchr(output.moved, '/'), "/50%.prof.old");
	run_output_free(&output);
	expect_content("50%.prof.old", "pmemprof 1");
	expect_content("50%.log.old", "# pmem log of 1");
	assert_int_not_equal(access("50%.prof", F_OK), 0);
	assert_int_not_equal(access("50%.log", F_OK), 0);
	/* Again: the older one makes room; a log that is none stays. */
	put("50%.prof", "pmemprof 2");
	put("50%.log", "my own");
	assert_true(run_output_prepare("50%%.prof", &output, &err));
	run_output_free(&output);
	expect_content("50%.prof.old", "pmemprof 2");
	expect_content("50%.log", "my own");
	expect_content("50%.log.old", "# pmem log of 1");
}

static void somebody_elses_file(void **state)
{
	struct run_output output;
	struct error err = {""};

	(void)state;
	put("mine.prof", "pmempro");
	assert_false(run_output_prepare("mine", &output, &err));
	assert_non_null(
		strstr(err.text, "/mine.prof: exists and is no profile of pmem: not overwritten"));
	expect_content("mine.prof", "pmempro");
	put("mine.prof", "pmemprof");
	put("mine.prof.old", "mine");
	assert_false(run_output_prepare("mine", &output, &err));
	expect_content("mine.prof", "pmemprof");
	expect_content("mine.prof.old", "mine");
	/* A link is not followed. */
	assert_int_equal(symlink("mine.prof", "link.prof"), 0);
	assert_false(run_output_prepare("link", &output, &err));
	/* With a number that the recorder chooses nothing is in the way. */
	put("x-%p.prof", "text");
	assert_true(run_output_prepare("x-%p.prof", &output, &err));
	run_output_free(&output);
	expect_content("x-%p.prof", "text");
}

static int enter_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) ? chdir(folder) : -1;
}

static int remove_folder(void **state)
{
	static const char *const names[] = {"50%.prof.old",  "50%.log.old", "50%.log",	"mine.prof",
					    "mine.prof.old", "link.prof",   "x-%p.prof"};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		unlink(names[i]);
	rmdir("sub");
	return chdir("/") || rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(patterns),
		cmocka_unit_test(refused),
		cmocka_unit_test(older_profile),
		cmocka_unit_test(somebody_elses_file),
	};

	return cmocka_run_group_tests(tests, enter_folder, remove_folder);
}
