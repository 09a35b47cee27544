/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_arena.c - memory that is freed as a whole, and texts of which there is one copy.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "symbol/arena.h"

static void pieces_are_apart_and_aligned(void **state)
{
	struct arena arena = {0};
	unsigned char *pieces[200];

	(void)state;
	for (size_t i = 0; i < 200; i++) {
		size_t size = i * i * 5 + 1; /* the last ones are larger than what it takes at once */

		pieces[i] = arena_allocate(&arena, size);
		assert_non_null(pieces[i]);
		assert_int_equal((uintptr_t)pieces[i] % 16, 0);
		memset(pieces[i], (int)i, size);
	}
	for (size_t i = 0; i < 200; i++) {
		assert_int_equal(pieces[i][0], i);
		assert_int_equal(pieces[i][i * i * 5], i);
	}
	arena_free(&arena);
	arena_free(&arena);
}

static void copies_end_where_they_should(void **state)
{
	struct arena arena = {0};

	(void)state;
	assert_string_equal(arena_keep(&arena, "session.rs:88", 10), "session.rs");
	assert_string_equal(arena_keep(&arena, "", 0), "");
	arena_free(&arena);
}

static void one_copy_of_each_text(void **state)
{
	enum { TEXTS = 5000 };
	static struct arena_text *texts[TEXTS];
	struct arena arena = {0};
	char text[32];

	(void)state;
	for (unsigned i = 0; i < TEXTS; i++) {
		snprintf(text, sizeof(text), "name %u", i);
		texts[i] = arena_intern(&arena, text);
		assert_non_null(texts[i]);
		assert_null(texts[i]->value);
		texts[i]->value = texts[i]->text;
	}
	for (unsigned i = 0; i < TEXTS; i++) {
		snprintf(text, sizeof(text), "name %u", i);
		assert_string_equal(texts[i]->text, text);
		assert_ptr_equal(arena_intern(&arena, text), texts[i]);
		assert_ptr_equal(texts[i]->value, texts[i]->text);
	}
	assert_int_equal(arena.text_count, TEXTS);
	assert_string_equal(arena_intern(&arena, "")->text, "");
	arena_free(&arena);
	assert_null(arena.slots);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces_are_apart_and_aligned),
		cmocka_unit_test(copies_end_where_they_should),
		cmocka_unit_test(one_copy_of_each_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
