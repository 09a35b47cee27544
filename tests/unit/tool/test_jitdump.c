/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_jitdump.c - names and lines from the logs of just-in-time compilers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "jit_fixture.h"
#include "symbol/jitdump.h"

enum { LOAD, MOVE, LINES, CLOSE };

static struct {
	uint8_t bytes[64 * 1024];
	size_t size;
} dump;

static struct jit_names names;

static void put(uint64_t value, size_t size)
{
	memcpy(dump.bytes + dump.size, &value, size);
	dump.size += size;
}

static void put_text(const char *text)
{
	memcpy(dump.bytes + dump.size, text, strlen(text) + 1);
	dump.size += strlen(text) + 1;
}

static void begin(uint32_t magic, uint32_t version, uint32_t header_size)
{
	dump.size = 0;
	put(magic, 4);
	put(version, 4);
	put(header_size, 4);
	memset(dump.bytes + dump.size, 0, header_size > 12 ? header_size - 12 : 0);
	dump.size = header_size > 12 ? header_size : 12;
}

static size_t begin_record(uint32_t id)
{
	size_t at = dump.size;

	put(id, 4);
	put(0, 4);
	put(7, 8); /* time */
	return at;
}

static void end_record(size_t at)
{
	uint32_t size = (uint32_t)(dump.size - at);

	memcpy(dump.bytes + at + 4, &size, 4);
}

static void load(uint64_t address, uint64_t size, const char *name, uint64_t index)
{
	size_t at = begin_record(LOAD);

	put(1, 4);
	put(2, 4);
	put(address, 8);
	put(address, 8);
	put(size, 8);
	put(index, 8);
	put_text(name);
	put(0xc3c3c3c3, 4); /* code */
	end_record(at);
}

static void move(uint64_t from, uint64_t to, uint64_t size, uint64_t index)
{
	size_t at = begin_record(MOVE);

	put(1, 4);
	put(2, 4);
	put(to, 8);
	put(from, 8);
	put(to, 8);
	put(size, 8);
	put(index, 8);
	end_record(at);
}

static void line(uint64_t address, uint32_t number, const char *file)
{
	put(address, 8);
	put(number, 4);
	put(0, 4);
	put_text(file);
}

static size_t begin_lines(uint64_t address, uint64_t count)
{
	size_t at = begin_record(LINES);

	put(address, 8);
	put(count, 8);
	return at;
}

static void ask(const uint64_t *addresses, size_t count)
{
	assert_true(jit_names_begin(&names, addresses, count));
	fixture_ask(jitdump_read, dump.bytes, dump.size, &names);
}

static void expect(uint64_t address, uint64_t start, const char *raw_name)
{
	const struct jit_name *name = fixture_name(&names, address);

	assert_non_null(name);
	assert_non_null(name->raw_name);
	assert_string_equal(name->raw_name, raw_name);
	assert_int_equal(name->start, start);
}

static void expect_line(uint64_t address, const char *file, uint32_t number)
{
	const struct jit_name *name = fixture_name(&names, address);

	assert_non_null(name->file);
	assert_string_equal(name->file, file);
	assert_int_equal(name->line, number);
}

static void functions(void **state)
{
	static const uint64_t addresses[] = {0x1001, 0x1010, 0x1011, 0x2005, 0x3000};

	(void)state;
	begin(0x4a695444, 1, 56); /* header with more than is known */
	load(0x1000, 0x10, "one", 1);
	end_record(begin_record(9)); /* of a kind that is not known */
	load(0x2000, 0x10, "two", 2);
	load(0x2000, 0x08, "two again", 3);
	end_record(begin_record(CLOSE));
	ask(addresses, 5);
	expect(0x1001, 0x1000, "one");
	expect(0x1010, 0x1000, "one");
	expect(0x2005, 0x2000, "two again");
	assert_null(fixture_name(&names, 0x1011)->raw_name);
	assert_null(fixture_name(&names, 0x3000)->raw_name);
	assert_int_equal(names.found, 3);
	jit_names_end(&names);
}

static void lines(void **state)
{
	static const uint64_t addresses[] = {0x1001, 0x1008, 0x1009, 0x1011, 0x2004};
	size_t at;

	(void)state;
	begin(0x4a695444, 1, 40);
	at = begin_lines(0x1000, 3);
	line(0x1000, 3, "/srv/a.js");
	line(0x1008, 4, "\xff");
	line(0x1010, 9, "b.js");
	end_record(at);
	load(0x1000, 0x20, "f", 1);
	load(0x2000, 0x20, "g", 2); /* its lines are not those of f */
	ask(addresses, 5);
	expect_line(0x1001, "/srv/a.js", 3);
	expect_line(0x1008, "/srv/a.js", 3); /* the call is before 0x1008 */
	expect_line(0x1009, "/srv/a.js", 4);
	expect_line(0x1011, "b.js", 9);
	expect(0x2004, 0x2000, "g");
	assert_null(fixture_name(&names, 0x2004)->file);
	jit_names_end(&names);
}

static void moved_functions(void **state)
{
	static const uint64_t addresses[] = {0x5001, 0x5009, 0x1009, 0x6001, 0x7001};
	size_t at;

	(void)state;
	begin(0x4a695444, 1, 40);
	at = begin_lines(0x1000, 2);
	line(0x1000, 3, "a.js");
	line(0x1008, 4, "\xff");
	end_record(at);
	load(0x1000, 0x20, "f", 5);
	load(0x8000, 0x20, "g", 6);
	load(0x9000, 0x20, "unordered", 2);
	move(0x1000, 0x4000, 0x20, 5);
	move(0x4000, 0x5000, 0x20, 5);
	load(0x1000, 0x20, "h", 7);
	move(0x8000, 0x6000, 0x20, 6);
	move(0x8000, 0x7000, 0x20, 99); /* nobody knows it */
	ask(addresses, 5);
	expect(0x5001, 0x5000, "f");
	expect_line(0x5001, "a.js", 3);
	expect_line(0x5009, "a.js", 4);
	expect(0x1009, 0x1000, "h");
	expect(0x6001, 0x6000, "g");
	assert_null(fixture_name(&names, 0x7001)->raw_name);
	jit_names_end(&names);
}

static void no_logs(void **state)
{
	static const uint64_t addresses[] = {0x1001};
	static const uint32_t heads[][3] = {
		{0x4454694a, 1, 40}, {0x4a695444, 2, 40}, {0x4a695444, 1, 39}, {0, 1, 40}};

	(void)state;
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		begin(heads[i][0], heads[i][1], heads[i][2]);
		load(0x1000, 0x10, "one", 1);
		ask(addresses, 1);
		assert_int_equal(names.found, 0);
		jit_names_end(&names);
	}
	dump.size = 0;
	ask(addresses, 1);
	assert_int_equal(names.found, 0);
	jit_names_end(&names);
}

/* Whatever the file is cut off at: complete records count, others do not. */
static void cut_off(void **state)
{
	static const uint64_t addresses[] = {0x1001, 0x2001};
	size_t first_end, whole;

	(void)state;
	begin(0x4a695444, 1, 40);
	load(0x1000, 0x10, "one", 1);
	first_end = dump.size;
	load(0x2000, 0x10, "two", 2);
	whole = dump.size;
	for (size_t size = 0; size <= whole; size++) {
		dump.size = size;
		ask(addresses, 2);
		assert_int_equal(names.found, (size >= first_end) + (size == whole));
		jit_names_end(&names);
	}
}

static void impossible_records(void **state)
{
	static const uint64_t addresses[] = {0x1001, 0x2001, 0x3001};
	size_t at;

	(void)state;
	begin(0x4a695444, 1, 40);
	at = begin_record(LOAD); /* too short for its fields */
	put(1, 8);
	end_record(at);
	load(0x1000, 0x10, "", 1); /* no name */
	load(UINT64_MAX - 3, 0x10, "wraps", 2);
	load(0x2000, UINT64_MAX, "everything", 3);
	at = begin_lines(0x3000, 1000000); /* more than there are */
	line(0x3000, 7, "\xff");	   /* no file before */
	end_record(at);
	load(0x3000, 0x10, "three", 4);
	at = begin_record(LOAD); /* size 0: nothing can follow */
	load(0x1000, 0x10, "unreachable", 5);
	ask(addresses, 3);
	assert_null(fixture_name(&names, 0x1001)->raw_name);
	assert_null(fixture_name(&names, 0x2001)->raw_name);
	expect(0x3001, 0x3000, "three");
	assert_null(fixture_name(&names, 0x3001)->file);
	assert_int_equal(names.found, 1);
	jit_names_end(&names);
}

/* A log says more than a perf map that was read before. */
static void replaces_other_names(void **state)
{
	static const uint64_t addresses[] = {0x1001, 0x2001};
	struct jit_name *name;

	(void)state;
	begin(0x4a695444, 1, 40);
	load(0x1000, 0x10, "log", 1);
	assert_true(jit_names_begin(&names, addresses, 2));
	for (int i = 0; i < 2; i++) {
		name = &names.items[i];
		name->record.start = 0x800;
		jit_names_set(&names, name, "map", 3);
	}
	fixture_ask(jitdump_read, dump.bytes, dump.size, &names);
	expect(0x1001, 0x1000, "log");
	expect(0x2001, 0x800, "map");
	assert_int_equal(names.found, 2);
	jit_names_end(&names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions),
		cmocka_unit_test(lines),
		cmocka_unit_test(moved_functions),
		cmocka_unit_test(no_logs),
		cmocka_unit_test(cut_off),
		cmocka_unit_test(impossible_records),
		cmocka_unit_test(replaces_other_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
