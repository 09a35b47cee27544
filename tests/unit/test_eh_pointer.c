/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_eh_pointer.c - each format and base of encoded pointers, and those that are refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/eh_pointer.h"

static const uint8_t bytes[] = {0xf0, 0xff, 0xff, 0x7f, 0x01, 0x02, 0x03, 0x84};

struct format_case {
	uint8_t encoding;
	size_t size;
	uint64_t value;
};

static const struct format_case format_cases[] = {
	{EH_POINTER_ABSPTR, 8, 0x840302017ffffff0}, {EH_POINTER_UDATA8, 8, 0x840302017ffffff0},
	{EH_POINTER_SDATA8, 8, 0x840302017ffffff0}, {EH_POINTER_UDATA4, 4, 0x7ffffff0},
	{EH_POINTER_SDATA4, 4, 0x7ffffff0},	    {EH_POINTER_UDATA2, 2, 0xfff0},
	{EH_POINTER_SDATA2, 2, UINT64_MAX - 15},    {EH_POINTER_ULEB, 4, 0xffffff0},
	{EH_POINTER_SLEB, 4, UINT64_MAX - 15},
};

static void formats(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(format_cases) / sizeof(format_cases[0]); i++) {
		const struct format_case *format = &format_cases[i];
		struct cursor c = cursor_make(bytes, sizeof(bytes));

		assert_true(eh_pointer_value(&c, format->encoding) == format->value);
		assert_int_equal(sizeof(bytes) - cursor_left(&c), format->size);
		assert_false(c.failed);
		c = cursor_make(bytes, format->size - 1);
		eh_pointer_value(&c, format->encoding);
		assert_true(c.failed);
	}
}

static bool fails(uint8_t encoding, uintptr_t data_base)
{
	struct cursor c = cursor_make(bytes, sizeof(bytes));

	eh_pointer_address(&c, encoding, data_base);
	return c.failed;
}

static void unknown_formats_and_bases_fail(void **state)
{
	static const uint8_t formats_unknown[] = {0x05, 0x06, 0x07, 0x08, 0x0d, 0x0e, 0x0f, 0xff};

	(void)state;
	for (size_t i = 0; i < sizeof(formats_unknown); i++)
		assert_true(fails(formats_unknown[i], 1));
	assert_true(fails(0x20 | EH_POINTER_UDATA4, 1)); /* relative to .text */
	assert_true(fails(0x40 | EH_POINTER_UDATA4, 1)); /* relative to the function */
	assert_true(fails(EH_POINTER_ALIGNED, 1));
	assert_true(fails(EH_POINTER_INDIRECT | EH_POINTER_PCREL | EH_POINTER_SDATA4, 1));
	assert_true(fails(EH_POINTER_DATAREL | EH_POINTER_SDATA4, 0));
	assert_false(fails(EH_POINTER_DATAREL | EH_POINTER_SDATA4, 1));
}

static void bases(void **state)
{
	struct cursor c = cursor_make(bytes, sizeof(bytes));

	(void)state;
	assert_int_equal(cursor_u8(&c), 0xf0);
	/* counted from the place of the pointer itself */
	assert_true(eh_pointer_address(&c, EH_POINTER_PCREL | EH_POINTER_SDATA2, 0) ==
		    (uintptr_t)bytes + 1 - 1);
	assert_true(eh_pointer_address(&c, EH_POINTER_DATAREL | EH_POINTER_UDATA2, 0x1000) ==
		    0x1000 + 0x017f);
	assert_true(eh_pointer_address(&c, EH_POINTER_UDATA2, 0x1000) == 0x0302);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(formats),
		cmocka_unit_test(unknown_formats_and_bases_fail),
		cmocka_unit_test(bases),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
