/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_run_variables.c - the table of variables is what recorder and tool read, and misspelled ones are noticed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cmd/run_variables.h"

static bool is_in_table(const char *name)
{
	for (size_t i = 0; run_variables[i]; i++)
		if (strcmp(run_variables[i], name) == 0)
			return true;
	return false;
}

/* Every name in quotes in the sources, each once. */
static FILE *names_in_sources(void)
{
	FILE *names = popen("cd '" PMEM_SOURCE_ROOT
			    "/src' && grep -rhoE '\"PMEM_[A-Z_]+\"' --include='*.c' "
			    "--exclude=run_variables.c . | tr -d '\"' | sort -u",
			    "r");

	assert_non_null(names);
	return names;
}

static void the_table_has_what_the_sources_read(void **state)
{
	FILE *names = names_in_sources();
	size_t count = 0, rows = 0;
	char name[128];

	(void)state;
	for (; fscanf(names, "%127s", name) == 1; count++)
		if (!is_in_table(name))
			fail_msg("%s is read, but not in run_variables", name);
	assert_int_equal(pclose(names), 0);
	while (run_variables[rows])
		rows++;
	/* All that are read are in it, and there are no others. */
	assert_int_equal(rows, count);
	assert_true(is_in_table("PMEM_CHURN_THRESH") && is_in_table("PMEM_BLAME"));
}

static void expect_nearest(const char *name, const char *expected)
{
	const char *nearest = run_variables_nearest(name);

	if (expected)
		assert_string_equal(nearest ? nearest : "none", expected);
	else
		assert_null(nearest);
}

static void misspelled_names(void **state)
{
	(void)state;
	expect_nearest("PMEM_CHRUN_THRESH", "PMEM_CHURN_THRESH");
	expect_nearest("PMEM_CHURN", "PMEM_CHURN_THRESH");
	expect_nearest("PMEM_CHURN_THRESHOLD", "PMEM_CHURN_THRESH");
	expect_nearest("PMEM_LOGMAX", "PMEM_LOG_MAX");
	expect_nearest("PMEM_TIMELINE", "PMEM_TIMELINE_MS");
	expect_nearest("PMEM_log_max", "PMEM_LOG_MAX");
	expect_nearest("PMEM_CHILD", "PMEM_CHILDREN");
	expect_nearest("PMEM_OUTPUT", "PMEM_OUT");
	expect_nearest("PMEM_MAX_NODE", "PMEM_MAX_NODES");
	expect_nearest("PMEM_IS_PMEM_FORCE", NULL);
	expect_nearest("PMEM_", NULL);
	expect_nearest(
		"PMEM_"
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
		NULL);
}

static void expect_words(char *const *environment, const char *expected)
{
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	assert_non_null(file);
	run_variables_warn(environment, file);
	fclose(file);
	assert_string_equal(text, expected);
	free(text);
}

static void warnings(void **state)
{
	char *const good[] = {"PMEM_LOG=0", "PMEM_TEST_LIB=x", "PMEM_BUILD_DIR=b",
			      "PMEMX=1",    "HOME=/",	       NULL};
	char *const bad[] = {"PMEM_LGO=0", "PMEM_LOG_MAX=1m", "PMEM_BUILD_DIRS=b", "PMEM_WHATEVER",
			     NULL};

	(void)state;
	expect_words(NULL, "");
	expect_words(good, "");
	expect_words(bad, "pmem: PMEM_LGO means nothing to pmem; did you mean PMEM_LOG?\n"
			  "pmem: PMEM_BUILD_DIRS means nothing to pmem.\n"
			  "pmem: PMEM_WHATEVER means nothing to pmem.\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_table_has_what_the_sources_read),
		cmocka_unit_test(misspelled_names),
		cmocka_unit_test(warnings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
