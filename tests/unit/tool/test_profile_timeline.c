/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_profile_timeline.c - the timeline of a profile, its size, and one that is being written.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>

#include "core/stack_hash.h"
#include "profile/profile.h"
#include "profile/read.h"
#include "profile/running.h"
#include "profile_open.h"
/* --- timeline ---------------------------------------------------------------------------------- */

static void points_by_time(void **state)
{
	static const uint64_t times[] = {300, 0, 100, 200};
	struct fixture f;
	struct profile *profile;

	(void)state;
	fixture_begin(&f);
	for (uint32_t i = 0; i < 4; i++) {
		struct format_point *point = fixture_take(&f, FORMAT_POINTS, sizeof(*point),
							  &f.first->header.point_count);

		point->time_ns = times[i];
		point->live_bytes = times[i] + 1;
		point->alloc_bytes = times[i] + 2;
		point->alloc_count = times[i] + 3;
		point->rss_bytes = times[i] + 4;
		point->lost_events = times[i] + 5;
	}
	f.first->header.update_ns = 250;
	profile = open_undamaged(&f);
	assert_int_equal(profile->point_count, 3);
	for (uint32_t i = 0; i < 3; i++) {
		const struct profile_point *point = &profile->points[i];

		assert_int_equal(point->time_ns, 100 * (i + 1));
		assert_int_equal(point->live_bytes, point->time_ns + 1);
		assert_int_equal(point->alloc_bytes, point->time_ns + 2);
		assert_int_equal(point->alloc_count, point->time_ns + 3);
		assert_int_equal(point->rss_bytes, point->time_ns + 4);
		assert_int_equal(point->lost_events, point->time_ns + 5);
	}
	assert_int_equal(profile->duration_ns, 300); /* the latest sign of life */
	profile_close(profile);
	fixture_end(&f);
}

static struct format_series *add_series(struct fixture *f, uint32_t id)
{
	struct format_series *series = fixture_take(f, FORMAT_SERIES, sizeof(*series),
						    &f->first->header.series_count);

	series->stack_id = id;
	return series;
}

static void set_sample(struct format_series *series, unsigned slot, uint64_t time_ns)
{
	series->samples[slot].time_ns = time_ns;
	series->samples[slot].live_bytes = time_ns * 2;
	series->samples[slot].alloc_bytes = time_ns * 3;
}

static void series_by_time_without_duplicates(void **state)
{
	struct fixture f;
	struct format_series *series;
	struct profile *profile;
	uint32_t a, b, silent;

	(void)state;
	fixture_begin(&f);
	a = plain_stack(&f, 0);
	silent = plain_stack(&f, 1);
	b = plain_stack(&f, 2);
	count(fixture_counter(&f, 0, a), 1, 0, 8);
	count(fixture_counter(&f, 0, b), 1, 0, 8);
	series = add_series(&f, b);
	set_sample(series, 4, 50);
	series = add_series(&f, a);
	set_sample(series, 0, 40);
	series->gaps = 1 << 0 | 1 << 3;
	set_sample(series, 1, 10);
	set_sample(series, 3, 30);
	add_series(&f, 0);
	set_sample(add_series(&f, silent), 0, 5); /* without events: not there */
	series = add_series(&f, a);
	set_sample(series, 0, 10); /* again */
	set_sample(series, 1, 20);
	profile = open_undamaged(&f);
	assert_int_equal(profile->series_count, 2);
	assert_int_equal(profile->stacks[profile->series[0].stack].number, a);
	assert_int_equal(profile->series[0].count, 4);
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(profile->series[0].samples[i].time_ns, 10 * (i + 1));
		assert_int_equal(profile->series[0].samples[i].live_bytes, 20 * (i + 1));
		assert_int_equal(profile->series[0].samples[i].alloc_bytes, 30 * (i + 1));
		assert_int_equal(profile->series[0].samples[i].gap, i >= 2);
	}
	assert_int_equal(profile->stacks[profile->series[1].stack].number, b);
	assert_int_equal(profile->series[1].count, 1);
	assert_int_equal(profile->series[1].samples[0].time_ns, 50);
	profile_close(profile);
	fixture_end(&f);
}

static void marks_by_time(void **state)
{
	struct fixture f;
	struct format_mark *mark;
	struct profile *profile;
	char longest[56];

	(void)state;
	fixture_begin(&f);
	mark = fixture_take(&f, FORMAT_MARKS, sizeof(*mark), &f.first->header.mark_count);
	mark->time_ns = 20;
	memcpy(mark->text, "loaded", 7);
	mark = fixture_take(&f, FORMAT_MARKS, sizeof(*mark), &f.first->header.mark_count);
	memcpy(mark->text, "being written", 14);
	mark = fixture_take(&f, FORMAT_MARKS, sizeof(*mark), &f.first->header.mark_count);
	mark->time_ns = 10;
	memset(mark->text, 'y', sizeof(mark->text)); /* not terminated */
	profile = open_undamaged(&f);
	assert_int_equal(profile->mark_count, 2);
	assert_int_equal(profile->marks[0].time_ns, 10);
	memset(longest, 'y', 55);
	longest[55] = '\0';
	assert_string_equal(profile->marks[0].text, longest);
	assert_int_equal(profile->marks[1].time_ns, 20);
	assert_string_equal(profile->marks[1].text, "loaded");
	profile_close(profile);
	fixture_end(&f);
}

/* --- size, and a process that runs ------------------------------------------------------------- */

/* More blocks than block 0 has entries for. */
static void directory_goes_on(void **state)
{
	struct fixture f;
	struct profile *profile;
	uint64_t expected = 0;
	uint32_t frames[2];
	uint32_t base, id;

	(void)state;
	fixture_begin(&f);
	base = fixture_pc32(&f, fixture_module(&f, "/p", ""), 0x1000);
	for (uint32_t i = 0; i < 64 * 500; i++) {
		frames[0] = base + i / 200;
		frames[1] = base + i % 200;
		id = fixture_stack(&f, frames, 2, FORMAT_HOOK_MALLOC);
		if (i % 64 != 0)
			continue;
		for (uint32_t thread = 0; thread < 60; thread++) {
			count(fixture_counter(&f, thread, id), 2, 1, i + thread);
			expected += i + thread;
		}
	}
	assert_true(f.block_count > FORMAT_FIRST_ENTRIES);
	assert_true(f.first->header.directories[0] != 0);
	profile = open_undamaged(&f);
	assert_true(profile_live_bytes(&profile->totals) == expected);
	assert_int_equal(profile->stack_count, 500);
	profile_close(profile);
	fixture_end(&f);
}

/* This process is the one that is recorded, and has the profile mapped. */
static void running_process(void **state)
{
	char path[] = "/tmp/pmem_test_XXXXXX";
	struct fixture f;
	struct profile *profile;
	struct error err = {""};
	struct timespec now;
	void *mapping;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	fixture_begin(&f);
	count(fixture_counter(&f, 0, plain_stack(&f, 0)), 2, 1, 8);
	clock_gettime(CLOCK_MONOTONIC, &now);
	f.first->header.pid = (uint32_t)getpid();
	f.first->header.start_ticks = running_start_ticks((uint32_t)getpid());
	f.first->header.start_monotonic_ns = (uint64_t)(now.tv_sec - 100) * 1000000000;
	f.first->header.state = FORMAT_STATE_RECORDING;
	assert_true(f.first->header.start_ticks > 0);
	fixture_save(&f, path);
	assert_true(profile_open(path, &profile, &err));
	assert_false(profile->is_live); /* not mapped: another image of this process */
	profile_close(profile);
	mapping = mmap(NULL, fixture_size(&f), PROT_READ, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(mapping, MAP_FAILED);
	assert_true(profile_open(path, &profile, &err));
	assert_true(profile->is_live);
	assert_true(profile->duration_ns >= UINT64_C(100000000000));
	assert_true(profile->duration_ns < UINT64_C(1000000000000));
	assert_int_equal(profile_live_bytes(&profile->totals), 8);
	assert_string_equal(profile->damage, "");
	profile_close(profile);
	f.first->header.start_ticks++; /* the pid is another process's now */
	fixture_save(&f, path);
	assert_true(profile_open(path, &profile, &err));
	assert_false(profile->is_live);
	profile_close(profile);
	munmap(mapping, fixture_size(&f));
	close(fd);
	unlink(path);
	fixture_end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(points_by_time),
		cmocka_unit_test(series_by_time_without_duplicates),
		cmocka_unit_test(marks_by_time),
		cmocka_unit_test(directory_goes_on),
		cmocka_unit_test(running_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
