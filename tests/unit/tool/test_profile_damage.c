/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_profile_damage.c - files that are cut off, changed, hostile, or no profiles at all.
 *
 * Whatever happens: one clear error, or a profile whose every index is good and which says that it is damaged.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "profile/profile.h"
#include "profile/read.h"
#include "profile_fixture.h"

enum { STACKS = 300, THREADS = 3 };

/* Something of everything. */
static void fill(struct fixture *f)
{
	struct format_histogram *histogram;
	struct format_header *header;
	uint32_t frames[3];

	fixture_begin(f);
	header = &f->first->header;
	header->program = fixture_text(f, "/bin/p", 6);
	header->command = fixture_text(f, "p\0-x\0", 5);
	frames[0] = fixture_pc32(f, fixture_module(f, "/bin/p", "id"), 0x1000);
	frames[2] = fixture_pc32(f, fixture_module(f, "/lib/l.so", ""), 0x2000);
	for (uint32_t i = 0; i < STACKS; i++) {
		struct format_counter *counter;
		struct format_series *series;
		struct format_stack *raw;
		uint32_t id;

		frames[1] = fixture_pc32(f, 0, 0x70000 + i / 3);
		frames[2] += 1;
		id = fixture_stack(f, frames, 3, i % FORMAT_HOOK_COUNT);
		raw = FIXTURE_ITEM(f, FORMAT_STACKS, struct format_stack, id);
		raw->sizes = i % 2 ? 1 + i % FORMAT_CLASSES
				   : FORMAT_SIZES_MANY | fixture_histogram(f, &histogram);
		counter = fixture_counter(f, i % THREADS, id);
		counter->alloc_count = 2;
		counter->alloc_bytes = 200;
		counter->free_count = counter->temporary_count = 1;
		counter->free_bytes = 100;
		if (i % 50 == 0)
			fixture_widen(f, counter)->alloc_count = 1;
		if (i % 3 == 0) {
			struct format_mapping *mapping = fixture_mapping(f, id);

			mapping->call_count = 2;
			mapping->mapped_bytes = 8192;
			mapping->unmapped_bytes = mapping->peak_bytes = 4096;
		}
		series = fixture_take(f, FORMAT_SERIES, sizeof(*series), &header->series_count);
		series->stack_id = id;
		series->samples[0].time_ns = i + 1;
	}
	((struct format_point *)fixture_take(f, FORMAT_POINTS, sizeof(struct format_point),
					     &header->point_count))
		->time_ns = 1;
	((struct format_mark *)fixture_take(f, FORMAT_MARKS, sizeof(struct format_mark),
					    &header->mark_count))
		->time_ns = 1;
}

static void check_tree(const struct profile *profile)
{
	assert_true(profile->node_count >= 1);
	for (uint32_t i = 1; i < profile->node_count; i++) {
		assert_true(profile->nodes[i].parent < profile->node_count);
		assert_true(profile->nodes[i].location < profile->location_count);
	}
	for (uint32_t i = 0; i < profile->location_count; i++)
		assert_true(profile->locations[i].special ||
			    profile->locations[i].module < profile->module_count);
	for (uint32_t i = 0; i < profile->module_count; i++)
		assert_true(profile->modules[i].build_id_size <= FORMAT_BUILD_ID_MAX);
	for (uint32_t i = 0; i < profile->module_count; i++)
		assert_true(strlen(profile->modules[i].path) < FORMAT_BLOCK_SIZE * 20);
}

/* Everything that users of a profile rely on. */
static void check(const struct profile *profile)
{
	check_tree(profile);
	for (uint32_t i = 0; i < profile->stack_count; i++) {
		const struct profile_stack *stack = &profile->stacks[i];
		uint32_t depth = 0;

		assert_true(stack->counts.free_bytes <= stack->counts.alloc_bytes);
		assert_true(stack->counts.free_count <= stack->counts.alloc_count);
		assert_true(stack->counts.temporary_count <= stack->counts.free_count);
		assert_true(stack->hook < FORMAT_HOOK_COUNT || stack->hook == FORMAT_NO_HOOK);
		assert_true(stack->node > 0 && stack->node < profile->node_count);
		for (uint32_t node = stack->node; node != 0; node = profile->nodes[node].parent)
			assert_true(depth++ < profile->node_count);
	}
	for (uint32_t i = 0; i < profile->series_count; i++) {
		assert_true(profile->series[i].stack < profile->stack_count);
		for (uint32_t j = 1; j < profile->series[i].count; j++)
			assert_true(profile->series[i].samples[j - 1].time_ns <
				    profile->series[i].samples[j].time_ns);
	}
	assert_true(profile->totals.free_bytes <= profile->totals.alloc_bytes);
	assert_true((profile->damage_count > 0) == (profile->damage[0] != '\0'));
	assert_true(memchr(profile->damage, '\0', sizeof(profile->damage)) != NULL);
}

/* Opens a copy that ends where the memory does, so that a sanitizer sees every byte beyond. */
static struct profile *open_bytes(const void *bytes, size_t size, struct error *err)
{
	void *copy = malloc(size ? size : 1);
	struct profile *profile = NULL;

	assert_non_null(copy);
	memcpy(copy, bytes, size);
	if (profile_open_memory(copy, size, &profile, err))
		check(profile);
	free(copy);
	return profile;
}

static struct profile *open_damaged(const struct fixture *f)
{
	struct error err = {""};
	struct profile *profile = open_bytes(f->first, fixture_size(f), &err);

	if (!profile)
		fail_msg("%s", err.text);
	assert_true(profile->damage_count > 0);
	return profile;
}

static void whole_one_is_good(void **state)
{
	struct fixture f;
	struct error err = {""};
	struct profile *profile;

	(void)state;
	fill(&f);
	profile = open_bytes(f.first, fixture_size(&f), &err);
	assert_non_null(profile);
	assert_string_equal(profile->damage, "");
	assert_int_equal(profile->stack_count, STACKS);
	assert_int_equal(profile->series_count, STACKS);
	profile_close(profile);
	fixture_end(&f);
}

static void cut_off_anywhere(void **state)
{
	static const size_t steps[] = {
		0, 1, 7, 8, 4095, 4096, FORMAT_BLOCK_SIZE / 2 + 3, FORMAT_BLOCK_SIZE - 1};
	struct fixture f;

	(void)state;
	fill(&f);
	for (uint32_t block = 0; block < f.block_count; block++) {
		for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
			size_t size = (size_t)block * FORMAT_BLOCK_SIZE + steps[i];
			struct error err = {""};
			struct profile *profile = open_bytes(f.first, size, &err);

			if (profile)
				assert_true(profile->damage_count > 0);
			else
				assert_true(err.text[0] != '\0' && size < FORMAT_HEADER_SIZE);
			profile_close(profile);
		}
	}
	fixture_end(&f);
}

static void flipped_bits(void **state)
{
	struct fixture f;
	unsigned char *bytes;
	uint64_t random = 12345;
	unsigned errors = 0, damaged = 0;

	(void)state;
	fill(&f);
	bytes = (unsigned char *)f.first;
	for (unsigned i = 0; i < 2000; i++) {
		struct error err = {""};
		struct profile *profile;
		size_t at;
		unsigned bit;

		random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
		at = (size_t)(random >> 33) % fixture_size(&f);
		/* Most bytes are zeros that nobody reads: every other flip where there are numbers. */
		if (i % 2)
			at = at / FORMAT_BLOCK_SIZE * FORMAT_BLOCK_SIZE + at % 700;
		bit = (unsigned)(random >> 30) & 7;
		bytes[at] ^= (unsigned char)(1u << bit);
		profile = open_bytes(f.first, fixture_size(&f), &err);
		bytes[at] ^= (unsigned char)(1u << bit);
		errors += profile == NULL;
		damaged += profile && profile->damage_count > 0;
		assert_true(profile || err.text[0] != '\0');
		profile_close(profile);
	}
	assert_true(errors > 0);
	assert_true(damaged > 20);
	fixture_end(&f);
}

/* --- links and indexes -------------------------------------------------------------------------- */

static void cycle_of_siblings(void **state)
{
	struct fixture f;
	struct profile *profile;

	(void)state;
	fill(&f);
	/* Nodes 1, 2, 3 are the first path; 4 its record. */
	fixture_node(&f, 4)->link = FORMAT_LINK_STACK | 4;
	fixture_node(&f, 3)->link = 2;
	fixture_node(&f, 2)->link = 3;
	profile = open_damaged(&f);
	assert_non_null(strstr(profile->damage, "callers are missing"));
	assert_int_equal(profile->stack_count, STACKS); /* their bytes are not lost */
	profile_close(profile);
	fixture_end(&f);
}

static void parent_that_is_a_child(void **state)
{
	struct fixture f;
	struct profile *profile;

	(void)state;
	fill(&f);
	fixture_node(&f, 1)->link = FORMAT_LINK_PARENT | 3;
	profile = open_damaged(&f);
	assert_non_null(strstr(profile->damage, "callers are missing"));
	profile_close(profile);
	fixture_end(&f);
}

static void indexes_out_of_range(void **state)
{
	struct fixture f;
	struct profile *profile;
	struct format_stack *stacks;
	uint64_t classes[FORMAT_CLASSES];

	(void)state;
	fill(&f);
	stacks = FIXTURE_ITEM(&f, FORMAT_STACKS, struct format_stack, 0);
	stacks[3].node = FORMAT_LINK_INDEX;
	stacks[4].node = 0;
	stacks[5].node = 4; /* a record, no frame */
	stacks[6].sizes = FORMAT_SIZES_MANY | 0xffffff;
	stacks[7].sizes = 1 + FORMAT_CLASSES;
	stacks[8].lifetimes = UINT32_MAX;
	stacks[9].flags = 77u << FORMAT_HOOK_SHIFT;
	profile = open_damaged(&f);
	assert_int_equal(profile->stack_count, STACKS);
	assert_int_equal(profile->damage_count, 3); /* callers, entry points, histograms */
	assert_string_equal(
		profile->locations[profile->nodes[profile->stacks[0].node].location].special,
		"[truncated]");
	assert_false(profile_sizes(profile, &profile->stacks[3], classes));
	assert_false(profile_sizes(profile, &profile->stacks[4], classes));
	assert_false(profile_lifetimes(profile, &profile->stacks[5], classes));
	assert_int_equal(profile->stacks[6].hook, FORMAT_NO_HOOK);
	profile_close(profile);
	fixture_end(&f);
}

static void absurd_counts(void **state)
{
	struct fixture f;
	struct format_header *header;
	struct profile *profile;

	(void)state;
	fill(&f);
	header = &f.first->header;
	header->node_count = header->stack_limit = header->chunk_count = UINT32_MAX;
	header->wide_count = header->histogram_count = header->region_count = UINT32_MAX;
	header->module_count = header->thread_count = header->point_count = UINT32_MAX;
	header->series_count = header->mark_count = header->text_size = UINT32_MAX;
	profile = open_damaged(&f);
	assert_true(profile->damage_count >= 10);
	assert_int_equal(profile->stack_count, STACKS);
	assert_true(strlen(profile->damage) < sizeof(profile->damage));
	profile_close(profile);
	fixture_end(&f);
}

static void absurd_numbers(void **state)
{
	struct fixture f;
	struct format_counter *counter;
	struct format_counter_wide *wide;
	struct profile *profile;

	(void)state;
	fill(&f);
	counter = fixture_counter(&f, 1, 4);
	counter->free_bytes = 5000; /* more than was allocated */
	wide = fixture_widen(&f, fixture_counter(&f, 2, 5));
	wide->alloc_bytes = UINT64_MAX;
	fixture_widen(&f, fixture_counter(&f, 0, 6));
	fixture_counter(&f, 0, 6)->peak_bytes = 1 << 30; /* there is no such record */
	profile = open_damaged(&f);
	assert_non_null(strstr(profile->damage, "2 counters are impossible"));
	assert_non_null(strstr(profile->damage, "freed more than they allocated"));
	profile_close(profile);
	fixture_end(&f);
}

static void chunks_of_nobody(void **state)
{
	struct fixture f;
	struct format_chunk *chunk;
	struct profile *profile;

	(void)state;
	fill(&f);
	chunk = FIXTURE_ITEM(&f, FORMAT_CHUNKS, struct format_chunk, 0);
	chunk[0].owner = (uint64_t)UINT32_MAX << 32;	 /* no such thread */
	chunk[1].owner = (uint64_t)1 << 32 | UINT32_MAX; /* no such call stacks */
	profile = open_damaged(&f);
	assert_non_null(strstr(profile->damage, "counters"));
	profile_close(profile);
	fixture_end(&f);
}

static void directory_entries(void **state)
{
	struct fixture f;
	struct profile *profile;
	uint32_t last;

	(void)state;
	fill(&f);
	last = f.block_count;
	f.first->blocks[last] = (uint32_t)FORMAT_POINTS << FORMAT_INDEX_BITS; /* beyond the end */
	f.first->blocks[last - 1] = (uint32_t)FORMAT_NODES << FORMAT_INDEX_BITS; /* twice */
	f.first->blocks[last - 2] = (uint32_t)FORMAT_NODES << FORMAT_INDEX_BITS | 0xffffff;
	f.first->blocks[last + 1] = 0xff000000; /* of a later version */
	f.first->header.directories[3] = UINT32_MAX;
	profile = open_damaged(&f);
	assert_non_null(strstr(profile->damage, "is missing"));
	assert_non_null(strstr(profile->damage, "the same part as"));
	assert_non_null(strstr(profile->damage, "index past the end"));
	assert_non_null(strstr(profile->damage, "part 4 of the directory"));
	profile_close(profile);
	fixture_end(&f);
}

/* Of a copy that was not finished there is one thing to say; what the missing blocks held follows from it. */
static void cut_off(void **state)
{
	struct error err = {""};
	char text[PROFILE_DAMAGE_SIZE];
	struct profile *profile;
	struct fixture f;
	size_t size;

	(void)state;
	fill(&f);
	size = fixture_size(&f);
	profile = open_bytes(f.first, size - 1, &err);
	assert_non_null(profile);
	assert_int_equal(profile->cut_blocks, 1);
	assert_string_equal(profile_damage_text(profile, text),
			    "the file is cut off: 1 block is missing, with what it held");
	profile_close(profile);
	profile = open_bytes(f.first, size - 2 * FORMAT_BLOCK_SIZE, &err);
	assert_non_null(profile);
	assert_int_equal(profile->cut_blocks, 2);
	assert_string_equal(profile_damage_text(profile, text),
			    "the file is cut off: 2 blocks are missing, with what they held");
	assert_ptr_equal(strstr(profile->damage, "2 blocks are missing"), profile->damage);
	profile_close(profile);
	fixture_end(&f);
}

/* Each finding once, as many as fit, and how many did not. */
static void findings_are_listed_once(void **state)
{
	char text[32] = "";
	uint32_t count = 0, unlisted = 0;
	struct damage damage = {text, sizeof(text), &count, &unlisted};

	(void)state;
	damage_add(&damage, "a text is missing");
	damage_add(&damage, "a text is missing");
	damage_add(&damage, "%u of %s", 2, "them");
	assert_string_equal(text, "a text is missing; 2 of them");
	damage_add(&damage, "no room");
	damage_add(&damage, "x");
	assert_string_equal(text, "a text is missing; 2 of them; x");
	assert_int_equal(count, 5);
	assert_int_equal(unlisted, 1);
}

static void texts_out_of_range(void **state)
{
	struct fixture f;
	struct format_module *modules;
	struct profile *profile;

	(void)state;
	fill(&f);
	f.first->header.program.offset = UINT32_MAX;
	f.first->header.command.size = UINT32_MAX;
	f.first->header.host = (struct format_text){.offset = 2, .size = 1}; /* no NUL follows */
	modules = FIXTURE_ITEM(&f, FORMAT_MODULES, struct format_module, 0);
	modules[1].path.offset = f.first->header.text_size;
	modules[2].build_id_size = 21;
	profile = open_damaged(&f);
	assert_int_equal(profile->damage_count, 5);
	assert_string_equal(profile->program, "");
	assert_int_equal(profile->command_size, 0);
	assert_string_equal(profile->host, "");
	assert_string_equal(profile->modules[1].path, "");
	assert_int_equal(profile->modules[2].build_id_size, 0);
	profile_close(profile);
	fixture_end(&f);
}

/* --- no profiles ---------------------------------------------------------------------------------- */

static void expect_error(const struct fixture *f, const char *words)
{
	struct error err = {""};

	assert_null(open_bytes(f->first, fixture_size(f), &err));
	if (!strstr(err.text, words))
		fail_msg("\"%s\" does not say \"%s\"", err.text, words);
}

static void wrong_headers(void **state)
{
	struct fixture f;
	struct format_header *header;

	(void)state;
	fixture_begin(&f);
	header = &f.first->header;
	header->version = FORMAT_VERSION + 1;
	expect_error(&f, "format version 2; this pmem reads version 1");
	header->byte_order = __builtin_bswap32(FORMAT_BYTE_ORDER);
	expect_error(&f, "other byte order");
	header->byte_order = 0;
	expect_error(&f, "no known byte order");
	header->byte_order = FORMAT_BYTE_ORDER;
	header->version = FORMAT_VERSION;
	header->block_size = 0;
	expect_error(&f, "impossible sizes");
	header->block_size = FORMAT_BLOCK_SIZE;
	header->header_size = 12;
	expect_error(&f, "impossible sizes");
	header->header_size = FORMAT_HEADER_SIZE;
	memset(header->magic, 0, sizeof(header->magic));
	expect_error(&f, "ended before it began");
	memcpy(header->magic, "pmemproF", sizeof(header->magic));
	expect_error(&f, "not a profile");
	fixture_end(&f);
}

static void expect_file_error(const char *path, const char *words)
{
	struct profile *profile = NULL;
	struct error err = {""};

	assert_false(profile_open(path, &profile, &err));
	assert_null(profile);
	if (!strstr(err.text, words) || !strstr(err.text, path))
		fail_msg("\"%s\" does not say \"%s\"", err.text, words);
}

static void files_that_are_none(void **state)
{
	char folder[] = "/tmp/pmem_test_XXXXXX";
	char path[64];
	struct fixture f;

	(void)state;
	assert_non_null(mkdtemp(folder));
	expect_file_error(folder, "not a regular file");
	snprintf(path, sizeof(path), "%s/a", folder);
	expect_file_error(path, "No such file");
	assert_int_equal(mkfifo(path, 0600), 0);
	expect_file_error(path, "not a regular file");
	unlink(path);
	fixture_begin(&f);
	fixture_save(&f, path);
	assert_int_equal(truncate(path, 0), 0);
	expect_file_error(path, "not a profile");
	assert_int_equal(truncate(path, 100), 0);
	expect_file_error(path, "not a profile");
	if (geteuid() != 0) {
		assert_int_equal(chmod(path, 0), 0);
		expect_file_error(path, "Permission denied");
	}
	unlink(path);
	rmdir(folder);
	fixture_end(&f);
}

/* From a file as from memory. */
static void file_cut_off(void **state)
{
	char path[] = "/tmp/pmem_test_XXXXXX";
	int fd = mkstemp(path);
	struct fixture f;
	struct profile *profile;
	struct error err = {""};

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	fill(&f);
	fixture_save(&f, path);
	assert_true(profile_open(path, &profile, &err));
	assert_string_equal(profile->damage, "");
	assert_int_equal(profile->stack_count, STACKS);
	assert_int_equal(profile->file_bytes, fixture_size(&f));
	profile_close(profile);
	assert_int_equal(truncate(path, (off_t)fixture_size(&f) / 2 + 5), 0);
	assert_true(profile_open(path, &profile, &err));
	assert_true(profile->damage_count > 0);
	check(profile);
	profile_close(profile);
	unlink(path);
	fixture_end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_one_is_good),
		cmocka_unit_test(cut_off_anywhere),
		cmocka_unit_test(flipped_bits),
		cmocka_unit_test(cycle_of_siblings),
		cmocka_unit_test(parent_that_is_a_child),
		cmocka_unit_test(indexes_out_of_range),
		cmocka_unit_test(absurd_counts),
		cmocka_unit_test(absurd_numbers),
		cmocka_unit_test(chunks_of_nobody),
		cmocka_unit_test(directory_entries),
		cmocka_unit_test(cut_off),
		cmocka_unit_test(findings_are_listed_once),
		cmocka_unit_test(texts_out_of_range),
		cmocka_unit_test(wrong_headers),
		cmocka_unit_test(files_that_are_none),
		cmocka_unit_test(file_cut_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
