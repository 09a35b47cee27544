/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_cursor.c - the bounded cursor: values, LEB128, strings, and what happens at the end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/cursor.h"

static void integers_are_little_endian_and_unaligned(void **state)
{
	static const uint8_t bytes[] = {0xaa, 1, 2, 1, 2, 3, 4, 1, 2, 3, 4, 5, 6, 7, 0x88};
	struct cursor c = cursor_make(bytes, sizeof(bytes));

	(void)state;
	assert_int_equal(cursor_u8(&c), 0xaa);
	assert_int_equal(cursor_u16(&c), 0x0201);
	assert_int_equal(cursor_u32(&c), 0x04030201);
	assert_true(cursor_u64(&c) == 0x8807060504030201);
	assert_false(c.failed);
	assert_int_equal(cursor_left(&c), 0);
}

static void read_past_the_end_is_zero_and_sticky(void **state)
{
	static const uint8_t bytes[] = {1, 2, 3};
	struct cursor c = cursor_make(bytes, sizeof(bytes));

	(void)state;
	assert_int_equal(cursor_u32(&c), 0);
	assert_true(c.failed);
	assert_int_equal(cursor_u8(&c), 0);
	assert_null(cursor_bytes(&c, 0));
	assert_null(cursor_string(&c));
	assert_ptr_equal(c.at, bytes);
}

static void block_is_a_cursor_of_its_own(void **state)
{
	static const uint8_t bytes[] = {1, 2, 3};
	struct cursor c = cursor_make(bytes, sizeof(bytes));
	struct cursor block = cursor_block(&c, 2);

	(void)state;
	assert_int_equal(cursor_u16(&block), 0x0201);
	assert_int_equal(cursor_u8(&block), 0);
	assert_true(block.failed);
	assert_false(c.failed);
	block = cursor_block(&c, UINT64_MAX);
	assert_int_equal(cursor_left(&block), 0);
	assert_true(block.failed);
	assert_true(c.failed);
}

struct leb_case {
	uint8_t bytes[11];
	uint8_t size;
	uint64_t unsigned_value;
	int64_t signed_value;
};

/* Values: DWARF 5, tables 7.7 and 7.8, and the ends of the ranges. */
static const struct leb_case leb_cases[] = {
	{{0x00}, 1, 0, 0},
	{{0x02}, 1, 2, 2},
	{{0x7f}, 1, 127, -1},
	{{0x40}, 1, 64, -64},
	{{0xff, 0x00}, 2, 127, 127},
	{{0x80, 0x7f}, 2, 16256, -128},
	{{0xe5, 0x8e, 0x26}, 3, 624485, 624485},
	{{0xc0, 0xbb, 0x78}, 3, 1973696, -123456},
	{{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f},
	 10,
	 UINT64_C(1) << 63,
	 INT64_MIN},
	{{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}, 10, UINT64_MAX, -1},
	{{0x81, 0x80, 0x80, 0x00}, 4, 1, 1},
};

static void leb128_values(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(leb_cases) / sizeof(leb_cases[0]); i++) {
		const struct leb_case *leb = &leb_cases[i];
		struct cursor c = cursor_make(leb->bytes, leb->size);
		struct cursor s = c;

		assert_true(cursor_uleb(&c) == leb->unsigned_value);
		assert_true(cursor_sleb(&s) == leb->signed_value);
		assert_false(c.failed || s.failed);
		assert_int_equal(cursor_left(&c), 0);
		assert_int_equal(cursor_left(&s), 0);
	}
}

static void leb128_cut_off_fails(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(leb_cases) / sizeof(leb_cases[0]); i++) {
		struct cursor c = cursor_make(leb_cases[i].bytes, leb_cases[i].size - 1U);
		struct cursor s = c;

		assert_true(cursor_uleb(&c) == 0);
		assert_true(cursor_sleb(&s) == 0);
		assert_true(c.failed && s.failed);
	}
}

static void leb128_over_ten_bytes_fails(void **state)
{
	static const uint8_t bytes[] = {0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
					0x80, 0x80, 0x80, 0x80, 0x01};
	struct cursor c = cursor_make(bytes, sizeof(bytes));
	struct cursor s = c;

	(void)state;
	assert_true(cursor_uleb(&c) == 0);
	assert_true(cursor_sleb(&s) == 0);
	assert_true(c.failed && s.failed);
}

static void strings_need_their_zero(void **state)
{
	static const char bytes[] = {'a', 'b', 0, 0, 'c'};
	struct cursor c = cursor_make(bytes, sizeof(bytes));

	(void)state;
	assert_string_equal(cursor_string(&c), "ab");
	assert_string_equal(cursor_string(&c), "");
	assert_null(cursor_string(&c));
	assert_true(c.failed);
	c = cursor_make(bytes, 0);
	assert_null(cursor_string(&c));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(integers_are_little_endian_and_unaligned),
		cmocka_unit_test(read_past_the_end_is_zero_and_sticky),
		cmocka_unit_test(block_is_a_cursor_of_its_own),
		cmocka_unit_test(leb128_values),
		cmocka_unit_test(leb128_cut_off_fails),
		cmocka_unit_test(leb128_over_ten_bytes_fails),
		cmocka_unit_test(strings_need_their_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
