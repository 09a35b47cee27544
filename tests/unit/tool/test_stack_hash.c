/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_stack_hash.c - the {hash}: FNV-1a's published values, and the rules of doc/LOG.md byte by byte.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/stack_hash.h"
#include "profile/stack_id.h"

/* FNV-1a, 64 bits, written once more. */
static uint64_t fnv(const void *bytes, size_t size)
{
	const unsigned char *at = bytes;
	uint64_t hash = 14695981039346656037u;

	while (size-- > 0) {
		hash ^= *at++;
		hash *= 1099511628211u;
	}
	return hash;
}

static void known_values(void **state)
{
	(void)state;
	assert_true(STACK_HASH_START == fnv("", 0));
	assert_true(stack_hash_bytes(STACK_HASH_START, "a", 1) == UINT64_C(0xaf63dc4c8601ec8c));
	assert_true(stack_hash_bytes(STACK_HASH_START, "foobar", 6) == UINT64_C(0x85944171f73967e8));
	assert_true(stack_hash_string(STACK_HASH_START, "foobar") == fnv("foobar", 7));
}

static void numbers_are_little_endian_and_whole(void **state)
{
	static const uint64_t values[] = {
		0, 1, 0xff, 0x100, 0x11b0, 0x10000, 0x7fd4fca1d89c, UINT64_MAX, UINT64_C(1) << 63};

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		unsigned char bytes[8];

		for (unsigned j = 0; j < 8; j++)
			bytes[j] = (unsigned char)(values[i] >> 8 * j);
		assert_true(stack_hash_uint(STACK_HASH_START, values[i], 8) == fnv(bytes, 8));
		assert_true(stack_hash_uint(STACK_HASH_START, values[i], 4) == fnv(bytes, 4));
	}
}

static void frames_as_documented(void **state)
{
	static const uint8_t id[] = {1, 2, 0, 4};
	struct stack_hash_frame frame = {
		.build_id = id, .build_id_size = 4, .path = "/x", .offset = 0x1234};
	static const char with_id[] = "malloc\0\1\2\0\4\x34\x12\0\0\0\0\0\0";
	static const char with_path[] = "malloc\0/x\0\x34\x12\0\0\0\0\0\0\3\0\0\0";
	uint64_t start = stack_hash_string(STACK_HASH_START, "malloc");

	(void)state;
	assert_true(stack_hash_code(start, &frame) == fnv(with_id, 7 + 4 + 8));
	frame.build_id_size = 0;
	frame.instance = 3;
	assert_true(stack_hash_code(start, &frame) == fnv(with_path, 7 + 3 + 8 + 4));
}

/* The reader's short cut gives the same, from any hash. */
static void one_step_for_a_module_is_the_same(void **state)
{
	static const uint8_t id[20] = "\1\2\3\0\5\6\7\xff\x80xxxxxxxxxxx";
	struct profile_module modules[] = {
		{.path = ""},
		{.path = "/usr/lib/libexample.so.1"},
		{.path = "/usr/bin/x", .build_id = id, .build_id_size = 20},
		{.path = "/usr/bin/x", .build_id = id, .build_id_size = 20, .instance = 7},
	};
	struct profile profile = {.modules = modules, .module_count = 4};
	struct profile_location special = {.special = "[truncated]"};
	uint64_t value = STACK_HASH_START;

	(void)state;
	profile.id_prefixes = stack_id_prefixes_new(4);
	assert_non_null(profile.id_prefixes);
	for (unsigned i = 0; i < 4000; i++) {
		const struct profile_module *module = &modules[i % 4];
		struct profile_location location = {.module = i % 4, .offset = value >> i % 64};
		struct stack_hash_frame frame = {
			.build_id = module->build_id,
			.build_id_size = module->build_id_size,
			.path = module->path,
			.offset = location.offset,
			.instance = module->instance,
		};
		uint64_t expected = stack_hash_code(value, &frame);

		value = stack_id_frame(&profile, value, &location);
		assert_true(value == expected);
	}
	assert_true(stack_id_frame(&profile, 5, &special) == stack_hash_string(5, "[truncated]"));
	stack_id_prefixes_free(profile.id_prefixes, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_values),
		cmocka_unit_test(numbers_are_little_endian_and_whole),
		cmocka_unit_test(frames_as_documented),
		cmocka_unit_test(one_step_for_a_module_is_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
