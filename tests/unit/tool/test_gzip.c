/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_gzip.c - what was written is read back by zlib; a file that cannot be written keeps its error.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "export/gzip.h"

enum { SIZE = 3 * 1000 * 1000 };

/* Half of it compresses well. */
static unsigned char *make_bytes(void)
{
	unsigned char *bytes = malloc(SIZE);
	uint32_t number = 1, i;

	assert_non_null(bytes);
	for (i = 0; i < SIZE; i++) {
		number = number * 1664525 + 1013904223;
		bytes[i] = i < SIZE / 2 ? 'a' : (unsigned char)(number >> 24);
	}
	return bytes;
}

static size_t unpack(const char *packed, size_t size, unsigned char *bytes)
{
	z_stream stream = {0};

	assert_int_equal(inflateInit2(&stream, 16 + MAX_WBITS), Z_OK);
	stream.next_in = (unsigned char *)(uintptr_t)packed;
	stream.avail_in = (unsigned)size;
	stream.next_out = bytes;
	stream.avail_out = SIZE + 1;
	assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
	assert_int_equal(stream.avail_in, 0);
	inflateEnd(&stream);
	return SIZE + 1 - stream.avail_out;
}

/* Written in parts of a size. */
static void check_round_trip(size_t part)
{
	struct gzip *gzip = malloc(sizeof(*gzip));
	unsigned char *bytes = make_bytes(), *back = malloc(SIZE + 1);
	struct error err = {""};
	char *packed = NULL;
	size_t size, at;
	FILE *file = open_memstream(&packed, &size);

	assert_non_null(gzip);
	assert_non_null(back);
	assert_true(gzip_begin(gzip, file, &err));
	for (at = 0; at < SIZE; at += part)
		gzip_write(gzip, bytes + at, SIZE - at < part ? SIZE - at : part);
	gzip_end(gzip);
	fclose(file);
	assert_true(size > SIZE / 2 && size < SIZE / 2 + SIZE / 20);
	assert_int_equal(unpack(packed, size, back), SIZE);
	assert_memory_equal(back, bytes, SIZE);
	free(packed);
	free(back);
	free(bytes);
	free(gzip);
}

static void test_round_trip(void **state)
{
	(void)state;
	check_round_trip(SIZE);
	check_round_trip(64 * 1024);
	check_round_trip(999);
}

static void test_nothing(void **state)
{
	static struct gzip gzip;
	unsigned char *back = malloc(SIZE + 1);
	struct error err = {""};
	char *packed = NULL;
	size_t size;
	FILE *file = open_memstream(&packed, &size);

	(void)state;
	assert_true(gzip_begin(&gzip, file, &err));
	gzip_write(&gzip, "", 0);
	gzip_end(&gzip);
	fclose(file);
	assert_int_equal(unpack(packed, size, back), 0);
	free(packed);
	free(back);
}

static void test_full_disk(void **state)
{
	static struct gzip gzip;
	struct error err = {""};
	unsigned char *bytes = make_bytes();
	FILE *file = fopen("/dev/full", "w");

	(void)state;
	assert_non_null(file);
	assert_true(gzip_begin(&gzip, file, &err));
	gzip_write(&gzip, bytes, SIZE);
	gzip_end(&gzip);
	assert_true(ferror(file));
	fclose(file);
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_full_disk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
