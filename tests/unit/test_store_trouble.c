/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_store_trouble.c - where the profile's file cannot be made, cannot grow, or is taken away.
 *
 * Tests that change their process for good run in a child of their own: in_child().
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "tests/unit/store_on_disk.h"

enum { BACK_OFF = 64, NOBODY = 65534 }; /* blocks of memory between two attempts, at most */

/* The number of our descriptor of the file that is open under that name; -1: none. */
static int fd_of(const char *name)
{
	struct stat wanted, st;

	if (stat(name, &wanted) != 0)
		return -1;
	for (int fd = 3; fd < 2048; fd++) {
		if (fstat(fd, &st) == 0 && st.st_ino == wanted.st_ino && st.st_dev == wanted.st_dev)
			return fd;
	}
	return -1;
}

static int put_file(const char *name, const char *text)
{
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	return write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? fd : -1;
}

static bool has_text(const char *name, const char *text)
{
	char bytes[64] = "";
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	ssize_t size = read(fd, bytes, sizeof(bytes) - 1);

	close(fd);
	return size == (ssize_t)strlen(text) && strcmp(bytes, text) == 0;
}

/* Checks that the file has blocks [0, count) of FORMAT_NODES but for missing of them. */
static bool file_has(const char *name, uint32_t count, uint32_t missing)
{
	struct store_view view = store_view(name);
	bool good = view.first &&
		    store_count_filled(&view, FORMAT_NODES, count, 1) == count - missing;

	if (view.first)
		store_view_close(&view);
	return good;
}

/* --- descriptors ----------------------------------------------------------------------------- */

static void a_closed_descriptor_is_opened_again(void **state)
{
	int fd;

	(void)state;
	store_begin();
	fd = fd_of(store_name);
	assert_true(fd >= 512);
	assert_int_equal(close(fd), 0);
	assert_true(store_fill(FORMAT_NODES, 0, 300, 1));
	assert_int_equal(store_head()->memory_blocks, 0);
	assert_true(fd_of(store_name) >= 512);
	assert_true(file_has(store_name, 300, 0));
}

static void a_reused_descriptor_is_the_programs(void **state)
{
	int fd, mine;

	(void)state;
	store_begin();
	fd = fd_of(store_name);
	mine = put_file("mine", "text");
	assert_true(fd >= 0 && mine >= 0);
	assert_int_equal(dup2(mine, fd), fd);
	close(mine);
	assert_true(store_fill(FORMAT_NODES, 0, 300, 1));
	store_reserve();
	store_flush(UINT32_MAX);
	assert_true(has_text("mine", "text"));
	assert_int_equal(store_head()->memory_blocks, 0);
	assert_true(file_has(store_name, 300, 0));
	assert_int_equal(fcntl(fd, F_GETFD), 0); /* not closed, nor close-on-exec */
	close(fd);
}

static int close_all_and_go_elsewhere(void)
{
	store_begin_here();
	CHECK(syscall(SYS_close_range, 3, ~0u, 0) == 0);
	CHECK(chdir("/") == 0);
	CHECK(store_fill(FORMAT_NODES, 0, 300, 1));
	CHECK(store_head()->memory_blocks == 0);
	CHECK(chdir(store_folder) == 0);
	CHECK(file_has(store_name, 300, 0));
	return 0;
}

static void all_descriptors_closed_elsewhere(void **state)
{
	(void)state;
	in_child(close_all_and_go_elsewhere);
}

/* The mapped blocks stay; what follows is memory.  text: what is under the name then; NULL: nothing. */
static int go_on_without_name(const char *text)
{
	char lost[sizeof(store_name) + 8];

	snprintf(lost, sizeof(lost), "%s.lost", store_name);
	close(fd_of(lost));
	CHECK(store_fill(FORMAT_NODES, 10, 300, 1));
	CHECK(store_head()->memory_blocks > 0);
	CHECK(store_head()->file_error == (text ? ESTALE : ENOENT));
	store_flush(UINT32_MAX);
	CHECK(store_head()->flushed_ns == 0);
	CHECK(!text || has_text(store_name, text));
	/* It is found again as soon as it is there again. */
	CHECK(rename(lost, store_name) == 0);
	store_flush(UINT32_MAX);
	CHECK(file_has(store_name, 300, 0));
	return 0;
}

static int move_and_close(void)
{
	char lost[sizeof(store_name) + 8];

	store_begin_here();
	CHECK(store_fill(FORMAT_NODES, 0, 10, 1));
	snprintf(lost, sizeof(lost), "%s.lost", store_name);
	CHECK(rename(store_name, lost) == 0);
	return go_on_without_name(NULL);
}

static int replace_and_close(void)
{
	char lost[sizeof(store_name) + 8];

	store_begin_here();
	CHECK(store_fill(FORMAT_NODES, 0, 10, 1));
	snprintf(lost, sizeof(lost), "%s.lost", store_name);
	CHECK(rename(store_name, lost) == 0);
	CHECK(close(put_file(store_name, "another file")) == 0);
	return go_on_without_name("another file");
}

static void a_moved_file_is_not_found_once_closed(void **state)
{
	(void)state;
	in_child(move_and_close);
}

static void a_file_in_its_place_is_never_written(void **state)
{
	(void)state;
	in_child(replace_and_close);
}

static void a_deleted_file_goes_on_to_grow(void **state)
{
	int fd;

	(void)state;
	store_begin();
	fd = fd_of(store_name);
	assert_int_equal(unlink(store_name), 0);
	assert_true(store_fill(FORMAT_NODES, 0, 300, 1));
	assert_int_equal(store_head()->memory_blocks, 0);
	snprintf(store_name, sizeof(store_name), "/proc/self/fd/%d", fd);
	assert_true(file_has(store_name, 300, 0));
}

/* --- limits ---------------------------------------------------------------------------------- */

/* SIGXFSZ would end the child. */
static int begin_below_the_limit(void)
{
	limit_files(100000);
	store_begin_here();
	CHECK(store_path()[0] == '\0');
	CHECK(access(store_name, F_OK) != 0);
	CHECK(store_head()->file_error == EFBIG);
	CHECK(store_fill(FORMAT_NODES, 0, 300, 1));
	CHECK(store_head()->memory_blocks == 300);
	CHECK(loss_count(FORMAT_LOSS_PROFILE_BYTES) == 300 * FORMAT_BLOCK_SIZE);
	CHECK(loss_count(FORMAT_LOSS_MEMORY) == 0);
	store_flush(UINT32_MAX);
	CHECK(store_head()->flushed_ns == 0);
	return 0;
}

static void file_size_limit_from_the_start(void **state)
{
	(void)state;
	in_child(begin_below_the_limit);
}

static int meet_the_limit(void)
{
	uint32_t *words, in_memory;

	store_begin_here();
	store_head()->start_monotonic_ns = sys_monotonic_ns();
	limit_files(STORE_FIRST_SIZE + 1000);
	CHECK(store_fill(FORMAT_NODES, 0, 50, 1));
	CHECK(store_head()->memory_blocks == 50 - 15);
	CHECK(store_head()->file_error == EFBIG);
	CHECK(store_size_of(store_name) == STORE_FIRST_SIZE);
	store_flush(UINT32_MAX);
	CHECK(store_size_of(store_name) == STORE_FIRST_SIZE && store_head()->flushed_ns == 0);
	CHECK(file_has(store_name, 50, 50 - 15));
	CHECK(loss_count(FORMAT_LOSS_PROFILE_BYTES) == 35 * FORMAT_BLOCK_SIZE);

	/* Room again: the copies, and then the file grows as before. */
	limit_files(RLIM_INFINITY);
	store_flush(UINT32_MAX);
	CHECK(store_head()->flushed_ns != 0);
	CHECK(loss_count(FORMAT_LOSS_PROFILE_BYTES) == 0);
	CHECK(store_head()->memory_blocks == 35);
	CHECK(file_has(store_name, 50, 0));
	CHECK(store_fill(FORMAT_NODES, 50, 50 + 2 * BACK_OFF, 1));
	in_memory = store_head()->memory_blocks;
	CHECK(in_memory <= 35 + BACK_OFF);
	CHECK(file_has(store_name, 50 + 2 * BACK_OFF, in_memory - 35));
	store_flush(UINT32_MAX);
	CHECK(file_has(store_name, 50 + 2 * BACK_OFF, 0));

	/* A later flush brings what changed. */
	words = store_find(FORMAT_NODES, 30);
	words[5] = 4321;
	store_flush(UINT32_MAX);
	struct store_view view = store_view(store_name);

	CHECK(store_view_find(&view, FORMAT_NODES, 30)[5] == 4321);
	CHECK(view.first->header.memory_blocks == in_memory);
	CHECK(view.first->header.file_error == EFBIG);
	store_view_close(&view);
	return 0;
}

static void file_size_limit_in_the_middle(void **state)
{
	(void)state;
	in_child(meet_the_limit);
}

static int flush_bit_by_bit(void)
{
	enum { COUNT = 115, IN_MEMORY = 100 };
	uint64_t first_ns;

	store_begin_here();
	limit_files(STORE_FIRST_SIZE);
	CHECK(store_fill(FORMAT_NODES, 0, COUNT, 1));
	CHECK(store_head()->memory_blocks == IN_MEMORY);
	limit_files(RLIM_INFINITY);
	for (int i = 1; i <= 9; i++) {
		store_flush(10);
		CHECK(file_has(store_name, COUNT, IN_MEMORY - i * 10));
		CHECK(store_head()->flushed_ns == 0); /* some are not there yet */
	}
	store_flush(10);
	CHECK(file_has(store_name, COUNT, 0));
	first_ns = store_head()->flushed_ns;
	CHECK(first_ns != 0);
	for (int i = 0; i < 9; i++)
		store_flush(10);
	CHECK(store_head()->flushed_ns == first_ns);
	store_flush(10);
	CHECK(store_head()->flushed_ns > first_ns);
	return 0;
}

static void a_flush_may_be_done_bit_by_bit(void **state)
{
	(void)state;
	in_child(flush_bit_by_bit);
}

static int run_out_of_addresses(void)
{
	struct rlimit limit = {.rlim_cur = 0, .rlim_max = RLIM_INFINITY};
	uint32_t *block;
	struct stat st;

	store_begin_here();
	CHECK(store_fill(FORMAT_NODES, 0, 15, 1));
	CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
	block = store_block(FORMAT_NODES, 15);
	limit.rlim_cur = RLIM_INFINITY;
	CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
	CHECK(block == NULL);
	CHECK(loss_count(FORMAT_LOSS_MEMORY) == 1);
	CHECK(store_head()->file_error == ENOMEM);
	/* What was written for it takes no room. */
	CHECK(stat(store_name, &st) == 0 && st.st_blocks * 512 <= STORE_FIRST_SIZE);
	CHECK(store_fill(FORMAT_NODES, 15, 15 + BACK_OFF + 10, 1));
	store_flush(UINT32_MAX);
	CHECK(file_has(store_name, 15 + BACK_OFF + 10, 0));
	return 0;
}

static void address_space_limit(void **state)
{
	(void)state;
	in_child(run_out_of_addresses);
}

/* --- a full disk ----------------------------------------------------------------------------- */

static bool mount_small(const char *name, const char *options)
{
	if (geteuid() != 0)
		return false;
	return (mkdir(name, 0700) == 0 || errno == EEXIST) && unshare(CLONE_NEWNS) == 0 &&
	       mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("none", name, "tmpfs", 0, options) == 0;
}

static int begin_on_full_disk(void)
{
	char want[512];

	if (!mount_small("full", "size=64k"))
		return SKIP;
	CHECK(mkdir("tmp", 0700) == 0 && chdir("full") == 0);
	store_begin_here();
	CHECK(store_path()[0] == '\0' && access(store_name, F_OK) != 0);
	CHECK(store_head()->file_error == ENOSPC);
	CHECK(store_fill(FORMAT_NODES, 0, 100, 1));
	CHECK(store_head()->memory_blocks == 100);

	snprintf(want, sizeof(want), "%s/tmp/%s", store_folder, store_name);
	store_fork_child();
	setenv("TMPDIR", "../tmp", 1);
	store_begin_here();
	CHECK(store_fill(FORMAT_NODES, 0, 100, 1));
	CHECK(store_head()->file_error == ENOSPC && store_head()->memory_blocks == 0);
	CHECK(strstr(store_path(), "/full/../tmp/pmem.") && store_path()[0] == '/');
	CHECK(file_has(want, 100, 0) && access(store_name, F_OK) != 0);
	return 0;
}

static void full_disk_from_the_start(void **state)
{
	(void)state;
	in_child(begin_on_full_disk);
}

static int fill_the_disk(void)
{
	struct statvfs before, after;
	uint32_t in_memory;

	if (!mount_small("small", "size=700k"))
		return SKIP;
	CHECK(chdir("small") == 0);
	store_begin_here();
	CHECK(store_fill(FORMAT_NODES, 0, 31, 1)); /* two extents */
	CHECK(store_head()->memory_blocks == 0 && statvfs(".", &before) == 0);
	CHECK(before.f_bfree > 0);
	CHECK(store_fill(FORMAT_NODES, 31, 150, 1));
	in_memory = store_head()->memory_blocks;
	CHECK(in_memory == 150 - 31 && store_head()->file_error == ENOSPC);
	/* The program may use what is left. */
	CHECK(statvfs(".", &after) == 0 && after.f_bfree == before.f_bfree);
	store_flush(UINT32_MAX);
	CHECK(store_head()->flushed_ns == 0);

	CHECK(mount("none", ".", NULL, MS_REMOUNT, "size=8m") == 0);
	store_flush(UINT32_MAX);
	CHECK(store_head()->flushed_ns != 0 && file_has(store_name, 150, 0));
	CHECK(store_fill(FORMAT_NODES, 150, 300, 1));
	CHECK(store_head()->memory_blocks < in_memory + 150);
	store_flush(UINT32_MAX);
	CHECK(file_has(store_name, 300, 0));
	return 0;
}

static void full_disk_in_the_middle(void **state)
{
	(void)state;
	in_child(fill_the_disk);
}

/* --- folders --------------------------------------------------------------------------------- */

static bool become_nobody(void)
{
	return geteuid() != 0 || seteuid(NOBODY) == 0;
}

static int begin_without_permission(void)
{
	CHECK(mkdir("closed", 0555) == 0 && mkdir("tmp", 0777) == 0 && chmod("tmp", 0777) == 0);
	CHECK(chmod(".", 0755) == 0 && chdir("closed") == 0 && become_nobody());
	store_begin_here();
	CHECK(store_path()[0] == '\0' && store_head()->file_error == EACCES);
	CHECK(store_fill(FORMAT_NODES, 0, 20, 1) && store_head()->memory_blocks == 20);

	store_fork_child();
	snprintf(store_folder + strlen(store_folder), 8, "/tmp");
	setenv("TMPDIR", store_folder, 1);
	store_begin_here();
	CHECK(store_fill(FORMAT_NODES, 0, 20, 1) && store_head()->memory_blocks == 0);
	CHECK(chdir("../tmp") == 0 && file_has(store_name, 20, 0));
	CHECK(strncmp(store_path(), store_folder, strlen(store_folder)) == 0);
	return 0;
}

static void folder_without_permission(void **state)
{
	(void)state;
	in_child(begin_without_permission);
}

static int begin_in_removed_folder(void)
{
	CHECK(mkdir("gone", 0755) == 0 && chdir("gone") == 0 && rmdir("../gone") == 0);
	store_begin_here();
	CHECK(store_path()[0] == '\0' && store_head()->file_error == ENOENT);
	CHECK(store_fill(FORMAT_NODES, 0, 20, 1) && store_head()->memory_blocks == 20);
	return 0;
}

static void removed_folder(void **state)
{
	(void)state;
	in_child(begin_in_removed_folder);
}

static int give_up_identity(void)
{
	if (geteuid() != 0)
		return SKIP;
	store_begin_here();
	CHECK(seteuid(NOBODY) == 0);
	CHECK(store_fill(FORMAT_NODES, 0, 100, 1) && store_head()->memory_blocks == 0);
	/* Ours is lost, and the name leads to what nobody may open. */
	CHECK(syscall(SYS_close_range, 3, ~0u, 0) == 0);
	CHECK(store_fill(FORMAT_NODES, 100, 300, 1));
	CHECK(store_head()->memory_blocks > 0 && store_head()->file_error == EACCES);
	CHECK(seteuid(0) == 0);
	store_flush(UINT32_MAX);
	CHECK(file_has(store_name, 300, 0));
	return 0;
}

static void identity_given_up(void **state)
{
	(void)state;
	in_child(give_up_identity);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, store_in_new_folder, store_remove_folder)
	const struct CMUnitTest tests[] = {
		TEST(a_closed_descriptor_is_opened_again),
		TEST(a_reused_descriptor_is_the_programs),
		TEST(all_descriptors_closed_elsewhere),
		TEST(a_moved_file_is_not_found_once_closed),
		TEST(a_file_in_its_place_is_never_written),
		TEST(a_deleted_file_goes_on_to_grow),
		TEST(file_size_limit_from_the_start),
		TEST(file_size_limit_in_the_middle),
		TEST(a_flush_may_be_done_bit_by_bit),
		TEST(address_space_limit),
		TEST(full_disk_from_the_start),
		TEST(full_disk_in_the_middle),
		TEST(folder_without_permission),
		TEST(removed_folder),
		TEST(identity_given_up),
	};

	return cmocka_run_group_tests_name("store_trouble", tests, NULL, NULL);
}
