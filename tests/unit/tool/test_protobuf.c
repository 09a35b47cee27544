/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_protobuf.c - the wire format, byte by byte, and its bounds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "export/protobuf.h"

static void check(const struct protobuf *message, const void *bytes, size_t size)
{
	assert_false(message->failed);
	assert_int_equal(message->size, size);
	if (size > 0)
		assert_memory_equal(message->bytes, bytes, size);
}

#define CHECK(message, text) check((message), (text), sizeof(text) - 1)

/* The examples of the format's description: field 1 is 150, field 2 is "testing", field 3 is a message with 150. */
static void test_examples(void **state)
{
	struct protobuf message = protobuf_new(1000), outer = protobuf_new(1000);

	(void)state;
	protobuf_uint(&message, 1, 150);
	CHECK(&message, "\x08\x96\x01");
	protobuf_message(&outer, 3, &message);
	CHECK(&outer, "\x1a\x03\x08\x96\x01");
	protobuf_clear(&message);
	protobuf_text(&message, 2, "testing");
	CHECK(&message, "\x12\x07testing");
	protobuf_free(&message);
	protobuf_free(&outer);
}

static void test_packed(void **state)
{
	static const uint64_t values[] = {3, 270, 86942};
	struct protobuf message = protobuf_new(1000);

	(void)state;
	protobuf_packed(&message, 4, values, 3);
	CHECK(&message, "\x22\x06\x03\x8e\x02\x9e\xa7\x05");
	protobuf_clear(&message);
	protobuf_packed(&message, 4, values, 0);
	CHECK(&message, "");
	protobuf_free(&message);
}

static void test_edges_of_numbers(void **state)
{
	struct protobuf message = protobuf_new(1000);

	(void)state;
	protobuf_uint(&message, 15, 0);
	protobuf_uint(&message, 15, 127);
	protobuf_uint(&message, 15, 128);
	protobuf_uint(&message, 16, UINT64_MAX);
	protobuf_uint(&message, 1, (uint64_t)INT64_C(-1));
	CHECK(&message, "\x78\x00"
			"\x78\x7f"
			"\x78\x80\x01"
			"\x80\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
			"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
	protobuf_clear(&message);
	protobuf_uint(&message, PROTOBUF_FIELD_MAX, 1);
	CHECK(&message, "\xf8\xff\xff\xff\x0f\x01");
	protobuf_free(&message);
}

static void test_empty_and_long_bytes(void **state)
{
	struct protobuf message = protobuf_new(100000), empty = protobuf_new(10);
	char text[301];

	(void)state;
	protobuf_text(&message, 6, "");
	protobuf_message(&message, 7, &empty);
	protobuf_bytes(&message, 8, NULL, 0);
	CHECK(&message, "\x32\x00\x3a\x00\x42\x00");
	protobuf_clear(&message);
	memset(text, 'x', 300);
	text[300] = '\0';
	protobuf_text(&message, 1, text);
	assert_int_equal(message.size, 303);
	assert_memory_equal(message.bytes, "\x0a\xac\x02xxx", 6);
	protobuf_free(&message);
	protobuf_free(&empty);
}

/* At the limit it goes on, one byte further it fails, keeps what it has and takes nothing more. */
static void test_limit(void **state)
{
	static const uint64_t large[] = {UINT64_MAX, 1};
	struct protobuf message = protobuf_new(9), outer = protobuf_new(1000);

	(void)state;
	protobuf_text(&message, 1, "1234567");
	CHECK(&message, "\x0a\x07"
			"1234567");
	protobuf_uint(&message, 1, 1);
	assert_true(message.failed);
	assert_int_equal(message.size, 9);
	protobuf_clear(&message);
	protobuf_uint(&message, 1, 1);
	assert_true(message.failed);
	assert_int_equal(message.size, 0);
	protobuf_message(&outer, 1, &message);
	assert_true(outer.failed);
	assert_int_equal(outer.size, 0);
	protobuf_free(&message);
	protobuf_free(&outer);
	message = protobuf_new(12);
	protobuf_packed(&message, 1, large, 2);
	assert_true(message.failed);
	protobuf_free(&message);
	message = protobuf_new(100);
	protobuf_bytes(&message, 1, "x", SIZE_MAX);
	assert_true(message.failed);
	protobuf_free(&message);
}

static void test_fixed64(void **state)
{
	static const uint8_t wanted[] = {0x19, 8, 7, 6, 5, 4, 3, 2, 1};
	struct protobuf message = protobuf_new(sizeof(wanted));

	(void)state;
	protobuf_fixed64(&message, 3, UINT64_C(0x0102030405060708));
	assert_int_equal(message.size, sizeof(wanted));
	assert_memory_equal(message.bytes, wanted, sizeof(wanted));
	assert_false(message.failed);
	protobuf_fixed64(&message, 3, 0);
	assert_true(message.failed);
	protobuf_free(&message);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_examples),
		cmocka_unit_test(test_packed),
		cmocka_unit_test(test_edges_of_numbers),
		cmocka_unit_test(test_empty_and_long_bytes),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_fixed64),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
