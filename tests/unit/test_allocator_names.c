/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_allocator_names.c - which names are those of allocators, and the sets of them as text.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/allocator_names.h"

static void only_whole_names_count(void **state)
{
	(void)state;
	assert_int_not_equal(allocator_names_bit("malloc"), 0);
	assert_int_not_equal(allocator_names_bit("mi_malloc"), 0);
	assert_int_not_equal(allocator_names_bit("malloc"), allocator_names_bit("mi_malloc"));
	assert_int_equal(allocator_names_bit("malloc_usable_size"), 0);
	assert_int_equal(allocator_names_bit("mallo"), 0);
	assert_int_equal(allocator_names_bit("xmalloc"), 0);
	assert_int_equal(allocator_names_bit(""), 0);
	assert_int_equal(allocator_names_bit("runtime.mallocgc"), allocator_names_go());
}

static void four_of_a_set_are_shown(void **state)
{
	char text[ALLOCATOR_NAMES_TEXT];

	(void)state;
	assert_string_equal(allocator_names_text(0, text), "");
	assert_string_equal(allocator_names_text(allocator_names_bit("je_malloc"), text),
			    "je_malloc");
	assert_string_equal(allocator_names_text(allocator_names_bit("mi_malloc") |
							 allocator_names_bit("free") |
							 allocator_names_bit("malloc"),
						 text),
			    "malloc, free, mi_malloc");
	assert_string_equal(allocator_names_text(UINT32_MAX, text),
			    "malloc, calloc, free, je_malloc");
	/* The longest that there can be. */
	assert_true(strlen(allocator_names_text(~UINT32_C(0xff), text)) < ALLOCATOR_NAMES_TEXT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_whole_names_count),
		cmocka_unit_test(four_of_a_set_are_shown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
