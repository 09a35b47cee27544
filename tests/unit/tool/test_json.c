/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_json.c - documents byte for byte: layout, escapes, numbers at their limits.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/json.h"

static char *document;
static size_t document_size;

static struct json begin(void)
{
	struct json json;

	json_begin(&json, open_memstream(&document, &document_size));
	return json;
}

static void expect(struct json *json, const char *expected)
{
	assert_int_equal(json->depth, 0);
	fclose(json->file);
	assert_string_equal(document, expected);
	free(document);
}

static void layout(void **state)
{
	struct json json = begin();

	(void)state;
	json_object(&json);
	json_key_uint(&json, "schema", 1);
	json_key(&json, "process");
	json_object(&json);
	json_key_string(&json, "exe", "/bin/x");
	json_key_bool(&json, "live", false);
	json_key(&json, "limits");
	json_object(&json);
	json_key_int(&json, "a", -1);
	json_key_int(&json, "b", 2);
	json_end(&json);
	json_end(&json);
	json_key(&json, "stacks");
	json_array(&json);
	json_object(&json);
	json_key(&json, "frames");
	json_array(&json);
	json_uint(&json, 1);
	json_object(&json);
	json_end(&json);
	json_end(&json);
	json_end(&json);
	json_null(&json);
	json_end(&json);
	json_end(&json);
	expect(&json, "{\n"
		      " \"schema\": 1,\n"
		      " \"process\": {\n"
		      "  \"exe\": \"/bin/x\",\n"
		      "  \"live\": false,\n"
		      "  \"limits\": {\"a\": -1, \"b\": 2}\n"
		      " },\n"
		      " \"stacks\": [\n"
		      "  {\"frames\": [1, {}]},\n"
		      "  null\n"
		      " ]\n"
		      "}\n");
}

static void empty(void **state)
{
	struct json json = begin();

	(void)state;
	json_array(&json);
	json_array(&json);
	json_end(&json);
	json_object(&json);
	json_end(&json);
	json_end(&json);
	expect(&json, "[\n [],\n {}\n]\n");
	json = begin();
	json_object(&json);
	json_end(&json);
	expect(&json, "{}\n");
}

static void numbers(void **state)
{
	struct json json = begin();

	(void)state;
	json_array(&json);
	json_uint(&json, UINT64_MAX);
	json_int(&json, INT64_MIN);
	json_real(&json, 0.1);
	json_real(&json, 1.0 / 3);
	json_real(&json, -2);
	json_real(&json, 1e300);
	json_real(&json, NAN);
	json_real(&json, -INFINITY);
	json_bool(&json, true);
	json_end(&json);
	expect(&json, "[\n 18446744073709551615,\n -9223372036854775808,\n 0.1,\n"
		      " 0.33333333333333331,\n -2,\n 1e+300,\n null,\n null,\n true\n]\n");
}

static void strings(void **state)
{
	struct json json = begin();

	(void)state;
	json_array(&json);
	json_string(&json, "a \"b\" \\c\\ /");
	json_string(&json, "\b\f\n\r\t\x01\x1f\x7f");
	json_string(&json, "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
	json_string(&json, "x\xff\xc3(\xed\xa0\x80\xe2\x82");
	json_string(&json, "");
	json_string(&json, NULL);
	json_end(&json);
	expect(&json, "[\n \"a \\\"b\\\" \\\\c\\\\ /\",\n"
		      " \"\\b\\f\\n\\r\\t\\u0001\\u001f\x7f\",\n"
		      " \"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\",\n"
		      " \"x\xef\xbf\xbd\xef\xbf\xbd("
		      "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\",\n"
		      " \"\",\n null\n]\n");
	json = begin();
	json_object(&json);
	json_key_string(&json, "k\"\n", "v");
	json_end(&json);
	expect(&json, "{\n \"k\\\"\\n\": \"v\"\n}\n");
}

static void deep(void **state)
{
	struct json json = begin();
	unsigned i;

	(void)state;
	for (i = 0; i < 63; i++)
		json_array(&json);
	for (i = 0; i < 63; i++)
		json_end(&json);
	assert_int_equal(json.depth, 0);
	fclose(json.file);
	/* 126 brackets; 2 line ends with 1 and 2 blanks inwards, 2 with 1 and 0 outwards; the last. */
	assert_int_equal(document_size, 126 + 2 + 3 + 2 + 1 + 1);
	free(document);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(layout),  cmocka_unit_test(empty), cmocka_unit_test(numbers),
		cmocka_unit_test(strings), cmocka_unit_test(deep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
