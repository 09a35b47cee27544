/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_profile_live.c - reads a profile while a thread works in it, as a recorder does.
 *
 * The thread counts allocations in one counter and then their frees in another; 1000 blocks stay.  So no reading may
 * show fewer than 1000 live ones, however far apart the two counters lie in the file.  Readings count while the thread
 * gets on with its work.  Of a process in another container (its number means another one here, or none) nobody knows that it runs.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "profile/profile.h"
#include "profile/running.h"
#include "profile_fixture.h"

enum { STACKS = 2000, MOVED = 100, READINGS = 30000, KEPT = 1000, IN_A_ROW = 500 };

struct work {
	struct format_counter *first; /* the lower one in the file */
	struct format_counter *second;
	struct format_point *point;
	_Atomic bool stop;
};

static void add(_Atomic uint32_t *field)
{
	for (unsigned i = 0; i < IN_A_ROW; i++)
		atomic_store_explicit(field, atomic_load_explicit(field, memory_order_relaxed) + 1,
				      memory_order_release);
}

/* Time, and all that belongs to it, or 0. */
static void write_point(struct format_point *point, uint64_t value)
{
	atomic_store_explicit(&point->time_ns, 0, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&point->live_bytes, value, memory_order_relaxed);
	atomic_store_explicit(&point->rss_bytes, value, memory_order_relaxed);
	atomic_store_explicit(&point->time_ns, value, memory_order_release);
}

static void *work(void *argument)
{
	struct work *w = argument;

	for (uint64_t i = 1; !atomic_load(&w->stop); i++) {
		/* Allocated by one thread, freed by the other, and the other way round. */
		add(&w->first->alloc_count);
		add(&w->second->free_count);
		add(&w->second->alloc_count);
		add(&w->first->free_count);
		write_point(w->point, i);
	}
	return NULL;
}

/* The fixture with the file's own memory behind it: what is written there from now on is in the file. */
static void map_over(struct fixture *f, const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	fixture_save(f, path);
	assert_true(fd >= 0);
	assert_ptr_equal(mmap(f->first, fixture_size(f), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_FIXED, fd, 0),
			 f->first);
	close(fd);
}

enum where { HERE, IN_A_CONTAINER };

static void fill(struct fixture *f, struct work *w, enum where where)
{
	uint32_t frame, id = 0;

	fixture_begin(f);
	f->first->header.pid = (uint32_t)getpid();
	f->first->header.start_ticks = running_start_ticks((uint32_t)getpid()) +
				       (where == IN_A_CONTAINER);
	f->first->header.state = FORMAT_STATE_RECORDING;
	frame = fixture_pc32(f, fixture_module(f, "/p", ""), 0x1000);
	for (uint32_t i = 0; i < STACKS; i++) {
		id = fixture_stack(f, &frame, 1, FORMAT_HOOK_MALLOC);
		frame++;
	}
	w->first = fixture_counter(f, 0, id);
	for (uint32_t other = FORMAT_STACK_FIRST; other < id; other += FORMAT_CHUNK)
		fixture_counter(f, 1, other)->alloc_count = 1;
	w->second = fixture_counter(f, 2, id);
	w->second->alloc_count = KEPT;
	w->point = fixture_take(f, FORMAT_POINTS, sizeof(*w->point), &f->first->header.point_count);
}

static void check_points(const struct profile *profile)
{
	for (uint32_t i = 0; i < profile->point_count; i++) {
		assert_true(profile->points[i].live_bytes == profile->points[i].time_ns);
		assert_true(profile->points[i].rss_bytes == profile->points[i].time_ns);
	}
}

static void check_reading(const char *path, enum where where, unsigned *points)
{
	struct profile *profile;
	struct error err = {""};
	const struct profile_counts *counts;

	assert_true(profile_open(path, &profile, &err));
	assert_int_equal(profile->is_live, where == HERE);
	assert_string_equal(profile->damage, "");
	counts = &profile->stacks[profile->stack_count - 1].counts;
	assert_true(counts->alloc_count >= counts->free_count + KEPT);
	if (where == HERE)
		check_points(profile);
	*points += profile->point_count;
	profile_close(profile);
}

static void check_readings(enum where where)
{
	char path[] = "/tmp/pmem_test_XXXXXX";
	int fd = mkstemp(path);
	struct fixture f;
	static struct work w; /* the thread may outlive a failure here */
	pthread_t thread;
	unsigned points = 0;
	unsigned moved = 0;

	assert_true(fd >= 0);
	close(fd);
	fill(&f, &w, where);
	atomic_store(&w.stop, false);
	map_over(&f, path);
	assert_int_equal(pthread_create(&thread, NULL, work, &w), 0);
	for (unsigned i = 0; i < READINGS && moved < MOVED; i++) {
		uint32_t before = atomic_load(&w.first->alloc_count);

		check_reading(path, where, &points);
		moved += atomic_load(&w.first->alloc_count) != before;
	}
	atomic_store(&w.stop, true);
	pthread_join(thread, NULL);
	check_reading(path, where, &points);
	assert_true(points > 0);
	assert_true(moved >= MOVED);
	unlink(path);
	fixture_end(&f);
}

static void every_reading_is_consistent(void **state)
{
	(void)state;
	check_readings(HERE);
}

static void every_reading_of_a_container_is_consistent(void **state)
{
	(void)state;
	check_readings(IN_A_CONTAINER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_reading_is_consistent),
		cmocka_unit_test(every_reading_of_a_container_is_consistent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
