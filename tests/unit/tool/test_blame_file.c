/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_blame_file.c - the user's rules: syntax, mistakes, which rule wins, where the file is looked for.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "profile/blame_file.h"

static char folder[64];
static struct blame_file file;

static bool parse(const char *text, struct error *err)
{
	err->text[0] = '\0';
	return blame_file_parse(text, strlen(text), "rules", &file, err);
}

static void expect_rules(const char *text, const struct blame_rule *rules, size_t count)
{
	struct error err;

	assert_true(parse(text, &err));
	assert_int_equal(file.count, count);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(file.rules[i].blame, rules[i].blame);
		assert_int_equal(!file.rules[i].module, !rules[i].module);
		assert_int_equal(!file.rules[i].function, !rules[i].function);
		if (rules[i].module)
			assert_string_equal(file.rules[i].module, rules[i].module);
		if (rules[i].function)
			assert_string_equal(file.rules[i].function, rules[i].function);
	}
	blame_file_free(&file);
}

static void syntax(void **state)
{
	static const struct blame_rule rules[] = {
		{BLAME_RUNTIME, "libbase.so*", BLAME_ALL_NAMES, NULL},
		{BLAME_RUNTIME, NULL, BLAME_ALL_NAMES, "base::*"},
		{BLAME_OWN, "libbase.so*", BLAME_ALL_NAMES, "base::Cache::*"},
		{BLAME_OWN, NULL, BLAME_ALL_NAMES, "<app::Tree as core::clone::Clone>::clone"},
		{BLAME_OWN, "", BLAME_ALL_NAMES, "JS:*order *"},
		{BLAME_RUNTIME, NULL, BLAME_ALL_NAMES, "module:x"},
	};

	(void)state;
	expect_rules("# ours\n"
		     "\n"
		     "   \t \n"
		     "runtime module:libbase.so*\n"
		     "runtime function:base::*  \r\n"
		     "  own\tmodule:libbase.so*\tfunction:base::Cache::*\n"
		     "own function:<app::Tree as core::clone::Clone>::clone\n"
		     "own module:\"\" function:JS:*order *\n"
		     "  # runtime function:no\n"
		     "runtime function:module:x",
		     rules, 6);
	expect_rules("", NULL, 0);
	expect_rules("\n\n#", NULL, 0);
}

static void many_rules(void **state)
{
	enum { COUNT = 5000 };
	char *text = malloc(COUNT * 32);
	char *at = text;
	char name[32];
	struct error err;

	(void)state;
	assert_non_null(text);
	for (int i = 0; i < COUNT; i++)
		at += sprintf(at, "own function:f%d\n", i);
	assert_true(parse(text, &err));
	assert_int_equal(file.count, COUNT);
	for (int i = 0; i < COUNT; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		assert_string_equal(file.rules[i].function, name);
	}
	blame_file_free(&file);
	free(text);
}

static void mistakes(void **state)
{
	static const struct {
		const char *text, *message;
	} rows[] = {
		{"own", "rules:1: module:PATTERN or function:PATTERN is missing"},
		{"own \n", "rules:1: module:PATTERN or function:PATTERN is missing"},
		{"\n\nowner function:x", "rules:3: a rule begins with own or runtime, not \"owner "
					 "function:x\""},
		{"function:x", "rules:1: a rule begins with own or runtime, not \"function:x\""},
		{"own function:", "rules:1: function: without a pattern"},
		{"# x\nown module: function:x", "rules:2: module: without a pattern"},
		{"own module:a b", "rules:1: module:PATTERN or function:PATTERN is expected, not "
				   "\"b\""},
		{"own x", "rules:1: module:PATTERN or function:PATTERN is expected, not \"x\""},
		{"own module:/usr/lib/a.so",
		 "rules:1: a module is named by the last part of its path, without \"/\""},
		{"own function:\x01", "rules:1: a control character"},
		{"own function:a\nruntime function:b\nown function:\x7f\n",
		 "rules:3: a control character"},
	};
	struct error err;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_false(parse(rows[i].text, &err));
		assert_string_equal(err.text, rows[i].message);
		assert_null(file.rules);
	}
	assert_false(blame_file_parse("own function:x\0y\n", 17, "rules", &file, &err));
	assert_string_equal(err.text, "rules:1: a control character");
}

static void limits(void **state)
{
	char *text = malloc(BLAME_FILE_SIZE_MAX + 2);
	struct error err;

	(void)state;
	assert_non_null(text);
	memset(text, '\n', BLAME_FILE_SIZE_MAX + 1);
	assert_false(blame_file_parse(text, BLAME_FILE_SIZE_MAX + 1, "rules", &file, &err));
	assert_string_equal(err.text, "rules: larger than a file of rules may be");
	assert_true(blame_file_parse(text, BLAME_FILE_SIZE_MAX, "rules", &file, &err));
	blame_file_free(&file);
	memset(text, 'x', BLAME_FILE_LINE_MAX + 1);
	memcpy(text, "own function:", 13);
	assert_false(blame_file_parse(text, BLAME_FILE_LINE_MAX + 1, "rules", &file, &err));
	assert_string_equal(err.text, "rules:1: longer than a line may be");
	assert_true(blame_file_parse(text, BLAME_FILE_LINE_MAX, "rules", &file, &err));
	assert_int_equal(strlen(file.rules[0].function), BLAME_FILE_LINE_MAX - 13);
	blame_file_free(&file);
	free(text);
}

/* --- which rule wins ------------------------------------------------------------------------- */

static enum blame blame_c(const char *module, const char *function)
{
	return blame_of(module, function, function);
}

static void user_rules_win(void **state)
{
	struct error err;

	(void)state;
	assert_int_equal(blame_c("/lib/libc.so.6", "malloc"), BLAME_ALLOCATOR);
	assert_true(parse("runtime function:my_*\n"
			  "own function:my_table\n"
			  "own module:libc.so* function:malloc\n"
			  "runtime module:libbase.so*\n"
			  "runtime module:\"\" function:JS:*helper *\n"
			  "own function:std::sort<...>\n",
			  &err));
	blame_use(file.rules, file.count);
	assert_int_equal(blame_c("/bin/a", "my_malloc"), BLAME_RUNTIME);
	assert_int_equal(blame_c("/bin/a", "my_table"), BLAME_OWN); /* the later one */
	assert_int_equal(blame_c("/lib/libc.so.6", "malloc"), BLAME_OWN);
	assert_int_equal(blame_c("/bin/a", "malloc"), BLAME_ALLOCATOR);
	assert_int_equal(blame_c("/lib/libbase.so.2", NULL), BLAME_RUNTIME);
	assert_int_equal(blame_c("/lib/other.so.2", NULL), BLAME_OWN);
	assert_int_equal(blame_of("", "JS:*helper /a.js:1:2", "helper"), BLAME_RUNTIME);
	assert_int_equal(blame_of("", "JS:*order /a.js:1:2", "order"), BLAME_OWN);
	assert_int_equal(blame_of("/bin/a", "JS:*helper /a.js:1:2", "helper"), BLAME_OWN);
	assert_int_equal(
		blame_of("/bin/a", "_ZSt4sortIPiEvT_S1_", "void std::sort<int*>(int*, int*)"),
		BLAME_OWN);
	blame_use(NULL, 0);
	assert_int_equal(blame_c("/bin/a", "my_malloc"), BLAME_OWN);
	assert_string_equal(blame_name(BLAME_RUNTIME), "runtime");
	blame_file_free(&file);
}

static void own_rule_decides_for_rust_too(void **state)
{
	static const char raw[] = "_RNvXNtC3app4TreeNtNtC4core5clone5Clone5clone";
	static const char name[] = "<alloc::vec::Vec<u8> as core::clone::Clone>::clone";
	struct error err;

	(void)state;
	assert_int_equal(blame_of("/bin/a", raw, name), BLAME_RUST);
	assert_true(parse("own function:<alloc::vec::*", &err));
	blame_use(file.rules, file.count);
	assert_int_equal(blame_of("/bin/a", raw, name), BLAME_OWN);
	blame_use(NULL, 0);
	blame_file_free(&file);
}

/* --- files ----------------------------------------------------------------------------------- */

static const char *write_rules(const char *name, const char *text)
{
	static char path[128];
	FILE *out;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	out = fopen(path, "w");
	assert_non_null(out);
	fputs(text, out);
	assert_int_equal(fclose(out), 0);
	return path;
}

static void files(void **state)
{
	struct error err;
	char message[256];
	const char *path = write_rules("rules", "own function:x\nbad\n");

	(void)state;
	assert_false(blame_file_read(path, &file, &err));
	snprintf(message, sizeof(message), "%s:2: a rule begins with own or runtime, not \"bad\"",
		 path);
	assert_string_equal(err.text, message);
	assert_false(blame_file_read("/nowhere/rules", &file, &err));
	assert_string_equal(err.text, "/nowhere/rules: No such file or directory");
	assert_false(blame_file_read(folder, &file, &err));
	assert_non_null(strstr(err.text, "Is a directory"));
	assert_false(blame_file_read("/dev/zero", &file, &err));
	assert_non_null(strstr(err.text, "larger than"));
}

static void environment_chooses(void **state)
{
	struct error err;
	char path[128];

	(void)state;
	unsetenv("PMEM_BLAME");
	setenv("XDG_CONFIG_HOME", folder, 1);
	assert_true(blame_file_use(NULL, &err)); /* there is none */
	snprintf(path, sizeof(path), "%s/pmem", folder);
	mkdir(path, 0700);
	write_rules("pmem/blame", "runtime function:configured\n");
	assert_true(blame_file_use(NULL, &err));
	assert_int_equal(blame_c("/bin/a", "configured"), BLAME_RUNTIME);
	unsetenv("XDG_CONFIG_HOME");
	setenv("HOME", folder, 1);
	snprintf(path, sizeof(path), "%s/.config", folder);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/.config/pmem", folder);
	mkdir(path, 0700);
	write_rules(".config/pmem/blame", "runtime function:at_home\n");
	assert_true(blame_file_use(NULL, &err));
	assert_int_equal(blame_c("/bin/a", "configured"), BLAME_OWN);
	assert_int_equal(blame_c("/bin/a", "at_home"), BLAME_RUNTIME);
	setenv("PMEM_BLAME", write_rules("third", "runtime function:named\n"), 1);
	assert_true(blame_file_use(NULL, &err));
	assert_int_equal(blame_c("/bin/a", "named"), BLAME_RUNTIME);
	setenv("PMEM_BLAME", "/nowhere/rules", 1);
	assert_false(blame_file_use(NULL, &err));
	setenv("PMEM_BLAME", "", 1);
	assert_true(blame_file_use(NULL, &err));
	assert_true(blame_file_use(write_rules("fourth", "runtime function:given\n"), &err));
	setenv("PMEM_BLAME", "/nowhere/rules", 1);
	assert_true(blame_file_use(NULL, &err)); /* the option wins */
	assert_int_equal(blame_c("/bin/a", "given"), BLAME_RUNTIME);
	assert_int_equal(blame_c("/bin/a", "named"), BLAME_OWN);
}

static int make_folder(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/pmem-blame-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(syntax),	  cmocka_unit_test(many_rules),
		cmocka_unit_test(mistakes),	  cmocka_unit_test(limits),
		cmocka_unit_test(user_rules_win), cmocka_unit_test(own_rule_decides_for_rust_too),
		cmocka_unit_test(files),	  cmocka_unit_test(environment_chooses),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
