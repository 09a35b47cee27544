/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_store_odd.c - file systems that cannot map files, or fail: played by a filter of system calls, in a child.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "tests/unit/store_on_disk.h"

/* From here on a system call whose argument has all bits of mask fails with error, whatever it is asked for. */
static bool refuse(int number, int argument, uint32_t mask, int error)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 (uint32_t)(offsetof(struct seccomp_data, args) + 8 * argument)),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, mask),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, mask, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = sizeof(code) / sizeof(*code), .filter = code};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static bool refuse_shared_maps(void)
{
	return refuse(SYS_mmap, 3, MAP_SHARED, ENODEV);
}

/* By read(2): the file cannot be mapped.  How many blocks have an entry; 0 if one of them is not as it was filled. */
static uint32_t blocks_in_file(const char *name, struct format_header *head)
{
	static struct format_first_block first;
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	uint32_t count = 0, word, entry;

	if (read(fd, &first, sizeof(first)) != sizeof(first))
		return 0;
	*head = first.header;
	for (uint32_t number = 1; number < FORMAT_FIRST_ENTRIES; number++) {
		entry = first.blocks[number];
		if (!entry)
			continue;
		if (entry >> FORMAT_INDEX_BITS != FORMAT_NODES ||
		    pread(fd, &word, 4, (off_t)number * FORMAT_BLOCK_SIZE) != 4 ||
		    word != (entry & 0xffffff) + 1)
			return 0;
		count++;
	}
	close(fd);
	return count;
}

static int write_instead_of_mapping(void)
{
	struct format_header head;

	if (!refuse_shared_maps())
		return SKIP;
	store_begin_here();
	CHECK(store_path()[0] && store_head()->file_error == ENODEV);
	CHECK(store_fill(FORMAT_NODES, 0, 200, 1) && store_head()->memory_blocks == 200);
	loss_add(FORMAT_LOSS_EVENTS, 9);
	store_flush(UINT32_MAX);
	CHECK(blocks_in_file(store_name, &head) == 200);
	CHECK(head.memory_blocks == 200 && head.flushed_ns != 0);
	CHECK(head.losses[FORMAT_LOSS_EVENTS] == 9);
	CHECK(head.losses[FORMAT_LOSS_PROFILE_BYTES] == 0);

	/* The header tells even where nothing else can be written. */
	limit_files((rlim_t)store_size_of(store_name));
	CHECK(store_fill(FORMAT_NODES, 200, 210, 1));
	store_flush(UINT32_MAX);
	CHECK(blocks_in_file(store_name, &head) == 200);
	CHECK(head.memory_blocks == 210);
	CHECK(head.losses[FORMAT_LOSS_PROFILE_BYTES] == 10 * FORMAT_BLOCK_SIZE);
	return 0;
}

static void file_system_without_shared_maps(void **state)
{
	(void)state;
	in_child(write_instead_of_mapping);
}

static int be_a_child_without_maps(void)
{
	struct format_header head;

	place_fork_child();
	store_fork_child();
	store_begin_here();
	CHECK(store_fill(FORMAT_NODES, 0, 5, 1));
	store_flush(UINT32_MAX);
	CHECK(blocks_in_file(store_name, &head) == 5);
	CHECK(head.memory_blocks == 5);
	return 0;
}

static int fork_without_maps(void)
{
	char name[sizeof(store_name)];
	struct format_header head;
	int status;
	pid_t child;

	if (!refuse_shared_maps())
		return SKIP;
	store_begin_here();
	CHECK(store_fill(FORMAT_NODES, 0, 200, 1));
	store_flush(UINT32_MAX);
	snprintf(name, sizeof(name), "%s", store_name);
	child = fork();
	if (child == 0) {
		status = be_a_child_without_maps();
		if (status)
			dprintf(2, "# failed check in line %d\n", status);
		_exit(status != 0);
	}
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	CHECK(blocks_in_file(name, &head) == 200);
	return 0;
}

/* The directory is the child's own, too. */
static void forked_child_without_shared_maps(void **state)
{
	(void)state;
	in_child(fork_without_maps);
}

static int flush_beyond_the_first_entries(void)
{
	enum { COUNT = FORMAT_FIRST_ENTRIES + 100, EXTENT = 64 };

	if (!refuse_shared_maps())
		return SKIP;
	store_begin_here();
	CHECK(store_fill(FORMAT_NODES, 0, COUNT, 1));
	store_flush(UINT32_MAX);
	CHECK(store_head()->flushed_ns == 0); /* some have no place in the directory */
	CHECK(loss_count(FORMAT_LOSS_PROFILE_BYTES) >= 100 * FORMAT_BLOCK_SIZE);
	for (int i = 0; i < 100; i++)
		store_flush(UINT32_MAX);
	CHECK(store_size_of(store_name) <= (COUNT + EXTENT) * FORMAT_BLOCK_SIZE);
	return 0;
}

static void what_finds_no_entry_does_not_grow_the_file(void **state)
{
	(void)state;
	in_child(flush_beyond_the_first_entries);
}

static int refuse_writes(void)
{
	if (!refuse(SYS_pwritev, 0, 0, EIO))
		return SKIP;
	store_begin_here();
	CHECK(store_path()[0] == '\0' && access(store_name, F_OK) != 0);
	CHECK(store_head()->file_error == EIO);
	CHECK(store_fill(FORMAT_NODES, 0, 20, 1) && store_head()->memory_blocks == 20);
	return 0;
}

static void file_system_with_errors(void **state)
{
	(void)state;
	in_child(refuse_writes);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, store_in_new_folder, store_remove_folder)
	const struct CMUnitTest tests[] = {
		TEST(file_system_without_shared_maps),
		TEST(forked_child_without_shared_maps),
		TEST(what_finds_no_entry_does_not_grow_the_file),
		TEST(file_system_with_errors),
	};

	return cmocka_run_group_tests_name("store_odd", tests, NULL, NULL);
}
