/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_pack.c - what was packed is read back by zlib and a plain decoder of Base64, whatever its size.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "page/pack.h"

enum { SIZE = 1000 * 1000 };

static unsigned value_of(char digit)
{
	static const char
		digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *found = strchr(digits, digit);

	assert_true(digit && found);
	return (unsigned)(found - digits);
}

/* In place; returns the number of bytes. */
static size_t decode(char *text, size_t length)
{
	size_t count = 0, at, padding = 0;
	unsigned group = 0;

	assert_int_equal(length % 4, 0);
	while (padding < 2 && length > padding && text[length - 1 - padding] == '=')
		padding++;
	for (at = 0; at < length - padding; at++) {
		group = group << 6 | value_of(text[at]);
		if (at % 4 == 3)
			for (int shift = 16; shift >= 0; shift -= 8)
				text[count++] = (char)(group >> shift);
	}
	/* Two digits hold a byte, three hold two; the bits left over are 0. */
	if (padding == 2) {
		assert_int_equal(group & 15, 0);
		text[count++] = (char)(group >> 4);
	} else if (padding == 1) {
		assert_int_equal(group & 3, 0);
		text[count++] = (char)(group >> 10);
		text[count++] = (char)(group >> 2);
	}
	return count;
}

static void pack_and_compare(const unsigned char *bytes, size_t size, size_t step)
{
	struct pack *pack = malloc(sizeof(*pack));
	unsigned char *back = malloc(size + 1);
	uLongf length = size + 1;
	struct error err = {""};
	char *text = NULL;
	size_t used, packed;
	FILE *file = open_memstream(&text, &used);

	assert_true(file && pack && back);
	assert_true(pack_begin(pack, file, &err));
	for (size_t at = 0; at < size; at += step)
		pack_write(pack, bytes + at, size - at < step ? size - at : step);
	pack_end(pack);
	fclose(file);
	packed = decode(text, used);
	assert_int_equal(uncompress(back, &length, (unsigned char *)text, packed), Z_OK);
	assert_int_equal(length, size);
	assert_memory_equal(back, bytes, size);
	free(text);
	free(back);
	free(pack);
}

/* Half of it compresses well, half not at all, so that a round is full in the middle of a write. */
static void test_reads_back(void **state)
{
	unsigned char *bytes = malloc(SIZE);
	uint32_t number = 1;

	(void)state;
	assert_non_null(bytes);
	for (size_t i = 0; i < SIZE; i++) {
		number = number * 1664525 + 1013904223;
		bytes[i] = i < SIZE / 2 ? 'a' : (unsigned char)(number >> 24);
	}
	pack_and_compare(bytes, SIZE, 1000);
	pack_and_compare(bytes, SIZE, SIZE);
	for (size_t size = 0; size < 40; size++)
		pack_and_compare(bytes + SIZE / 2, size, 7);
	for (size_t size = DEFLATER_ROUND - 20; size < DEFLATER_ROUND + 10; size++)
		pack_and_compare(bytes + SIZE / 2, size, size);
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_reads_back)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
