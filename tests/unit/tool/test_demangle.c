/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_demangle.c - mangled names of C++ and Rust, plain ones, and hostile ones.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "symbol/demangle.h"

struct row {
	const char *function;
	const char *shown;
};

static void demangled(void **state)
{
	static const struct row rows[] = {
		{"_ZN7Session8rememberEi", "Session::remember(int)"},
		{"_ZNSt6vectorIiSaIiEE9push_backERKi",
		 "std::vector<int, std::allocator<int> >::push_back(int const&)"},
		{"_ZZ4mainENKUliE_clEi", "main::{lambda(int)#1}::operator()(int) const"},
		{"_ZN12_GLOBAL__N_14leakEi", "(anonymous namespace)::leak(int)"},
		{"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad"},
		{"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE.llvm.123",
		 "core::fmt::Formatter::pad"},
		{"_RNvCsdpnaGqXcp_3app4main", "app::main"},
		{"_RNvMNtCs4fqI2P2rA04_3app5outerINtB2_3GenmE4leakB4_",
		 "<app::outer::Gen<u32>>::leak"},
		{"_Znwm", "operator new(unsigned long)"},
	};
	static const char *const plain[] = {"",	  "main",      "_",   "_Z",
					    "_R", "_Readable", "_ZN", "malloc"};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *function = demangle(rows[i].function);

		assert_non_null(function);
		assert_string_equal(function, rows[i].shown);
		free(function);
	}
	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		assert_null(demangle(plain[i]));
}

/* Each piece as often as it fits into size bytes, behind start. */
static char *repeated(const char *start, const char *piece, size_t size)
{
	char *name = calloc(1, size + 1);
	size_t length = strlen(start);

	assert_non_null(name);
	memcpy(name, start, length);
	while (length + strlen(piece) <= size) {
		memcpy(name + length, piece, strlen(piece));
		length += strlen(piece);
	}
	return name;
}

/* A few bytes that stand for more text than there is memory: each argument is twice the one before. */
static void text_has_an_end(void **state)
{
	static const char sequence[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char *name = calloc(1, 1024);

	(void)state;
	assert_non_null(name);
	strcpy(name, "_Z1fSt4pairIiiE");
	for (size_t i = 0; sequence[i]; i++) {
		char argument[] = "S_IS._S._E";

		argument[4] = argument[7] = sequence[i];
		strcat(name, argument);
	}
	assert_null(demangle(name));
	free(name);
}

static void recursion_has_an_end(void **state)
{
	static const char *const pieces[] = {
		"P", "1fI", "L_Z1fI", "X",   "ng",   "F",  "Dp",  "Z1fvE",    "N1aI", "cl", "cvi",
		"J", "M",   "A_",     "S_I", "DTcl", "Ul", "NvC", "INtC1a1f", "TTT",  "St"};
	static const char *const starts[] = {"_Z", "_Z1f", "_Z1fI", "_Z1fIX", "_ZN", "_R", "_RI"};
	static const size_t sizes[] = {1000, 4000, 8000, 60000, 70000};

	(void)state;
	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++)
		for (size_t j = 0; j < sizeof(starts) / sizeof(starts[0]); j++)
			for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
				char *name = repeated(starts[j], pieces[i], sizes[k]);
				char *function = demangle(name);

				assert_true(!function || strlen(function) <= 64 * 1024);
				free(function);
				free(name);
			}
}

/* libiberty's own limit would refuse it. */
static void more_than_a_thousand_bytes(void **state)
{
	char *name = repeated("_ZN3sum", "I3sum", 2000);
	char *function;

	(void)state;
	name = realloc(name, 4096);
	assert_non_null(name);
	strcat(name, "IiE");
	while (strlen(name) < 2400)
		strcat(name, "E");
	/* As many ends as beginnings. */
	name[strlen("_ZN3sum") + 398 * strlen("I3sum") + 3 + 398] = 0;
	strcat(name, "3runEv");
	function = demangle(name);
	assert_non_null(function);
	assert_memory_equal(function, "sum<sum<sum<", 12);
	assert_string_equal(function + strlen(function) - 7, "::run()");
	free(function);
	free(name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(demangled),
		cmocka_unit_test(text_has_an_end),
		cmocka_unit_test(recursion_has_an_end),
		cmocka_unit_test(more_than_a_thousand_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
