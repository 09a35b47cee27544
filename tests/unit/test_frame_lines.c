/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_frame_lines.c - what was kept is copied, for the same code at the same address only; room is bounded.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "libpmem/frame_lines.h"

static char bytes[16384];
static struct text text;

static int begin(void **state)
{
	(void)state;
	text = (struct text){.bytes = bytes, .room = sizeof(bytes)};
	frame_lines_fork_child();
	return 0;
}

static void keep(const char *line, uint32_t pc32, uintptr_t address)
{
	text.size = 0;
	text_string(&text, "before ");
	text_string(&text, line);
	frame_lines_keep(&text, strlen("before "), pc32, address);
}

/* The line that is copied for a frame; NULL: none. */
static const char *copied(uint32_t pc32, uintptr_t address)
{
	text.size = 0;
	if (!frame_lines_copy(&text, pc32, address))
		return NULL;
	bytes[text.size] = '\0';
	return bytes;
}

static void test_copies_what_was_kept(void **state)
{
	(void)state;
	assert_null(copied(1, 0x1000));
	keep("one", 1, 0x1000);
	keep("two", 2, 0x2000);
	assert_string_equal(copied(1, 0x1000), "one");
	assert_string_equal(copied(2, 0x2000), "two");
	assert_null(copied(3, 0x1000));
}

static void test_a_module_that_moved_is_put_into_words_again(void **state)
{
	(void)state;
	keep("at 1000", 1, 0x1000);
	assert_null(copied(1, 0x5000));
	keep("at 5000", 1, 0x5000);
	assert_string_equal(copied(1, 0x5000), "at 5000");
	assert_null(copied(1, 0x1000));
}

static void test_a_child_forgets(void **state)
{
	(void)state;
	keep("parent's", 1, 0x1000);
	frame_lines_fork_child();
	assert_null(copied(1, 0x1000));
}

static void test_what_does_not_fit_is_not_kept(void **state)
{
	static char line[9000];

	(void)state;
	memset(line, 'x', sizeof(line) - 1);
	keep(line, 1, 0x1000);
	assert_null(copied(1, 0x1000));
	text.truncated = true;
	keep("cut", 2, 0x2000);
	assert_null(copied(2, 0x2000));
}

/* Whatever is found is right, however many there were. */
static void test_many(void **state)
{
	enum { COUNT = 30000 };
	uint32_t i, found = 0;
	char line[64];

	(void)state;
	for (i = 1; i < COUNT; i++) {
		snprintf(line, sizeof(line), "/usr/lib/libsome.so.1(function_%u+0x%x)", i, i);
		keep(line, i, i * 16);
	}
	for (i = 1; i < COUNT; i++) {
		const char *there = copied(i, i * 16);

		snprintf(line, sizeof(line), "/usr/lib/libsome.so.1(function_%u+0x%x)", i, i);
		if (there)
			assert_string_equal(there, line);
		found += there != NULL;
	}
	assert_in_range(found, 100, COUNT / 2);
	assert_string_equal(copied(COUNT - 1, (COUNT - 1) * 16), line);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_copies_what_was_kept, begin),
		cmocka_unit_test_setup(test_a_module_that_moved_is_put_into_words_again, begin),
		cmocka_unit_test_setup(test_a_child_forgets, begin),
		cmocka_unit_test_setup(test_what_does_not_fit_is_not_kept, begin),
		cmocka_unit_test_setup(test_many, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
