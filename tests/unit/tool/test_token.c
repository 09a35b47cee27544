/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_token.c - tokens are made, kept in files, and compared.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "serve/token.h"

static void test_made(void **state)
{
	char token[TOKEN_SIZE], other[TOKEN_SIZE];
	struct error err;

	(void)state;
	assert_true(token_make(token, &err) && token_make(other, &err));
	assert_int_equal(strlen(token), 32);
	assert_int_equal(strspn(token, "0123456789abcdef"), 32);
	assert_string_not_equal(token, other);
}

static void test_compared(void **state)
{
	(void)state;
	assert_true(token_is("abcdefghijklmnop", "abcdefghijklmnop/list", 16));
	assert_false(token_is("abcdefghijklmnop", "abcdefghijklmnop", 15));
	assert_false(token_is("abcdefghijklmnop", "abcdefghijklmnopq", 17));
	assert_false(token_is("abcdefghijklmnop", "Abcdefghijklmnop", 16));
	assert_false(token_is("abcdefghijklmnop", "abcdefghijklmnoP", 16));
	assert_false(token_is("abcdefghijklmnop", "", 0));
	/* The same again and again is not the same. */
	assert_false(token_is("aaaaaaaaaaaaaaaa", "a", 1));
}

static void test_files(void **state)
{
	char folder[] = "/tmp/test_token.XXXXXX", path[64], token[TOKEN_SIZE], again[TOKEN_SIZE];
	struct stat status;
	struct error err;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/token", folder);
	assert_true(token_from_file(path, token, &err));
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0600);
	assert_true(token_from_file(path, again, &err));
	assert_string_equal(token, again);
	assert_int_equal(truncate(path, 15), 0);
	assert_false(token_from_file(path, again, &err));
	unlink(path);
	assert_false(token_from_file(folder, again, &err));
	rmdir(folder);
	assert_false(token_from_file(path, again, &err));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_made),
		cmocka_unit_test(test_compared),
		cmocka_unit_test(test_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
