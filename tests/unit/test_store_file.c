/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_store_file.c - the profile's file as it grows: layout, directory, names, threads, forks.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "libpmem/store_file.h"
#include "tests/unit/store_on_disk.h"

static void header_comes_first(void **state)
{
	struct store_view view;
	struct stat st;

	(void)state;
	store_begin();
	assert_int_equal(stat(store_name, &st), 0);
	assert_int_equal(st.st_size, STORE_FIRST_SIZE);
	assert_int_equal(st.st_mode, S_IFREG | 0600);
	assert_int_equal(st.st_blocks * 512, STORE_FIRST_SIZE); /* no holes */
	view = store_view(store_name);
	assert_int_equal(view.first->header.version, FORMAT_VERSION);
	assert_int_equal(view.first->header.byte_order, FORMAT_BYTE_ORDER);
	assert_int_equal(view.first->header.header_size, FORMAT_HEADER_SIZE);
	assert_int_equal(view.first->header.block_size, FORMAT_BLOCK_SIZE);
	assert_int_equal(view.first->header.blocks_max, FORMAT_BLOCKS_MAX);
	assert_int_equal(view.first->header.image, 1);
	assert_int_equal(view.first->header.magic[0], 0); /* not yet */
	assert_int_equal(store_view_entry(&view, 0), FORMAT_HEADER << FORMAT_INDEX_BITS);
	for (uint32_t number = 1; number < FORMAT_FIRST_ENTRIES; number++)
		assert_int_equal(store_view_entry(&view, number), 0);
	assert_string_equal(strrchr(store_path(), '/') + 1, store_name);
	assert_memory_equal(store_path(), store_folder, strlen(store_folder));
	store_view_close(&view);
}

static void what_was_counted_before_is_in_the_header(void **state)
{
	struct store_view view;

	(void)state;
	loss_add(FORMAT_LOSS_EVENTS, 7);
	store_begin();
	loss_add(FORMAT_LOSS_EVENTS, 1);
	view = store_view(store_name);
	assert_int_equal(view.first->header.losses[FORMAT_LOSS_EVENTS], 8);
	store_view_close(&view);
}

static void file_grows_in_extents(void **state)
{
	enum { SMALL = 63, BLOCKS = SMALL + 3 * 64 };

	(void)state;
	store_begin();
	assert_true(store_fill(FORMAT_NODES, 0, 15, 1));
	assert_int_equal(store_size_of(store_name), STORE_FIRST_SIZE);
	assert_true(store_fill(FORMAT_NODES, 15, 16, 1));
	assert_int_equal(store_size_of(store_name), 2 * STORE_FIRST_SIZE);
	assert_true(store_fill(FORMAT_NODES, 16, SMALL, 1));
	assert_int_equal(store_size_of(store_name), STORE_EXTENT_SIZE);
	assert_true(store_fill(FORMAT_NODES, SMALL, SMALL + 1, 1));
	assert_int_equal(store_size_of(store_name), 2 * STORE_EXTENT_SIZE);
	assert_true(store_fill(FORMAT_NODES, SMALL + 1, BLOCKS, 1));
	assert_int_equal(store_size_of(store_name), 4 * STORE_EXTENT_SIZE);
	assert_int_equal(store_head()->memory_blocks, 0);
	assert_int_equal(store_head()->file_error, 0);
}

static void blocks_lie_where_the_directory_says(void **state)
{
	enum { COUNT = 90 };
	struct store_view view;

	(void)state;
	store_begin();
	for (uint32_t index = 0; index < COUNT; index++) {
		assert_true(store_fill(FORMAT_STACKS, index, index + 1, 1000));
		assert_true(store_fill(FORMAT_COUNTERS, COUNT - 1 - index, COUNT - index, 5000));
	}
	view = store_view(store_name);
	assert_int_equal(store_count_filled(&view, FORMAT_STACKS, COUNT, 1000), COUNT);
	assert_int_equal(store_count_filled(&view, FORMAT_COUNTERS, COUNT, 5000), COUNT);
	for (uint32_t index = 0; index < COUNT; index++)
		assert_int_equal(store_view_find(&view, FORMAT_STACKS, index)[0], 1000 + index);
	/* The mapping is the file. */
	((uint32_t *)store_find(FORMAT_STACKS, 3))[77] = 0xabcd;
	assert_int_equal(store_view_find(&view, FORMAT_STACKS, 3)[77], 0xabcd);
	store_view_close(&view);
}

static void directory_goes_on_in_further_blocks(void **state)
{
	enum { COUNT = FORMAT_FIRST_ENTRIES + FORMAT_ENTRIES + 300 };
	struct store_view view;
	uint32_t used = 0;

	(void)state;
	store_begin();
	assert_true(store_fill(FORMAT_COUNTERS, 0, COUNT, 1));
	assert_int_equal(store_head()->memory_blocks, 0);
	view = store_view(store_name);
	assert_int_equal(store_count_filled(&view, FORMAT_COUNTERS, COUNT, 1), COUNT);
	for (uint32_t part = 0; part < FORMAT_DIRECTORIES; part++) {
		uint32_t number = view.first->header.directories[part];

		assert_int_equal(number != 0, part < 2);
		if (number)
			assert_int_equal(store_view_entry(&view, number),
					 FORMAT_DIRECTORY << FORMAT_INDEX_BITS | part);
	}
	for (uint32_t number = 0; number < view.size / FORMAT_BLOCK_SIZE; number++)
		used += store_view_entry(&view, number) != 0;
	assert_int_equal(used, 1 + 2 + COUNT);
	store_view_close(&view);
}

static void a_block_given_back_is_the_next_one(void **state)
{
	struct store_file_block one, two, again;

	(void)state;
	store_begin();
	assert_true(store_file_take(&one) && store_file_take(&two));
	assert_true(one.number != 0 && two.number != 0 && one.number != two.number);
	assert_ptr_not_equal(one.bytes, two.bytes);
	store_file_give_back(&one);
	assert_true(store_file_take(&again));
	assert_int_equal(again.number, one.number);
	assert_ptr_equal(again.bytes, one.bytes);
}

/* --- threads --------------------------------------------------------------------------------- */

enum { THREADS = 8, RACED = 700 };

static pthread_barrier_t barrier;

static void *race(void *number)
{
	uint32_t own = (uint32_t)(uintptr_t)number;

	for (uint32_t i = 0; i < RACED; i++) {
		_Atomic uint32_t *shared;

		if (i % 32 == 0)
			pthread_barrier_wait(&barrier);
		shared = store_block(FORMAT_NODES, i);
		if (shared)
			atomic_fetch_add(&shared[0], 1);
		store_fill(FORMAT_COUNTERS, own * RACED + i, own * RACED + i + 1, 1);
	}
	return NULL;
}

static void racing_threads_share_one_file(void **state)
{
	pthread_t threads[THREADS];
	struct store_view view;

	(void)state;
	store_begin();
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, race, (void *)i), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&barrier);
	assert_int_equal(store_head()->memory_blocks, 0);
	view = store_view(store_name);
	assert_int_equal(store_count_filled(&view, FORMAT_COUNTERS, THREADS * RACED, 1),
			 THREADS * RACED);
	for (uint32_t i = 0; i < RACED; i++)
		assert_int_equal(store_view_find(&view, FORMAT_NODES, i)[0], THREADS);
	store_view_close(&view);
}

/* --- names ----------------------------------------------------------------------------------- */

static void make(const char *name)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_EXCL, 0600);

	assert_true(fd >= 0 && write(fd, "mine", 4) == 4 && close(fd) == 0);
}

static void taken_names_get_a_suffix(void **state)
{
	char third[64], name[64];
	struct store_view view;

	(void)state;
	make(store_name);
	snprintf(name, sizeof(name), "pmem.%d.2.prof", (int)getpid());
	snprintf(third, sizeof(third), "pmem.%d.3.prof", (int)getpid());
	assert_int_equal(symlink("nowhere", name), 0);
	store_begin();
	assert_string_equal(strrchr(store_path(), '/') + 1, third);
	assert_int_equal(place_suffix(), 3);
	view = store_view(third);
	assert_int_equal(view.first->header.image, 3);
	store_view_close(&view);
	assert_int_equal(store_size_of(store_name), 4);
	assert_int_equal(access("nowhere", F_OK), -1);
}

static void switched_off_makes_no_file(void **state)
{
	(void)state;
	settings.profile = false;
	store_begin();
	assert_true(store_fill(FORMAT_NODES, 0, 100, 1));
	settings.profile = true;
	assert_string_equal(store_path(), "");
	assert_int_equal(store_size_of(store_name), -1);
	assert_int_equal(store_head()->memory_blocks, 0);
	assert_int_equal(store_head()->file_error, 0);
	assert_int_equal(loss_count(FORMAT_LOSS_PROFILE_BYTES), 0);
}

/* --- sandbox --------------------------------------------------------------------------------- */

static void a_reserve_is_made_once(void **state)
{
	long long size;

	(void)state;
	store_begin();
	store_reserve();
	size = store_size_of(store_name);
	assert_true(size >= (8 << 20) && size <= (9 << 20) + STORE_FIRST_SIZE);
	for (int i = 0; i < 20; i++)
		store_reserve();
	assert_int_equal(store_size_of(store_name), size);
}

static void in_a_sandbox_the_reserve_is_used_and_then_memory(void **state)
{
	enum { RESERVE = 512, COUNT = 700 };
	struct store_view view;
	uint32_t in_memory;

	(void)state;
	store_begin();
	store_reserve();
	atomic_store(&sys_sandbox, true);
	assert_true(store_fill(FORMAT_NODES, 0, RESERVE, 1));
	assert_int_equal(store_head()->memory_blocks, 0);
	assert_true(store_fill(FORMAT_NODES, RESERVE, COUNT, 1));
	store_flush(UINT32_MAX);
	atomic_store(&sys_sandbox, false);
	in_memory = store_head()->memory_blocks;
	assert_true(in_memory > 0 && in_memory <= COUNT - RESERVE);
	assert_int_equal(loss_count(FORMAT_LOSS_PROFILE_BYTES), in_memory * FORMAT_BLOCK_SIZE);
	view = store_view(store_name);
	assert_int_equal(store_count_filled(&view, FORMAT_NODES, COUNT, 1), COUNT - in_memory);
	store_view_close(&view);
}

/* --- fork ------------------------------------------------------------------------------------ */

static int use_as_a_child(void)
{
	uint32_t *parents = store_find(FORMAT_NODES, 2);
	char parents_name[64], name[64];
	struct store_view view;

	snprintf(parents_name, sizeof(parents_name), "%s", store_name);
	snprintf(name, sizeof(name), "pmem.%d.prof", (int)getpid());
	place_fork_child();
	store_fork_child();
	CHECK(store_path()[0] == '\0');
	CHECK(store_head()->memory_blocks == 0 && store_size() == 0);
	store_begin();
	CHECK(store_size_of(name) == STORE_FIRST_SIZE);
	CHECK(store_find(FORMAT_NODES, 2) == NULL);
	CHECK(store_fill(FORMAT_NODES, 0, 200, 9000));
	CHECK(parents[0] == 2 + 1); /* still mapped: copies may be in use */
	loss_add(FORMAT_LOSS_EVENTS, 3);
	view = store_view(name);
	CHECK(store_count_filled(&view, FORMAT_NODES, 200, 9000) == 200);
	CHECK(view.first->header.losses[FORMAT_LOSS_EVENTS] == 3);
	CHECK(view.first->header.image == 1);
	return 0;
}

static void a_child_has_a_file_of_its_own(void **state)
{
	struct store_view view;
	void *before;

	(void)state;
	store_begin();
	assert_true(store_fill(FORMAT_NODES, 0, 100, 1));
	view = store_view(store_name);
	before = malloc(view.size);
	memcpy(before, view.first, view.size);
	in_child(use_as_a_child);
	assert_memory_equal(view.first, before, view.size);
	assert_int_equal(store_size_of(store_name), view.size);
	free(before);
	store_view_close(&view);
	/* And the parent goes on. */
	assert_true(store_fill(FORMAT_NODES, 100, 300, 1));
	view = store_view(store_name);
	assert_int_equal(store_count_filled(&view, FORMAT_NODES, 300, 1), 300);
	store_view_close(&view);
}

static int pipes[2][2];

/* An event that goes on: it writes where its parent's blocks were, and sees no change of the parent's. */
static int go_on_in_the_event(void)
{
	uint32_t *words = store_find(FORMAT_NODES, 40);
	long long size = store_size_of(store_name);
	char byte;

	store_detach();
	CHECK(words[0] == 40 + 1 && words[FORMAT_ENTRIES - 1] == 40 + 1);
	words[0] = 777;
	loss_add(FORMAT_LOSS_EVENTS, 5);
	/* Nor does it write to the file, where the parent has other blocks soon. */
	CHECK(store_fill(FORMAT_STACKS, 0, 100, 1));
	store_flush(UINT32_MAX);
	CHECK(store_size_of(store_name) == size);
	CHECK(write(pipes[0][1], "x", 1) == 1 && read(pipes[1][0], &byte, 1) == 1);
	CHECK(words[0] == 777 && words[1] == 0);
	return use_as_a_child();
}

static void a_fork_inside_an_event_leaves_the_parents_blocks_alone(void **state)
{
	uint32_t *words;
	int status;
	pid_t child;
	char byte;

	(void)state;
	store_begin();
	assert_true(store_fill(FORMAT_NODES, 0, 100, 1));
	words = store_find(FORMAT_NODES, 40);
	assert_true(pipe(pipes[0]) == 0 && pipe(pipes[1]) == 0);
	store_before_fork();
	child = fork();
	if (child == 0) {
		status = go_on_in_the_event();
		if (status)
			dprintf(2, "# failed check in line %d\n", status);
		_exit(status != 0);
	}
	store_after_fork();
	assert_int_equal(read(pipes[0][0], &byte, 1), 1);
	words[1] = 1234;
	assert_int_equal(write(pipes[1][1], "x", 1), 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(words[0], 40 + 1);
	assert_int_equal(words[1], 1234);
	assert_int_equal(loss_count(FORMAT_LOSS_EVENTS), 0);
}

static int lines_of_maps(void)
{
	FILE *file = fopen("/proc/self/maps", "re");
	int count = 0, c;

	while ((c = getc(file)) != EOF)
		count += c == '\n';
	fclose(file);
	return count;
}

static void copies_for_a_fork_do_not_stay(void **state)
{
	int before;

	(void)state;
	store_begin();
	assert_true(store_fill(FORMAT_NODES, 0, 300, 1));
	lines_of_maps();
	before = lines_of_maps();
	for (int i = 0; i < 50; i++) {
		store_before_fork();
		store_after_fork();
	}
	assert_true(lines_of_maps() <= before + 2);
}

static long long disk_of(const char *file)
{
	struct stat st;

	return stat(file, &st) == 0 ? (long long)st.st_blocks * 512 : -1;
}

static void pages_of_zeros_are_given_back(void **state)
{
	struct store_view view;
	char *before;

	(void)state;
	store_begin();
	assert_true(store_fill(FORMAT_NODES, 0, 5, 1));
	view = store_view(store_name);
	before = malloc(view.size);
	memcpy(before, view.first, view.size);
	store_trim();
	assert_memory_equal(view.first, before, view.size);
	assert_int_equal(store_size_of(store_name), view.size);
	/* Of the header, header and directory; of each block the first page and the last. */
	assert_true(disk_of(store_name) <= (2 + 5 * 2) * 4096);
	free(before);
	store_view_close(&view);
}

static void a_large_file_is_not_searched_for_zeros(void **state)
{
	long long before;

	(void)state;
	store_begin();
	assert_true(store_fill(FORMAT_NODES, 0, 200, 1));
	before = disk_of(store_name);
	store_trim();
	assert_int_equal(disk_of(store_name), before);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, store_in_new_folder, store_remove_folder)
	const struct CMUnitTest tests[] = {
		TEST(header_comes_first),
		TEST(what_was_counted_before_is_in_the_header),
		TEST(file_grows_in_extents),
		TEST(blocks_lie_where_the_directory_says),
		TEST(directory_goes_on_in_further_blocks),
		TEST(a_block_given_back_is_the_next_one),
		TEST(racing_threads_share_one_file),
		TEST(taken_names_get_a_suffix),
		TEST(switched_off_makes_no_file),
		TEST(a_reserve_is_made_once),
		TEST(in_a_sandbox_the_reserve_is_used_and_then_memory),
		TEST(a_child_has_a_file_of_its_own),
		TEST(a_fork_inside_an_event_leaves_the_parents_blocks_alone),
		TEST(copies_for_a_fork_do_not_stay),
		TEST(pages_of_zeros_are_given_back),
		TEST(a_large_file_is_not_searched_for_zeros),
	};

	return cmocka_run_group_tests_name("store_file", tests, NULL, NULL);
}
