/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_go_note.c - Go's note alone, among others, cut off at each byte, and with sizes that lie.
 *
 * All notes are read from a block of just their size, so that AddressSanitizer sees a byte too many.
 */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/go_note.h"

enum { HEADER = sizeof(Elf64_Nhdr), ROOM = 256 };

static uint8_t notes[ROOM];
static size_t used;

/* Sizes as they stand in the header; both parts padded to 4 bytes, name with zeros. */
static void add(const char *name, uint32_t name_size, uint32_t content_size)
{
	const Elf64_Nhdr header = {name_size, content_size, 4};

	memcpy(notes + used, &header, HEADER);
	used += HEADER;
	memcpy(notes + used, name, strlen(name));
	used += (name_size + 3) / 4 * 4 + (content_size + 3) / 4 * 4;
	assert_true(used <= ROOM);
}

static bool in_first(size_t size)
{
	uint8_t *exact = malloc(size ? size : 1);
	bool found;

	assert_non_null(exact);
	memcpy(exact, notes, size);
	found = go_note_is_in(exact, size);
	free(exact);
	return found;
}

static int begin(void **state)
{
	(void)state;
	memset(notes, 0, sizeof(notes));
	used = 0;
	return 0;
}

static void its_owner_may_count_its_padding(void **state)
{
	uint32_t size;

	(void)state;
	for (size = 0; size <= 8; size++) {
		begin(NULL);
		add("Go", size, 20);
		assert_int_equal(in_first(used), size == 3 || size == 4);
	}
}

static void others_are_not_it(void **state)
{
	static const char *const names[] = {"", "G", "go", "GoX", "GNU", "oG"};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		begin(NULL);
		add(names[i], 4, 16);
		assert_false(in_first(used));
	}
	assert_false(in_first(0));
}

static void it_is_found_behind_others(void **state)
{
	(void)state;
	add("GNU", 4, 20);
	add("stapsdt", 8, 1);
	add("", 0, 0);
	add("Go", 4, 83);
	assert_true(in_first(used));
}

/* Its content is not needed, but all of its name. */
static void a_cut_one_is_found_from_its_whole_name_on(void **state)
{
	size_t before, size;

	(void)state;
	add("GNU", 4, 6);
	before = used;
	add("Go", 3, 40);
	for (size = 0; size <= used; size++)
		assert_int_equal(in_first(size), size >= before + HEADER + 4);
}

static void sizes_beyond_the_end_end_the_search(void **state)
{
	static const uint32_t large[] = {49, UINT32_MAX - 3, UINT32_MAX - 2, UINT32_MAX};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(large) / sizeof(large[0]); i++) {
		/* 48 bytes are left behind the first header, 44 behind its name. */
		Elf64_Nhdr header = {large[i], 0, 4};

		begin(NULL);
		add("GNU", 4, 0);
		add("Go", 4, 28);
		assert_int_equal(used, HEADER + 4 + HEADER + 4 + 28);
		assert_true(in_first(used));
		memcpy(notes, &header, HEADER);
		assert_false(in_first(used));
		header = (Elf64_Nhdr){4, large[i] - 4, 4};
		memcpy(notes, &header, HEADER);
		assert_false(in_first(used));
	}
}

/* Rounded up in 32 bits they would be 0: the next note would seem to begin at once. */
static void sizes_do_not_wrap(void **state)
{
	static const uint32_t large[] = {UINT32_MAX - 2, UINT32_MAX - 1, UINT32_MAX};
	Elf64_Nhdr header;
	size_t i;

	(void)state;
	add("", 0, 0);
	add("Go", 4, 0);
	assert_true(in_first(used));
	for (i = 0; i < sizeof(large) / sizeof(large[0]); i++) {
		header = (Elf64_Nhdr){large[i], 0, 4};
		memcpy(notes, &header, HEADER);
		assert_false(in_first(used));
		header = (Elf64_Nhdr){0, large[i], 4};
		memcpy(notes, &header, HEADER);
		assert_false(in_first(used));
	}
}

/* The last note's content ends where the bytes end, or one too late. */
static void a_note_may_end_with_the_bytes(void **state)
{
	Elf64_Nhdr header = {4, HEADER + 4, 4};

	(void)state;
	add("GNU", 4, 0);
	add("Go", 4, 0);
	memcpy(notes, &header, HEADER);
	assert_false(in_first(used));
	header.n_descsz = 0;
	memcpy(notes, &header, HEADER);
	assert_true(in_first(used));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(its_owner_may_count_its_padding, begin),
		cmocka_unit_test_setup(others_are_not_it, begin),
		cmocka_unit_test_setup(it_is_found_behind_others, begin),
		cmocka_unit_test_setup(a_cut_one_is_found_from_its_whole_name_on, begin),
		cmocka_unit_test_setup(sizes_beyond_the_end_end_the_search, begin),
		cmocka_unit_test_setup(sizes_do_not_wrap, begin),
		cmocka_unit_test_setup(a_note_may_end_with_the_bytes, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
