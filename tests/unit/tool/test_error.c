/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_error.c - messages, reasons, and messages made from messages.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"

static void message(void **state)
{
	struct error err = {"old"};

	(void)state;
	assert_false(error_set(&err, "%s: block %d: %s", "a.prof", 7, "index past the end"));
	assert_string_equal(err.text, "a.prof: block 7: index past the end");
	assert_false(error_set(&err, "%s", ""));
	assert_string_equal(err.text, "");
}

static void reason_of_errno(void **state)
{
	struct error err;

	(void)state;
	errno = ENOENT;
	assert_false(error_set_errno(&err, "%s", "/no/such"));
	assert_string_equal(err.text, "/no/such: No such file or directory");
	errno = EACCES;
	assert_false(error_set_errno(&err, "a %%"));
	assert_string_equal(err.text, "a %: Permission denied");
}

static void message_from_itself(void **state)
{
	struct error err;

	(void)state;
	error_set(&err, "inner");
	error_set(&err, "outer: %s", err.text);
	assert_string_equal(err.text, "outer: inner");
	errno = EIO;
	error_set_errno(&err, "%s", err.text);
	assert_string_equal(err.text, "outer: inner: Input/output error");
}

static void too_long(void **state)
{
	struct error err;
	char fits[sizeof(err.text)], longer[sizeof(err.text) + 1];

	(void)state;
	memset(fits, 'x', sizeof(fits) - 1);
	fits[sizeof(fits) - 1] = 0;
	error_set(&err, "%s", fits);
	assert_string_equal(err.text, fits);
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = 0;
	error_set(&err, "%s", longer);
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
	assert_string_equal(err.text + sizeof(err.text) - 6, "xx...");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(message),
		cmocka_unit_test(reason_of_errno),
		cmocka_unit_test(message_from_itself),
		cmocka_unit_test(too_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
