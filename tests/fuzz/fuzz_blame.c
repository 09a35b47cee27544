/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_blame.c - fuzzes the reader of the rule files that people write, and asks the rules about a few functions.
 *
 * Input: a rule file.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "profile/blame_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
	if (!condition)
		abort();
}

static void check_rules(const struct blame_file *file)
{
	for (size_t i = 0; i < file->count; i++) {
		const struct blame_rule *rule = &file->rules[i];

		require(rule->blame == BLAME_OWN || rule->blame == BLAME_RUNTIME);
		require(rule->module || (rule->function && rule->function[0]));
	}
	blame_use(file->rules, file->count);
	require(blame_of("/lib/libx.so", "_ZN3foo3barEv", "foo::bar()") < BLAME_COUNT);
	require(blame_of("", "JS:*f /x.js:1:2", "f") < BLAME_COUNT);
	blame_use(NULL, 0);
}

static void read_rules(const uint8_t *data, size_t size)
{
	struct blame_file file;
	struct error err = {""};

	if (blame_file_parse((const char *)data, size, "rules", &file, &err))
		check_rules(&file);
	else
		require(strncmp(err.text, "rules:", 6) == 0 && file.count == 0 && !file.text);
	blame_file_free(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	read_rules(data, size);
	return 0;
}
