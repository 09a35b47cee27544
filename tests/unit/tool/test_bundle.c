/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_bundle.c - bundles: what goes in comes out, and what is damaged is refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <cmocka.h>

#include "core/cursor.h"
#include "profile/bundle.h"
#include "profile/bundle_source.h"
#include "profile/bundle_text.h"
#include "profile/given_names.h"
#include "profile/names.h"
#include "profile/read.h"
#include "profile/stack_id.h"
#include "profile_fixture.h"

static char folder[64];
static char path[128];	 /* of the profile */
static char output[128]; /* of the bundle */
static struct fixture f;

/* --- building blocks ------------------------------------------------------------------------- */

static void strings_are_stored_once(void **state)
{
	struct bundle_text text = {0};
	char name[32];
	char *longest = malloc(BUNDLE_STRING_MAX + 10);

	(void)state;
	assert_non_null(longest);
	assert_int_equal(bundle_text_add(&text, NULL), 0);
	assert_int_equal(bundle_text_add(&text, "a"), 1);
	assert_int_equal(bundle_text_add(&text, ""), 2);
	assert_int_equal(bundle_text_add(&text, "ab"), 3);
	assert_int_equal(bundle_text_add(&text, "a"), 1);
	for (int i = 0; i < 5000; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		assert_int_equal(bundle_text_add(&text, name), 4 + i);
	}
	for (int i = 4999; i >= 0; i--) {
		snprintf(name, sizeof(name), "n%d", i);
		assert_int_equal(bundle_text_add(&text, name), 4 + i);
	}
	assert_int_equal(text.count, 5003);
	assert_memory_equal(text.bytes.bytes, "a\0\0ab\0n0", 9);
	memset(longest, 'x', BUNDLE_STRING_MAX + 9);
	longest[BUNDLE_STRING_MAX + 9] = '\0';
	assert_int_equal(bundle_text_add(&text, longest), 5004);
	longest[BUNDLE_STRING_MAX] = '\0';
	assert_int_equal(bundle_text_add(&text, longest), 5004);
	assert_false(text.bytes.failed);
	bundle_text_free(&text);
	free(longest);
}

static void numbers(void **state)
{
	static const uint64_t values[] = {0, 1, 127, 128, 300, UINT32_MAX, UINT64_MAX};
	struct bundle_bytes bytes = {0};
	struct cursor c;

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		bundle_bytes_number(&bytes, values[i]);
	assert_int_equal(bytes.size, 1 + 1 + 1 + 2 + 2 + 5 + 10);
	c = cursor_make(bytes.bytes, bytes.size);
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		assert_true(cursor_uleb(&c) == values[i]);
	assert_int_equal(cursor_left(&c), 0);
	bundle_bytes_free(&bytes);
}

static uint64_t write_source(const uint32_t *lines, size_t count, const char *file,
			     struct bundle_bytes *section, struct bundle_text *text)
{
	struct bundle_source source = {0};
	uint64_t written;

	for (size_t i = 0; i < count; i++)
		bundle_source_add(&source, file, lines[i]);
	bundle_source_add(&source, NULL, 3);
	bundle_source_add(&source, "/nowhere.c", 3);
	bundle_source_add(&source, "/dev/zero", 3);
	bundle_source_add(&source, file, 0);
	written = bundle_source_write(&source, text, section);
	bundle_source_free(&source);
	return written;
}

static void source_lines(void **state)
{
	static const uint32_t lines[] = {30, 2, 12, 30, 13, 99, 1000};
	struct bundle_bytes section = {0};
	struct bundle_text text = {0};
	char file[128];
	struct cursor c;
	FILE *out;

	(void)state;
	snprintf(file, sizeof(file), "%s/a.c", folder);
	out = fopen(file, "w");
	assert_non_null(out);
	for (int i = 1; i <= 101; i++)
		fprintf(out, "line %d\r\n", i);
	fclose(out);
	/* 1 to 18, 25 to 35, 94 to 101 */
	assert_int_equal(write_source(lines, 7, file, &section, &text), 18 + 11 + 8);
	c = cursor_make(section.bytes, section.size);
	assert_int_equal(cursor_uleb(&c), 3);
	cursor_uleb(&c); /* file */
	assert_int_equal(cursor_uleb(&c), 1);
	assert_int_equal(cursor_uleb(&c), 18);
	for (int i = 0; i < 18; i++)
		cursor_uleb(&c);
	cursor_uleb(&c);
	assert_int_equal(cursor_uleb(&c), 25);
	assert_int_equal(cursor_uleb(&c), 11);
	assert_non_null(memmem(text.bytes.bytes, text.bytes.size, "\0line 25\0", 9));
	assert_null(memmem(text.bytes.bytes, text.bytes.size, "line 24", 7));
	bundle_bytes_free(&section);
	bundle_text_free(&text);
}

/* --- bundles --------------------------------------------------------------------------------- */

/* Two frames of this program, one of a file that is gone, one outside of modules. */
static void begin(void)
{
	uint32_t frames[4];
	uint32_t gone, id;

	fixture_begin(&f);
	gone = fixture_module(&f, "/nowhere/libgone.so", "0123");
	frames[0] = fixture_pc32(&f, gone, 0x1000);
	frames[1] = fixture_pc32(&f, gone, 0x2000);
	frames[2] = fixture_pc32(&f, 0, 0x7000);
	frames[3] = FORMAT_SPECIAL_TRUNCATED;
	id = fixture_stack(&f, frames, 4, FORMAT_HOOK_CALLOC);
	atomic_store(&fixture_counter(&f, 0, id)->alloc_count, 3);
	atomic_store(&fixture_counter(&f, 0, id)->alloc_bytes, 300);
	atomic_store(&f.first->header.end_ns, 5000);
	f.first->header.program = fixture_text(&f, "/bin/server", 11);
	fixture_save(&f, path);
}

static bool make(struct bundle_result *result, struct error *err)
{
	struct bundle_request request = {.path = path, .output = output};

	err->text[0] = '\0';
	return bundle_write(&request, result, err);
}

static void comes_out_as_it_went_in(void **state)
{
	struct profile *profile, *original;
	struct bundle_result result;
	struct error err;
	struct names *names;
	struct stat status;
	const struct symbol *found;

	(void)state;
	begin();
	if (!make(&result, &err))
		fail_msg("%s", err.text);
	assert_int_equal(result.profile_bytes, fixture_size(&f));
	assert_int_equal(result.places, 0);
	assert_int_equal(result.nameless, 3);
	assert_int_equal(stat(output, &status), 0);
	assert_int_equal(status.st_size, result.bytes);
	assert_int_equal(status.st_mode & 0777, 0600);
	assert_true(bundle_is_at(output));
	assert_false(bundle_is_at(path));
	assert_true(profile_open(output, &profile, &err));
	assert_true(profile_open(path, &original, &err));
	assert_string_equal(profile->path, output);
	assert_string_equal(profile->program, "/bin/server");
	assert_string_equal(profile->damage, "");
	assert_false(profile->is_live);
	assert_int_equal(profile->duration_ns, 5000);
	assert_int_equal(profile->file_bytes, result.bytes);
	assert_int_equal(profile->stack_count, 1);
	assert_true(stack_id(profile, profile->stacks) == stack_id(original, original->stacks));
	assert_int_equal(profile->totals.alloc_bytes, 300);
	assert_int_equal(profile->location_count, 4);
	assert_true(given_names_all(profile));
	assert_false(given_names_all(original));
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(given_names_at(profile, i, &found),
				 profile->locations[i].special ? 0 : 1);
	names = names_new(profile);
	assert_null(names_problems(names)[0]); /* nothing was asked yet */
	for (uint32_t i = 0; i < 4; i++)
		names_at(names, i, &found);
	assert_string_equal(names_problems(names)[0], "libgone.so: is not there or cannot be read");
	assert_null(names_problems(names)[1]);
	names_free(names);
	profile_close(profile);
	profile_close(original);
	fixture_end(&f);
}

static void refusals(void **state)
{
	struct bundle_result result;
	struct error err;
	char saved[128];

	(void)state;
	begin();
	strcpy(saved, path);
	assert_true(make(&result, &err));
	strcpy(path, output);
	assert_false(make(&result, &err));
	assert_non_null(strstr(err.text, "is a bundle already"));
	strcpy(path, "/dev/null");
	assert_false(make(&result, &err));
	assert_non_null(strstr(err.text, "not a regular file"));
	strcpy(path, saved);
	strcpy(saved, output);
	strcpy(output, "/nowhere/bundle");
	assert_false(make(&result, &err));
	assert_string_equal(err.text, "/nowhere/bundle: No such file or directory");
	strcpy(output, "/dev/full");
	assert_false(make(&result, &err));
	assert_string_equal(err.text, "/dev/full: No space left on device");
	strcpy(output, saved);
	fixture_end(&f);
}

/* --- damage ---------------------------------------------------------------------------------- */

static struct {
	char bytes[256 * 1024];
	size_t size;
} file;

static void load(void)
{
	FILE *in = fopen(output, "rb");

	assert_non_null(in);
	file.size = fread(file.bytes, 1, sizeof(file.bytes), in);
	fclose(in);
	assert_true(file.size > 500 && file.size < sizeof(file.bytes));
}

/* The reason; "" = it opens. */
static const char *reason(void)
{
	static struct error err;
	struct profile *profile;

	err.text[0] = '\0';
	if (profile_open_memory(file.bytes, file.size, &profile, &err))
		profile_close(profile);
	else
		assert_true(err.text[0] != '\0');
	return err.text;
}

static struct bundle_header *header(void)
{
	return (struct bundle_header *)file.bytes;
}

static struct bundle_section *section(unsigned index)
{
	return (struct bundle_section *)(file.bytes + sizeof(struct bundle_header)) + index;
}

static void damaged_headers(void **state)
{
	struct bundle_result result;
	struct error err;

	(void)state;
	begin();
	assert_true(make(&result, &err));
	load();
	assert_string_equal(reason(), "");
	header()->version = 7;
	assert_string_equal(reason(), "has bundle version 7; this pmem reads version 1");
	load();
	header()->section_count = 60;
	assert_string_equal(reason(), "damaged: its header has impossible sizes");
	load();
	header()->magic[0] = 'x';
	assert_string_equal(reason(), "not a profile");
	load();
	section(1)->size++;
	assert_string_equal(reason(), "section 2 has not the size that the table says");
	load();
	section(0)->size = UINT64_MAX;
	assert_string_equal(reason(), "its content is larger than bundles may be");
	load();
	section(0)->size = (uint64_t)1 << 29;
	assert_string_equal(reason(), "section 1 says to be larger than it can be");
	load();
	section(1)->kind = BUNDLE_PROFILE;
	assert_string_equal(reason(), "section 1 is there twice");
	load();
	section(3)->kind = 77; /* not known: skipped */
	assert_string_equal(reason(), "section 4 is missing");
	load();
	section(5)->kind = 77;
	assert_string_equal(reason(), "");
	load();
	section(2)->packed += 1;
	assert_true(reason()[0] != '\0');
	load();
	file.size++;
	assert_string_equal(reason(), "damaged: there is something behind its last section");
	fixture_end(&f);
}

static void cut_off(void **state)
{
	struct bundle_result result;
	struct error err;
	size_t whole;

	(void)state;
	begin();
	assert_true(make(&result, &err));
	load();
	whole = file.size;
	for (file.size = 0; file.size < whole; file.size++)
		assert_true(reason()[0] != '\0');
	file.size = whole;
	assert_string_equal(reason(), "");
	fixture_end(&f);
}

static bool is_same(const struct bundle *left, const struct bundle *right)
{
	for (int kind = 1; kind < BUNDLE_KINDS; kind++)
		if (left->parts[kind].size != right->parts[kind].size ||
		    memcmp(left->parts[kind].bytes, right->parts[kind].bytes,
			   left->parts[kind].size) != 0)
			return false;
	return true;
}

/* zstd's checksums tell, but for bits that mean nothing. */
static void flipped_bits(void **state)
{
	size_t at = sizeof(struct bundle_header) + 6 * sizeof(struct bundle_section);
	struct bundle_result result;
	struct bundle good, bad;
	unsigned noticed = 0;
	struct error err;

	(void)state;
	begin();
	assert_true(make(&result, &err));
	load();
	assert_true(bundle_read_memory(file.bytes, file.size, &good, &err));
	for (; at < file.size; at++) {
		file.bytes[at] ^= 0x10;
		if (bundle_read_memory(file.bytes, file.size, &bad, &err)) {
			assert_true(is_same(&good, &bad));
			bundle_end(&bad);
		} else {
			noticed++;
		}
		file.bytes[at] ^= 0x10;
	}
	assert_true(noticed > 300);
	bundle_end(&good);
	fixture_end(&f);
}

/* --- sections -------------------------------------------------------------------------------- */

static struct profile *target;

/* What bundle_apply() says of the numbers of a section; strings: "s1" to "s3". */
static const char *apply(enum bundle_kind kind, const uint64_t *values, size_t count)
{
	static struct error err;
	struct bundle bundle = {0};
	struct bundle_bytes parts[BUNDLE_KINDS] = {0};

	bundle_bytes_add(&parts[BUNDLE_STRINGS], "s1\0s2\0s3", 9);
	bundle_bytes_number(&parts[BUNDLE_FACTS], 0);
	bundle_bytes_number(&parts[BUNDLE_FACTS], 9);
	bundle_bytes_number(&parts[BUNDLE_NAMES], 0);
	bundle_bytes_number(&parts[BUNDLE_NAMES], 0);
	if (kind != BUNDLE_STRINGS)
		parts[kind].size = 0;
	for (size_t i = 0; i < count; i++)
		bundle_bytes_number(&parts[kind], values[i]);
	for (int i = 0; i < BUNDLE_KINDS; i++)
		bundle.parts[i] = (struct bundle_part){parts[i].bytes, parts[i].size};
	err.text[0] = '\0';
	if (!bundle_apply(&bundle, target, &err))
		assert_true(err.text[0] != '\0');
	for (int i = 0; i < BUNDLE_KINDS; i++)
		bundle_bytes_free(&parts[i]);
	return err.text;
}

#define APPLY(kind, ...) \
	apply(kind, (const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}) / 8)

static uint32_t location_at(uint64_t offset)
{
	for (uint32_t i = 0; i < target->location_count; i++)
		if (target->locations[i].offset == offset)
			return i;
	fail();
	return 0;
}

static void names_by_place(void **state)
{
	const struct symbol *found;

	(void)state;
	/* Two places; the second has an inlined function; a third that the profile does not have. */
	assert_string_equal(APPLY(BUNDLE_NAMES, 3, 7, /**/ 0, 0x7000, 1, 1, 2, 5, 1, 2, 3, 8, 0, 5,
				  /**/ 1, 0x1000, 2, 2, 0, 16, 3, 3, 0, 0, 1, 16, 2, 0, 1, 9, 0, 16,
				  /**/ 5, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0),
			    "");
	assert_int_equal(given_names_at(target, location_at(0x7000), &found), 1);
	assert_string_equal(found->function, "s1");
	assert_string_equal(found->raw_name, "s2");
	assert_string_equal(found->file, "s3");
	assert_int_equal(found->line, 8);
	assert_int_equal(found->offset, 5);
	assert_int_equal(given_names_at(target, location_at(0x1000), &found), 2);
	assert_true(found[0].inlined);
	assert_false(found[1].inlined);
	assert_string_equal(found[0].function, "s3");
	assert_string_equal(found[1].file, "s1");
	assert_null(found[0].file);
	assert_string_equal(given_names_fast(target, location_at(0x1000))->function, "s2");
	assert_int_equal(given_names_fast(target, location_at(0x1000))->offset, 16);
	assert_int_equal(given_names_at(target, location_at(0x2000), &found), 1);
	assert_null(found->function); /* nobody may look for it elsewhere */
}

static void impossible_names(void **state)
{
	static const char *const bad = "damaged: its names are impossible";

	(void)state;
	assert_string_equal(APPLY(BUNDLE_NAMES, 1, 1000000), bad);
	assert_string_equal(APPLY(BUNDLE_NAMES, 1, UINT64_MAX), bad);
	assert_string_equal(APPLY(BUNDLE_NAMES, 1, 0), bad);
	assert_string_equal(APPLY(BUNDLE_NAMES, UINT64_MAX, 2, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0),
			    bad);
	assert_string_equal(APPLY(BUNDLE_NAMES, 1, 2, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), bad);
	assert_string_equal(APPLY(BUNDLE_NAMES, 1, 2, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0), bad);
	assert_string_equal(APPLY(BUNDLE_NAMES, 1, 2, 0, 1, 1, 4, 0, 0, 0, 0, 0, 0, 0, 0), bad);
	assert_string_equal(APPLY(BUNDLE_NAMES, 1, 2, 0, 1, 1, 0, 0, 0, 0, 0, 0, UINT64_MAX, 0, 0),
			    bad);
	assert_string_equal(APPLY(BUNDLE_NAMES, 1, 2, UINT64_MAX, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0),
			    bad);
	assert_string_equal(APPLY(BUNDLE_NAMES, 2, 4, 0, UINT64_MAX, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0,
				  0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0),
			    bad);
}

static void modules_and_facts(void **state)
{
	(void)state;
	assert_string_equal(APPLY(BUNDLE_MODULES, 2, 0, 3), "");
	assert_null(given_names_problem(target, 0));
	assert_string_equal(given_names_problem(target, 1), "s3");
	assert_null(given_names_problem(target, 99));
	assert_string_equal(APPLY(BUNDLE_MODULES, 2, 0), "damaged: its modules are impossible");
	assert_string_equal(APPLY(BUNDLE_MODULES, 2, 0, 4), "damaged: its modules are impossible");
	assert_string_equal(APPLY(BUNDLE_FACTS, 1, 12345), "");
	assert_true(target->is_live);
	assert_int_equal(target->duration_ns, 12345);
	assert_string_equal(APPLY(BUNDLE_FACTS, 2, 12345), "damaged: its facts are impossible");
	assert_string_equal(APPLY(BUNDLE_FACTS, 0), "damaged: its facts are impossible");
	assert_string_equal(APPLY(BUNDLE_STRINGS, 'x'), "damaged: its strings are impossible");
}

static void lines_of_sources(void **state)
{
	static const char *const bad = "damaged: its source lines are impossible";

	(void)state;
	assert_string_equal(APPLY(BUNDLE_SOURCES, 3, 1, 5, 2, 1, 2, 1, 10, 1, 3, 2, 1, 1, 3), "");
	assert_string_equal(given_names_line(target, "s1", 5), "s1");
	assert_string_equal(given_names_line(target, "s1", 6), "s2");
	assert_string_equal(given_names_line(target, "s1", 10), "s3");
	assert_string_equal(given_names_line(target, "s2", 1), "s3");
	assert_null(given_names_line(target, "s1", 4));
	assert_null(given_names_line(target, "s1", 7));
	assert_null(given_names_line(target, "s1", 11));
	assert_null(given_names_line(target, "s2", 2));
	assert_null(given_names_line(target, "s0", 5));
	assert_null(given_names_line(target, "s9", 5));
	assert_string_equal(APPLY(BUNDLE_SOURCES, 2, 1, 5, 2, 1, 2, 1, 6, 1, 3), bad); /* overlap */
	assert_string_equal(APPLY(BUNDLE_SOURCES, 2, 2, 1, 1, 1, 1, 1, 1, 1), bad);    /* order */
	assert_string_equal(APPLY(BUNDLE_SOURCES, 1, 1, 5, 0), bad);
	assert_string_equal(APPLY(BUNDLE_SOURCES, 1, 1, 5, 3, 1, 1), bad);
	assert_string_equal(APPLY(BUNDLE_SOURCES, 1, 0, 5, 1, 1), bad);
	assert_string_equal(APPLY(BUNDLE_SOURCES, 1, 1, 5, 1, 0), bad);
	assert_string_equal(APPLY(BUNDLE_SOURCES, 1, 1, UINT32_MAX, 1, 1), bad);
	assert_string_equal(APPLY(BUNDLE_SOURCES, UINT64_MAX), bad);
}

/* --------------------------------------------------------------------------------------------- */

static int set_up(void **state)
{
	struct error err;

	(void)state;
	strcpy(folder, "/tmp/pmem-bundle-XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/a.prof", folder);
	snprintf(output, sizeof(output), "%s/a.bundle", folder);
	begin();
	if (!profile_open(path, &target, &err))
		return -1;
	fixture_end(&f);
	return 0;
}

static int tear_down(void **state)
{
	char command[128];

	(void)state;
	profile_close(target);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strings_are_stored_once),
		cmocka_unit_test(numbers),
		cmocka_unit_test(source_lines),
		cmocka_unit_test(comes_out_as_it_went_in),
		cmocka_unit_test(refusals),
		cmocka_unit_test(damaged_headers),
		cmocka_unit_test(cut_off),
		cmocka_unit_test(flipped_bits),
		cmocka_unit_test(names_by_place),
		cmocka_unit_test(impossible_names),
		cmocka_unit_test(modules_and_facts),
		cmocka_unit_test(lines_of_sources),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
