/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_image_copy.c - the copy of a profile that is being written opens as the profile did; frees are never more than allocations.
 *
 * Processes that go on are in tests/test_bundle.py; here the file stands still, or its writer is a thread.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "profile/image_copy.h"
#include "profile/read.h"
#include "profile/stack_id.h"
#include "profile_fixture.h"

static char path[64];
static struct fixture f;

static struct profile *open_copy(void)
{
	struct profile *profile;
	struct error err = {""};
	char *bytes;
	size_t size;

	if (!image_copy_running(path, &bytes, &size, &err))
		fail_msg("%s", err.text);
	assert_int_equal(size % FORMAT_BLOCK_SIZE, 0);
	if (!profile_open_memory(bytes, size, &profile, &err))
		fail_msg("%s", err.text);
	free(bytes);
	return profile;
}

static void compare_stacks(const struct profile *left, const struct profile *right)
{
	assert_int_equal(left->stack_count, right->stack_count);
	assert_int_equal(left->node_count, right->node_count);
	assert_int_equal(left->location_count, right->location_count);
	for (uint32_t i = 0; i < left->stack_count; i++) {
		assert_true(stack_id(left, &left->stacks[i]) == stack_id(right, &right->stacks[i]));
		assert_int_equal(left->stacks[i].hook, right->stacks[i].hook);
		assert_memory_equal(&left->stacks[i].counts, &right->stacks[i].counts,
				    sizeof(left->stacks[i].counts));
		assert_int_equal(!left->stacks[i].sizes, !right->stacks[i].sizes);
	}
}

static void compare(const struct profile *left, const struct profile *right)
{
	assert_string_equal(left->damage, "");
	assert_string_equal(right->damage, "");
	compare_stacks(left, right);
	assert_memory_equal(&left->totals, &right->totals, sizeof(left->totals));
	assert_string_equal(left->program, right->program);
	assert_int_equal(left->module_count, right->module_count);
	for (uint32_t i = 0; i < left->module_count; i++)
		assert_string_equal(left->modules[i].path, right->modules[i].path);
	assert_int_equal(left->thread_count, right->thread_count);
	assert_int_equal(left->point_count, right->point_count);
	for (uint32_t i = 0; i < left->point_count; i++)
		assert_memory_equal(&left->points[i], &right->points[i], sizeof(left->points[i]));
	assert_int_equal(left->series_count, right->series_count);
	assert_int_equal(left->mark_count, right->mark_count);
	for (uint32_t i = 0; i < left->mark_count; i++)
		assert_string_equal(left->marks[i].text, right->marks[i].text);
}

static void add_stacks(uint32_t count)
{
	uint32_t module = fixture_module(&f, "/lib/libx.so", "0123");

	for (uint32_t i = 0; i < count; i++) {
		uint32_t frames[3] = {fixture_pc32(&f, module, 0x1000),
				      fixture_pc32(&f, module, 0x2000 + i * 16),
				      fixture_pc32(&f, 0, 0x500000 + i)};
		uint32_t id = fixture_stack(&f, frames, 3, i % FORMAT_HOOK_COUNT);
		struct format_counter *counter = fixture_counter(&f, i % 3, id);

		if (i % 5 == 0) {
			struct format_counter_wide *wide = fixture_widen(&f, counter);

			atomic_store(&wide->alloc_count, UINT64_C(1) << 33);
			atomic_store(&wide->alloc_bytes, UINT64_C(1) << 40);
			atomic_store(&wide->free_count, i);
			atomic_store(&wide->free_bytes, i * 10);
			continue;
		}
		atomic_store(&counter->alloc_count, 10 + i);
		atomic_store(&counter->alloc_bytes, 1000 + i);
		atomic_store(&counter->free_count, i);
		atomic_store(&counter->free_bytes, i);
		atomic_store(&counter->temporary_count, i / 2);
	}
}

static void add_timeline(void)
{
	struct format_header *header = &f.first->header;
	struct format_point *point;
	struct format_mark *mark;

	for (uint32_t i = 0; i < 5; i++) {
		point = fixture_take(&f, FORMAT_POINTS, sizeof(*point), &header->point_count);
		atomic_store(&point->time_ns, 100 + i);
		atomic_store(&point->live_bytes, 7 * i);
		mark = fixture_take(&f, FORMAT_MARKS, sizeof(*mark), &header->mark_count);
		atomic_store(&mark->time_ns, 50 + i);
		sprintf(mark->text, "mark %u", i);
	}
}

static void check_copy(uint32_t stacks)
{
	struct profile *original, *copy;
	struct error err;

	fixture_begin(&f);
	add_stacks(stacks);
	add_timeline();
	f.first->header.program = fixture_text(&f, "/bin/server", 11);
	fixture_save(&f, path);
	assert_true(profile_open(path, &original, &err));
	copy = open_copy();
	assert_int_equal(copy->stack_count, stacks);
	compare(original, copy);
	profile_close(original);
	profile_close(copy);
	fixture_end(&f);
}

static void copies_are_equal(void **state)
{
	(void)state;
	check_copy(1);
	check_copy(3000);
}

/* More blocks than block 0 has entries for. */
static void large_copies(void **state)
{
	struct profile *copy;

	(void)state;
	fixture_begin(&f);
	add_stacks(10);
	for (uint32_t i = 0; i < FORMAT_FIRST_ENTRIES + 100; i++)
		fixture_item(&f, FORMAT_HISTOGRAMS, FORMAT_BLOCK_SIZE, i);
	fixture_save(&f, path);
	copy = open_copy();
	assert_string_equal(copy->damage, "");
	assert_int_equal(copy->stack_count, 10);
	profile_close(copy);
	fixture_end(&f);
}

static void plain_bytes(void **state)
{
	struct error err = {""};
	char *bytes;
	size_t size;

	(void)state;
	fixture_begin(&f);
	add_stacks(10);
	fixture_save(&f, path);
	assert_true(image_copy_bytes(path, &bytes, &size, &err));
	assert_int_equal(size, fixture_size(&f));
	assert_memory_equal(bytes, f.first, size);
	free(bytes);
	assert_false(image_copy_bytes("/dev/null", &bytes, &size, &err));
	assert_false(image_copy_running("/nowhere", &bytes, &size, &err));
	assert_non_null(strstr(err.text, "No such file"));
	fixture_end(&f);
}

/* --- a writer -------------------------------------------------------------------------------- */

enum { STACKS = 400 };

static struct format_counter *counters[STACKS];
static struct format_counter *freeing[STACKS]; /* of another thread, further behind in the file */
static struct format_point *points;
static atomic_bool is_over;

/* Allocates at one call stack, frees there in another thread's name, goes on to the next: live is 0 or 100 everywhere. */
static void *work(void *argument)
{
	(void)argument;
	for (uint64_t i = 0; !atomic_load(&is_over); i++) {
		struct format_counter *counter = counters[i % STACKS];
		struct format_counter *other = freeing[i % STACKS];
		struct format_point *point = &points[i % 8];

		atomic_fetch_add(&counter->alloc_count, 1);
		atomic_fetch_add(&counter->alloc_bytes, 100);
		atomic_fetch_add(&other->free_count, 1);
		atomic_fetch_add(&other->free_bytes, 100);
		atomic_store(&point->time_ns, 0);
		atomic_store(&point->live_bytes, i + 1);
		atomic_store(&point->alloc_bytes, i + 1);
		atomic_store(&point->time_ns, i + 1);
	}
	return NULL;
}

/* The file is mapped, as the recorder has it. */
static char *map_file(void)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	char *image = mmap(NULL, fixture_size(&f), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	assert_true(fd >= 0 && image != MAP_FAILED);
	close(fd);
	return image;
}

static char *in_file(char *image, const void *in_fixture)
{
	return image + ((const char *)in_fixture - (const char *)f.first);
}

static void make_counters(void)
{
	uint32_t module = fixture_module(&f, "/lib/libx.so", "");

	for (uint32_t i = 0; i < STACKS; i++) {
		uint32_t frame = fixture_pc32(&f, module, 0x1000 + i);

		counters[i] = fixture_counter(&f, 0, fixture_stack(&f, &frame, 1, 0));
		atomic_store(&counters[i]->alloc_count, 1); /* so that all are seen */
		atomic_store(&counters[i]->alloc_bytes, 100);
		atomic_store(&counters[i]->free_count, 1);
		atomic_store(&counters[i]->free_bytes, 100);
	}
	for (uint32_t i = 0; i < STACKS; i++)
		freeing[i] = fixture_counter(&f, 1, FORMAT_STACK_FIRST + i);
	for (int i = 0; i < 8; i++)
		points = fixture_take(&f, FORMAT_POINTS, sizeof(*points),
				      &f.first->header.point_count);
	points -= 7;
}

static void check_consistent(const struct profile *profile)
{
	assert_string_equal(profile->damage, "");
	assert_int_equal(profile->stack_count, STACKS);
	for (uint32_t i = 0; i < STACKS; i++) {
		const struct profile_counts *counts = &profile->stacks[i].counts;

		assert_true(counts->free_count <= counts->alloc_count);
		assert_true(counts->free_bytes <= counts->alloc_bytes);
	}
	for (uint32_t i = 0; i < profile->point_count; i++) {
		assert_int_equal(profile->points[i].live_bytes, profile->points[i].time_ns);
		assert_int_equal(profile->points[i].alloc_bytes, profile->points[i].time_ns);
	}
}

static void copies_while_it_is_written(void **state)
{
	pthread_t thread;
	char *image;

	(void)state;
	fixture_begin(&f);
	make_counters();
	fixture_save(&f, path);
	image = map_file();
	for (uint32_t i = 0; i < STACKS; i++)
		counters[i] = (struct format_counter *)in_file(image, counters[i]);
	for (uint32_t i = 0; i < STACKS; i++)
		freeing[i] = (struct format_counter *)in_file(image, freeing[i]);
	points = (struct format_point *)in_file(image, points);
	atomic_store(&is_over, false);
	assert_int_equal(pthread_create(&thread, NULL, work, NULL), 0);
	for (int i = 0; i < 200; i++) {
		struct profile *copy = open_copy();

		check_consistent(copy);
		profile_close(copy);
	}
	atomic_store(&is_over, true);
	pthread_join(thread, NULL);
	munmap(image, fixture_size(&f));
	fixture_end(&f);
}

static int make_path(void **state)
{
	int fd;

	(void)state;
	strcpy(path, "/tmp/pmem-copy-XXXXXX");
	fd = mkstemp(path);
	return fd < 0 ? -1 : close(fd);
}

static int remove_path(void **state)
{
	(void)state;
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copies_are_equal),
		cmocka_unit_test(large_copies),
		cmocka_unit_test(plain_bytes),
		cmocka_unit_test(copies_while_it_is_written),
	};

	return cmocka_run_group_tests(tests, make_path, remove_path);
}
