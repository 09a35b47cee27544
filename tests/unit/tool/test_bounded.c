/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_bounded.c - what is written to a bounded stream is there, up to the limit, and nothing beyond it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bounded.h"

enum { LIMIT = 300 * 1000 };

static void write_bytes(struct bounded *bounded, size_t size)
{
	for (size_t i = 0; i < size; i++)
		fputc((int)(i % 251), bounded->file);
}

static void test_within(void **state)
{
	struct bounded bounded;

	(void)state;
	assert_true(bounded_open(&bounded, LIMIT));
	write_bytes(&bounded, LIMIT);
	assert_true(bounded_close(&bounded));
	assert_int_equal(bounded.size, LIMIT);
	for (size_t i = 0; i < LIMIT; i++)
		if ((unsigned char)bounded.bytes[i] != i % 251)
			fail_msg("byte %zu", i);
	free(bounded.bytes);
}

static void test_beyond(void **state)
{
	struct bounded bounded;

	(void)state;
	assert_true(bounded_open(&bounded, LIMIT));
	write_bytes(&bounded, LIMIT + 1);
	assert_false(bounded_close(&bounded));
	assert_null(bounded.bytes);
	/* In one piece, too. */
	assert_true(bounded_open(&bounded, 3));
	fputs("four", bounded.file);
	assert_false(bounded_close(&bounded));
}

static void test_nothing(void **state)
{
	struct bounded bounded;

	(void)state;
	assert_true(bounded_open(&bounded, LIMIT));
	assert_true(bounded_close(&bounded));
	assert_int_equal(bounded.size, 0);
	assert_non_null(bounded.bytes);
	free(bounded.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_within),
		cmocka_unit_test(test_beyond),
		cmocka_unit_test(test_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
