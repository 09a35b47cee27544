/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_rss.c - the resident set, asked for by any thread, whatever the program does to our descriptor.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "libpmem/rss.h"
#include "libpmem/sys.h"

enum { THREADS = 4, ROUNDS = 2000, BLOCK = 64 << 20, FDS = 1024 };

static uint64_t told_by_kernel(void)
{
	unsigned long size = 0, resident = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	assert_int_equal(fscanf(file, "%lu %lu", &size, &resident), 2);
	fclose(file);
	return (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

static unsigned open_descriptors(void)
{
	unsigned count = 0;

	for (int fd = 0; fd < FDS; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

/* The kernel counts per CPU and adds up late. */
static void expect_near(uint64_t bytes, uint64_t expected)
{
	enum { MARGIN = 16 << 20 };

	assert_in_range(bytes + MARGIN, expected, expected + 2 * MARGIN);
}

static void it_follows_what_is_touched(void **state)
{
	uint64_t before = rss_bytes();
	char *block = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	(void)state;
	assert_true(block != MAP_FAILED);
	expect_near(before, told_by_kernel() - BLOCK);
	expect_near(rss_bytes(), before + BLOCK);
	munmap(block, BLOCK);
	expect_near(rss_bytes(), before);
}

/* 16 MiB that nobody touches are address space and data all the same. */
static void what_the_limits_count(void **state)
{
	struct rss_sizes before, after;
	void *block;

	(void)state;
	rss_bytes();
	before = rss_sizes();
	block = mmap(NULL, 16 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(block != MAP_FAILED);
	rss_bytes();
	after = rss_sizes();
	munmap(block, 16 << 20);
	assert_int_equal(after.address_bytes - before.address_bytes, 16 << 20);
	assert_int_equal(after.data_bytes - before.data_bytes, 16 << 20);
}

static void a_closed_descriptor_is_opened_again(void **state)
{
	unsigned before = open_descriptors();

	(void)state;
	for (int fd = 512; fd < FDS; fd++)
		close(fd);
	expect_near(rss_bytes(), told_by_kernel());
	assert_int_equal(open_descriptors(), before);
}

static void in_a_sandbox_it_is_unknown(void **state)
{
	(void)state;
	atomic_store(&sys_sandbox, true);
	assert_int_equal(rss_bytes(), 0);
	atomic_store(&sys_sandbox, false);
	assert_true(rss_bytes() > 0);
}

static _Atomic unsigned unknown;

static void *ask(void *arg)
{
	for (int i = 0; i < ROUNDS; i++)
		if (rss_bytes() == 0)
			atomic_fetch_add(&unknown, 1);
	return arg;
}

static void threads_may_ask_at_once(void **state)
{
	pthread_t threads[THREADS];
	unsigned before = open_descriptors();

	(void)state;
	for (int fd = 512; fd < FDS; fd++)
		close(fd); /* each of them sees that it is gone */
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, ask, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(unknown, 0);
	assert_int_equal(open_descriptors(), before);
}

static void a_child_asks_about_itself(void **state)
{
	int status = -1;
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		rss_fork_child();
		mmap(NULL, BLOCK, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
		_exit(rss_bytes() < BLOCK);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_follows_what_is_touched),
		cmocka_unit_test(what_the_limits_count),
		cmocka_unit_test(a_closed_descriptor_is_opened_again),
		cmocka_unit_test(in_a_sandbox_it_is_unknown),
		cmocka_unit_test(threads_may_ask_at_once),
		cmocka_unit_test(a_child_asks_about_itself),
	};

	rss_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
