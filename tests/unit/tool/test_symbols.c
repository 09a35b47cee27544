/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_symbols.c - names of this program's own functions.  Other files, and broken ones: tests/test_symbols.py.
 */
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "symbol/symbols.h"

__attribute__((noinline, used)) static int static_function(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

/* Address in memory minus address in the file, of the program. */
static int find_bias(struct dl_phdr_info *info, size_t size, void *data)
{
	(void)size;
	*(uint64_t *)data = info->dlpi_addr;
	return 1;
}

static uint64_t in_file(const void *code)
{
	uint64_t bias = 0;

	dl_iterate_phdr(find_bias, &bias);
	return (uintptr_t)code - bias;
}

static void own_functions(void **state)
{
	struct symbols *symbols = symbols_new(NULL);
	struct symbols_module *module = symbols_module(symbols, "/proc/self/exe", NULL, 0);
	uint64_t address = in_file((void *)static_function);
	const struct symbol *found;
	const struct symbol *other;

	(void)state;
	assert_int_equal(symbols_problem(module), SYMBOLS_OK);
	assert_int_equal(symbols_find(module, address + 2, &found), 1);
	assert_string_equal(found->function, "static_function");
	assert_string_equal(found->raw_name, "static_function");
	assert_int_equal(found->offset, 2);
	/* The test may be built without lines. */
	assert_true(!found->file || strstr(found->file, "test_symbols.c"));
	assert_int_equal(found->file != NULL, found->line != 0);
	assert_false(found->inlined);
	/* The address of the call, which is before the one that it returns to, counts. */
	assert_int_equal(symbols_find(module, address, &other), 1);
	assert_true(!other->function || strcmp(other->function, "static_function") != 0);
	assert_string_equal(found->function, "static_function");
	assert_int_equal(symbols_find(module, address + 1, &other), 1);
	assert_ptr_equal(other->function, found->function);
	found = symbols_find_fast(module, address + 2);
	assert_string_equal(found->function, "static_function");
	assert_int_equal(found->offset, 2);
	assert_null(found->file);
	symbols_free(symbols);
}

static void servers_are_asked_only_if_allowed(void **state)
{
	(void)state;
	setenv("DEBUGINFOD_URLS", "http://127.0.0.1:1", 1);
	unsetenv("DEBUGINFOD_TIMEOUT");
	symbols_free(symbols_new(&(struct symbols_options){.debuginfod = true}));
	assert_string_equal(getenv("DEBUGINFOD_URLS"), "http://127.0.0.1:1");
	assert_string_equal(getenv("DEBUGINFOD_TIMEOUT"), "10");
	symbols_free(symbols_new(NULL));
	assert_null(getenv("DEBUGINFOD_URLS"));
}

static void modules_without_names(void **state)
{
	static const char *const paths[] = {
		"", "[vdso]", "linux-vdso.so.1", "/nowhere/libx.so", "/dev/null", "/"};
	struct symbols *symbols = symbols_new(&(struct symbols_options){.root = NULL});
	const struct symbol *found;

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		struct symbols_module *module = symbols_module(symbols, paths[i], NULL, 0);

		assert_int_equal(symbols_find(module, 0x1234, &found), 1);
		assert_null(found->function);
		assert_null(found->raw_name);
		assert_int_equal(found->offset, 0x1234);
		assert_int_equal(symbols_problem(module), SYMBOLS_NO_FILE);
	}
	symbols_free(symbols);
	symbols_free(NULL);
}

static void one_module_for_one_file(void **state)
{
	static const uint8_t ids[2][20] = {{1}, {2}};
	struct symbols *symbols = symbols_new(NULL);
	struct symbols_module *module = symbols_module(symbols, "/proc/self/exe", ids[0], 20);

	(void)state;
	assert_ptr_equal(symbols_module(symbols, "/proc/self/exe", ids[0], 20), module);
	assert_ptr_not_equal(symbols_module(symbols, "/proc/self/exe", ids[1], 20), module);
	assert_ptr_not_equal(symbols_module(symbols, "/proc/self/exe", ids[0], 19), module);
	assert_ptr_not_equal(symbols_module(symbols, "/proc/self/exe", NULL, 0), module);
	assert_ptr_not_equal(symbols_module(symbols, "/proc/self/exf", ids[0], 20), module);
	assert_int_equal(symbols_problem(module), SYMBOLS_OTHER_FILE);
	symbols_free(symbols);
}

static void paths_begin_at_the_root(void **state)
{
	struct symbols *symbols = symbols_new(&(struct symbols_options){.root = "/proc/self"});

	(void)state;
	assert_int_equal(symbols_problem(symbols_module(symbols, "/exe", NULL, 0)), SYMBOLS_OK);
	assert_int_equal(symbols_problem(symbols_module(symbols, "/proc/self/exe", NULL, 0)),
			 SYMBOLS_NO_FILE);
	symbols_free(symbols);
}

static void problems_have_texts(void **state)
{
	(void)state;
	assert_string_equal(symbols_problem_text(SYMBOLS_OTHER_FILE), "was replaced since");
	for (int i = SYMBOLS_OK; i <= SYMBOLS_STRIPPED; i++)
		for (int j = SYMBOLS_OK; j < i; j++)
			assert_string_not_equal(symbols_problem_text((enum symbols_problem)i),
						symbols_problem_text((enum symbols_problem)j));
}

static void names_are_kept(void **state)
{
	struct symbols *symbols = symbols_new(NULL);
	const char *plain = "main";
	const char *function;

	(void)state;
	assert_non_null(symbols);
	assert_ptr_equal(symbols_demangle(symbols, plain), plain);
	assert_string_equal(symbols_short(symbols, plain), plain);
	function = symbols_demangle(symbols, "_ZN7Session8rememberEi");
	assert_string_equal(function, "Session::remember(int)");
	assert_string_equal(symbols_short(symbols, function), "Session::remember");
	assert_ptr_equal(symbols_short(symbols, function), symbols_short(symbols, function));
	assert_string_equal(function, "Session::remember(int)");
	symbols_free(symbols);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(own_functions),
		cmocka_unit_test(servers_are_asked_only_if_allowed),
		cmocka_unit_test(modules_without_names),
		cmocka_unit_test(one_module_for_one_file),
		cmocka_unit_test(paths_begin_at_the_root),
		cmocka_unit_test(problems_have_texts),
		cmocka_unit_test(names_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
