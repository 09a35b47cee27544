/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_given_names.c - names of code compiled at run time: added to a profile's file, read from it, and found in the maps that
 * a compiler has left.
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
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "profile/given_names.h"
#include "profile/given_write.h"
#include "profile/jit_files.h"
#include "profile/names.h"
#include "profile_fixture.h"

enum { SECOND = 1000000000 };

static char folder[64];
static char path[128];
static char map[64];
static struct fixture f;
static uint32_t file_module;

/* A profile with a call stack of three addresses outside of modules and one in a module. */
static void begin(void)
{
	struct format_header *header;
	struct timespec now;
	uint32_t frames[4];
	uint32_t id;

	fixture_begin(&f);
	file_module = fixture_module(&f, "/nowhere/libx.so", "");
	frames[0] = fixture_pc32(&f, file_module, 0x1000);
	frames[1] = fixture_pc32(&f, 0, 0x7f0000001010);
	frames[2] = fixture_pc32(&f, 0, 0x7f0000002020);
	frames[3] = fixture_pc32(&f, 0, 0x7f0000003030);
	id = fixture_stack(&f, frames, 4, FORMAT_HOOK_MALLOC);
	atomic_store(&fixture_counter(&f, 0, id)->alloc_count, 1);
	atomic_store(&fixture_counter(&f, 0, id)->alloc_bytes, 10);
	header = &f.first->header;
	clock_gettime(CLOCK_REALTIME, &now);
	header->pid = (uint32_t)getpid();
	header->start_realtime_ns = (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
	atomic_store(&header->end_ns, 2 * UINT64_C(1000000000));
}

static void save(void)
{
	fixture_save(&f, path);
}

static struct profile *open_it(void)
{
	struct profile *profile;
	struct error err = {""};

	if (!profile_open(path, &profile, &err))
		fail_msg("%s", err.text);
	return profile;
}

static const struct symbol *at(const struct profile *profile, uint64_t address)
{
	const struct symbol *found = NULL;

	for (uint32_t i = 0; i < profile->location_count; i++)
		if (profile->locations[i].offset == address)
			return given_names_at(profile, i, &found) ? found : NULL;
	fail_msg("no location %#llx", (unsigned long long)address);
	return NULL;
}

static bool add(struct jit_names *names, struct error *err)
{
	err->text[0] = '\0';
	return given_write(path, names, err);
}

static struct jit_name two[] = {
	{.address = 0x7f0000001010,
	 .start = 0x7f0000001000,
	 .raw_name = (char *)"JS:*order /srv/shop.js:3:19"},
	{.address = 0x7f0000002020,
	 .start = 0x7f0000002000,
	 .raw_name = (char *)"plain",
	 .file = (char *)"/srv/a.c",
	 .line = 7},
	{.address = 0x7f0000003030},
};

static struct jit_names names = {.items = two, .count = 3};

static void check_two(const struct profile *profile)
{
	const struct symbol *symbol = at(profile, 0x7f0000001010);

	assert_non_null(symbol);
	assert_string_equal(symbol->function, "order");
	assert_string_equal(symbol->raw_name, "JS:*order /srv/shop.js:3:19");
	assert_string_equal(symbol->file, "/srv/shop.js");
	assert_int_equal(symbol->line, 3);
	assert_int_equal(symbol->offset, 0x10);
	assert_false(symbol->inlined);
	symbol = at(profile, 0x7f0000002020);
	assert_non_null(symbol);
	assert_string_equal(symbol->function, "plain");
	assert_string_equal(symbol->file, "/srv/a.c");
	assert_int_equal(symbol->line, 7);
	assert_int_equal(symbol->offset, 0x20);
	assert_null(at(profile, 0x7f0000003030));
	assert_null(at(profile, 0x1000));
}

static void added_names_are_read(void **state)
{
	struct profile *profile;
	struct stat before, after;
	struct error err;

	(void)state;
	begin();
	save();
	profile = open_it();
	assert_null(profile->given);
	profile_close(profile);
	assert_int_equal(stat(path, &before), 0);
	assert_true(add(&names, &err));
	assert_int_equal(stat(path, &after), 0);
	assert_memory_equal(&after.st_mtim, &before.st_mtim, sizeof(after.st_mtim));
	assert_int_equal(after.st_size - before.st_size, 2 * FORMAT_BLOCK_SIZE);
	profile = open_it();
	assert_string_equal(profile->damage, "");
	assert_int_equal(profile->given->from, GIVEN_FROM_FILE);
	assert_int_equal(profile->totals.alloc_bytes, 10);
	check_two(profile);
	assert_false(given_names_all(profile));
	assert_null(given_names_line(profile, "/srv/a.c", 7));
	profile_close(profile);
	assert_false(add(&names, &err));
	assert_non_null(strstr(err.text, "it has added names already"));
	fixture_end(&f);
}

static void lookups_use_them(void **state)
{
	struct profile *profile;
	struct names *looked_up;
	const struct symbol *found;
	struct error err;

	(void)state;
	begin();
	save();
	assert_true(add(&names, &err));
	profile = open_it();
	looked_up = names_new(profile);
	assert_non_null(looked_up);
	for (uint32_t i = 0; i < profile->location_count; i++) {
		const char *expected = profile->locations[i].offset == 0x7f0000001010	? "order"
				       : profile->locations[i].offset == 0x7f0000002020 ? "plain"
											: NULL;

		assert_int_equal(names_at(looked_up, i, &found), 1);
		assert_int_equal(found->function != NULL, expected != NULL);
		/* A compiler that tells names does not tell those of its own stubs. */
		assert_int_equal(names_is_own(looked_up, i),
				 expected || profile->locations[i].offset == 0x1000);
		if (!expected)
			continue;
		assert_string_equal(found->function, expected);
		assert_string_equal(names_at_fast(looked_up, i)->function, expected);
		assert_null(names_at_fast(looked_up, i)->file);
		assert_true(names_is_own(looked_up, i));
	}
	names_free(looked_up);
	profile_close(profile);
	fixture_end(&f);
}

/* As after a writer that was killed at any of its steps. */
static void attempts_that_broke_off(void **state)
{
	struct profile *profile;
	struct error err;
	uint32_t blocks;

	(void)state;
	begin();
	blocks = f.block_count;
	for (int step = 0; step < 3; step++) {
		f.block_count = blocks + (uint32_t)step;
		if (step > 0) {
			memset(fixture_block(&f, blocks), 'x', FORMAT_BLOCK_SIZE);
			atomic_store(fixture_entry(&f, blocks),
				     (uint32_t)FORMAT_GIVEN_TEXT << FORMAT_INDEX_BITS);
		}
		if (step > 1)
			atomic_store(fixture_entry(&f, blocks + 1),
				     (uint32_t)FORMAT_GIVEN << FORMAT_INDEX_BITS);
		save();
		profile = open_it();
		assert_string_equal(profile->damage, "");
		assert_null(profile->given);
		profile_close(profile);
		assert_true(add(&names, &err));
		profile = open_it();
		assert_string_equal(profile->damage, "");
		check_two(profile);
		profile_close(profile);
	}
	fixture_end(&f);
}

/* The directory's first further part is made for it. */
static void at_the_end_of_the_directory(void **state)
{
	struct profile *profile;
	struct error err;

	(void)state;
	for (uint32_t less = 0; less < 3; less++) {
		begin();
		save();
		assert_int_equal(
			truncate(path, (off_t)(FORMAT_FIRST_ENTRIES - less) * FORMAT_BLOCK_SIZE), 0);
		assert_true(add(&names, &err));
		profile = open_it();
		assert_string_equal(profile->damage, "");
		check_two(profile);
		profile_close(profile);
		fixture_end(&f);
	}
}

static void many_names(void **state)
{
	enum { COUNT = 3000 };
	static struct jit_name items[COUNT];
	struct jit_names many = {.items = items, .count = COUNT};
	struct profile *profile;
	struct error err;
	char text[32];

	(void)state;
	begin();
	for (int i = 0; i < COUNT; i++) {
		uint32_t frame = fixture_pc32(&f, 0, 0x7f0000100000 + (uint64_t)i * 16);
		uint32_t id = fixture_stack(&f, &frame, 1, 0);

		atomic_store(&fixture_counter(&f, 0, id)->alloc_count, 1);
		items[i].address = 0x7f0000100000 + (uint64_t)i * 16;
		items[i].start = items[i].address - 8;
		items[i].raw_name = malloc(100);
		assert_non_null(items[i].raw_name);
		sprintf(items[i].raw_name, "function_with_a_long_name_number_%d", i);
	}
	save();
	assert_true(add(&many, &err));
	profile = open_it();
	assert_string_equal(profile->damage, "");
	for (int i = 0; i < COUNT; i++) {
		snprintf(text, sizeof(text), "_%d", i);
		assert_non_null(strstr(at(profile, items[i].address)->function, text));
		free(items[i].raw_name);
	}
	profile_close(profile);
	fixture_end(&f);
}

static void refusals(void **state)
{
	static struct jit_name nameless[] = {{.address = 1}};
	struct jit_names none = {.items = nameless, .count = 1};
	struct error err;
	struct stat status;

	(void)state;
	begin();
	save();
	assert_false(add(&none, &err));
	assert_non_null(strstr(err.text, "no names to add"));
	assert_int_equal(truncate(path, (off_t)fixture_size(&f) - 1), 0);
	assert_false(add(&names, &err));
	assert_non_null(strstr(err.text, "cut off"));
	assert_int_equal(truncate(path, (off_t)fixture_size(&f) - FORMAT_BLOCK_SIZE), 0);
	assert_false(add(&names, &err));
	assert_non_null(strstr(err.text, "cut off"));
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_size, fixture_size(&f) - FORMAT_BLOCK_SIZE);
	f.first->header.version++;
	save();
	assert_false(add(&names, &err));
	assert_non_null(strstr(err.text, "not a profile of this version"));
	unlink(path);
	assert_false(add(&names, &err));
	assert_non_null(strstr(err.text, "No such file"));
	fixture_end(&f);
}

static void hostile_items(void **state)
{
	struct format_given *item;
	struct profile *profile;

	(void)state;
	begin();
	memcpy(fixture_item(&f, FORMAT_GIVEN_TEXT, 1, 0), "good\0bad", 9);
	for (uint32_t i = 0; i < 8; i++) {
		item = FIXTURE_ITEM(&f, FORMAT_GIVEN, struct format_given, i);
		item->address = 0x7f0000001010 + i;
		item->start = 0x7f0000001000;
		item->raw_name = (struct format_text){.offset = 0, .size = 4};
	}
	FIXTURE_ITEM(&f, FORMAT_GIVEN, struct format_given, 1)->raw_name.size = 3; /* no NUL */
	FIXTURE_ITEM(&f, FORMAT_GIVEN, struct format_given, 2)->raw_name.offset = UINT32_MAX;
	FIXTURE_ITEM(&f, FORMAT_GIVEN, struct format_given, 3)->raw_name.size = UINT32_MAX;
	FIXTURE_ITEM(&f, FORMAT_GIVEN, struct format_given, 4)->file.size = 70000;
	FIXTURE_ITEM(&f, FORMAT_GIVEN, struct format_given, 5)->address = 5; /* not ascending */
	FIXTURE_ITEM(&f, FORMAT_GIVEN, struct format_given, 6)->start = UINT64_MAX;
	atomic_store(&f.first->header.given_count, 8);
	save();
	profile = open_it();
	assert_string_equal(profile->damage, "6 added names are impossible");
	assert_string_equal(at(profile, 0x7f0000001010)->function, "good");
	profile_close(profile);
	atomic_store(&f.first->header.given_count, UINT32_MAX);
	save();
	profile = open_it();
	assert_non_null(strstr(profile->damage, "added names are missing"));
	assert_string_equal(at(profile, 0x7f0000001010)->function, "good");
	profile_close(profile);
	fixture_end(&f);
}

/* --- maps ------------------------------------------------------------------------------------ */

static void write_map(const char *where, const char *text)
{
	FILE *file = fopen(where, "w");

	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

/* Sets a map's time, in seconds from the start of the recording. */
static void set_time(const char *where, int64_t seconds)
{
	uint64_t start = f.first->header.start_realtime_ns;
	struct timespec times[2] = {{.tv_nsec = UTIME_NOW}};

	times[1].tv_sec = (time_t)(start / SECOND) + seconds;
	times[1].tv_nsec = (long)(start % SECOND);
	assert_int_equal(utimensat(AT_FDCWD, where, times, 0), 0);
}

static bool has_name(void)
{
	struct profile *profile = open_it();
	bool has = profile->given != NULL;

	if (has) {
		assert_int_equal(profile->given->from, GIVEN_FROM_MAPS);
		assert_string_equal(at(profile, 0x7f0000001010)->function, "mapped");
		assert_null(at(profile, 0x7f0000002020));
	}
	profile_close(profile);
	return has;
}

static const char text[] = "7f0000001000 20 mapped\n";

static void maps_are_found(void **state)
{
	(void)state;
	begin();
	save();
	assert_false(jit_files_exist(f.first->header.pid, folder));
	assert_false(has_name());
	write_map(map, text);
	assert_true(jit_files_exist(f.first->header.pid, folder));
	assert_true(has_name());
	unlink(map);
	fixture_end(&f);
}

/* Other processes had or will have the same id. */
static void maps_of_other_times_are_refused(void **state)
{
	static const struct {
		int64_t seconds;
		bool good;
	} rows[] = {{0, true}, {2, true}, {20, true}, {-10, false}, {-100000, false}, {40, false}};

	(void)state;
	begin();
	save();
	write_map(map, text);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		set_time(map, rows[i].seconds);
		assert_int_equal(has_name(), rows[i].good);
	}
	unlink(map);
	fixture_end(&f);
}

static void maps_of_others_are_refused(void **state)
{
	char target[128];

	(void)state;
	begin();
	save();
	snprintf(target, sizeof(target), "%s/target", folder);
	write_map(target, text);
	assert_int_equal(symlink(target, map), 0);
	assert_false(has_name());
	unlink(map);
	write_map(map, text);
	if (geteuid() == 0) { /* only root can give files away */
		assert_int_equal(chown(map, 12345, 12345), 0);
		assert_false(has_name());
		assert_int_equal(chown(path, 12345, 12345), 0);
		assert_true(has_name());
	}
	unlink(map);
	mkfifo(map, 0600);
	assert_false(has_name());
	unlink(map);
	fixture_end(&f);
}

/* A log in the folder where the process began; it wins over a map. */
static void logs_are_found(void **state)
{
	static const uint32_t head[10] = {0x4a695444, 1, 40};
	static const struct {
		uint32_t id, size;
		uint64_t time, pid, vma, address, code_size, index;
		char name[8];
	} load = {0, 64, 0, 0, 0, 0x7f0000001000, 0x20, 1, "mapped"};
	char where[160];
	FILE *file;

	(void)state;
	begin();
	f.first->header.directory = fixture_text(&f, folder, (uint32_t)strlen(folder));
	save();
	snprintf(where, sizeof(where), "%s/jit-%d.dump", folder, (int)getpid());
	file = fopen(where, "wb");
	assert_non_null(file);
	fwrite(head, sizeof(head), 1, file);
	fwrite(&load, sizeof(load), 1, file);
	fclose(file);
	write_map(map, "7f0000001000 20 other\n");
	assert_true(jit_files_exist(f.first->header.pid, folder));
	assert_true(has_name());
	unlink(map);
	assert_true(has_name());
	unlink(where);
	fixture_end(&f);
}

static int make_folder(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/pmem-given-XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/a.prof", folder);
	snprintf(map, sizeof(map), "/tmp/perf-%d.map", (int)getpid());
	unlink(map);
	return setenv("HOME", folder, 1);
}

static int remove_folder(void **state)
{
	char command[128];

	(void)state;
	unlink(map);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(added_names_are_read),
		cmocka_unit_test(lookups_use_them),
		cmocka_unit_test(attempts_that_broke_off),
		cmocka_unit_test(at_the_end_of_the_directory),
		cmocka_unit_test(many_names),
		cmocka_unit_test(refusals),
		cmocka_unit_test(hostile_items),
		cmocka_unit_test(maps_are_found),
		cmocka_unit_test(maps_of_other_times_are_refused),
		cmocka_unit_test(maps_of_others_are_refused),
		cmocka_unit_test(logs_are_found),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
