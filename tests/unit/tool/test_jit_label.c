/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_jit_label.c - functions and files in the names that compilers give.
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

#include "symbol/jit_label.h"

/* Of C++, Rust and Java, which may be taken away. */
static void types(void **state)
{
	static const char *const with[] = {"_Z4shopIiEvT_", "_RNvCs1_4shop3add",
					   "void Leak.leakSome(int)", "void shop.Order.<init>()",
					   "int[][] shop.Order.add(int[], long)"};
	static const char *const without[] = {"",
					      "f",
					      "get size",
					      "get shop.size",
					      "f(x)",
					      "[] a.b()",
					      "int a.b(",
					      "int a()",
					      "int a.b(c) d",
					      "JS:*get size /a.js:1:2",
					      "int ",
					      "a b c.d()",
					      "LazyCompile:*foo bar /srv/my app/file.js:12",
					      "std::string shop::name()"};

	(void)state;
	for (size_t i = 0; i < sizeof(with) / sizeof(with[0]); i++)
		assert_true(jit_label_has_types(with[i]));
	for (size_t i = 0; i < sizeof(without) / sizeof(without[0]); i++)
		assert_false(jit_label_has_types(without[i]));
}

static void labels(void **state)
{
	static const struct {
		const char *raw_name, *function, *file; /* NULL = none */
		uint32_t line;
	} rows[] = {
		{"JS:*order /srv/shop.js:3:19", "order", "/srv/shop.js", 3},
		{"JS:~order /srv/shop.js:3:19", "order", "/srv/shop.js", 3},
		{"JS:^get total /srv/a b.js:44:5", "get total", "/srv/a b.js", 44},
		{"JS:+hot file:///srv/shop.mjs:3:19", "hot", "file:///srv/shop.mjs", 3},
		{"LazyCompile:*resolve node:path:1217:10", "resolve", "node:path", 1217},
		{"LazyCompile:~ /srv/shop.js:7:1", "(anonymous)", "/srv/shop.js", 7},
		{"JS:* /srv/shop.js:7:1", "(anonymous)", "/srv/shop.js", 7},
		{"Function:f evalmachine.<anonymous>:1:2", "f", "evalmachine.<anonymous>", 1},
		{"JS:*f", NULL, NULL, 0},
		{"JS:*f :1:2", NULL, NULL, 0},
		{"JS:*", NULL, NULL, 0},
		{"JS:*:1:2", NULL, NULL, 0},
		{"Builtin:ArrayPush", NULL, NULL, 0},
		{"py::Shop.order:/srv/shop.py", "Shop.order", "/srv/shop.py", 0},
		{"py::<module>:<frozen importlib._bootstrap>", "<module>",
		 "<frozen importlib._bootstrap>", 0},
		{"py::", NULL, NULL, 0},
		{"py:::x", NULL, NULL, 0},
		{"py::f:", NULL, NULL, 0},
		{"Lshop/Order;::add", "shop.Order.add", NULL, 0},
		{"LOrder;::add", "Order.add", NULL, 0},
		{"L;::add", NULL, NULL, 0},
		{"LOrder;::", NULL, NULL, 0},
		{"Load a thing;::x", NULL, NULL, 0},
		{"_ZN4shop5order3addEi", "shop::order::add(int)", NULL, 0},
		{"void Leak.leakSome(int)", NULL, NULL, 0},
		{"", NULL, NULL, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct jit_label label;

		assert_true(jit_label_parse(rows[i].raw_name, &label));
		if (!rows[i].function != !label.function || !rows[i].file != !label.file)
			print_message("# %s: %s, %s\n", rows[i].raw_name, label.function,
				      label.file);
		assert_int_equal(label.function != NULL, rows[i].function != NULL);
		assert_int_equal(label.file != NULL, rows[i].file != NULL);
		if (label.function)
			assert_string_equal(label.function, rows[i].function);
		if (label.file)
			assert_string_equal(label.file, rows[i].file);
		assert_int_equal(label.line, rows[i].line);
		jit_label_free(&label);
		assert_null(label.function);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(labels), cmocka_unit_test(types)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
