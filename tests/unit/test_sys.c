/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_sys.c - the system calls of sys.c against the kernel.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "libpmem/sys.h"
#include "tests/unit/in_child.h"

static struct rlimit limit_before;

static void limit_descriptors(rlim_t soft)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit_before), 0);
	limit = limit_before;
	limit.rlim_cur = soft;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static void unlimit_descriptors(void)
{
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit_before), 0);
}

/* Opens /dev/null, moves it, checks where it went and that the old place is free. */
static int moved_null(void)
{
	int fd = sys_openat(AT_FDCWD, "/dev/null", O_RDONLY, 0);
	int moved;

	assert_true(fd >= 0);
	errno = 0;
	moved = sys_move_up(fd);
	assert_int_equal(errno, 0);
	assert_true(sys_fcntl(moved, F_GETFD, 0) & FD_CLOEXEC);
	if (moved != fd)
		assert_int_equal(sys_fcntl(fd, F_GETFD, 0), -EBADF);
	return moved;
}

static void descriptors_move_to_512(void **state)
{
	int first;
	int second;

	(void)state;
	limit_descriptors(1024);
	first = moved_null();
	second = moved_null();
	assert_true(first >= 512);
	assert_true(second >= 512 && second != first);
	assert_int_equal(sys_move_up(first), first);
	sys_close(first);
	sys_close(second);
	unlimit_descriptors();
}

static void descriptors_move_high_under_a_small_limit(void **state)
{
	int fd;

	(void)state;
	limit_descriptors(64);
	fd = moved_null();
	assert_in_range(fd, 48, 63);
	sys_close(fd);
	unlimit_descriptors();
}

static void descriptors_stay_where_nothing_is_free(void **state)
{
	int fds[64];
	int count = 0;
	int fd;

	(void)state;
	limit_descriptors(32);
	while (count < 64 && (fd = sys_openat(AT_FDCWD, "/dev/null", O_RDONLY, 0)) >= 0)
		fds[count++] = fd;
	assert_in_range(count, 1, 63);
	assert_int_equal(sys_move_up(fds[0]), fds[0]);
	assert_true(sys_fcntl(fds[0], F_GETFD, 0) & FD_CLOEXEC);
	while (count > 0)
		sys_close(fds[--count]);
	unlimit_descriptors();
}

enum { LONG_WRITE = 1000 * 1000 }; /* many times a pipe's room */

struct pipe_test {
	int fds[2];
	pthread_t writer;
	size_t count;
	size_t wrong;
};

static void do_nothing(int number)
{
	(void)number;
}

/* Interrupts the writer when it has filled the pipe, so that it sees a short write; then reads. */
static void *read_all(void *argument)
{
	struct pipe_test *test = argument;
	struct pollfd room = {.fd = test->fds[1], .events = POLLOUT};
	unsigned char bytes[1000];
	ssize_t count;

	while (poll(&room, 1, 0) == 1)
		sched_yield();
	pthread_kill(test->writer, SIGUSR1);
	while ((count = read(test->fds[0], bytes, sizeof(bytes))) > 0) {
		for (ssize_t i = 0; i < count; i++)
			test->wrong += bytes[i] != (unsigned char)((test->count + (size_t)i) % 251);
		test->count += (size_t)count;
		if (test->count == LONG_WRITE)
			break;
	}
	return NULL;
}

static void long_writes_arrive_whole(void **state)
{
	static unsigned char bytes[LONG_WRITE];
	const struct sigaction action = {.sa_handler = do_nothing}; /* without SA_RESTART */
	struct pipe_test test = {.writer = pthread_self()};
	struct sigaction before;
	pthread_t reader;

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(i % 251);
	assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
	assert_int_equal(pipe(test.fds), 0);
	assert_int_equal(pthread_create(&reader, NULL, read_all, &test), 0);
	assert_true(sys_write_all(test.fds[1], bytes, sizeof(bytes)));
	close(test.fds[1]); /* ends a reader that was sent too little */
	assert_int_equal(pthread_join(reader, NULL), 0);
	close(test.fds[0]);
	sigaction(SIGUSR1, &before, NULL);
	assert_int_equal(test.count, sizeof(bytes));
	assert_int_equal(test.wrong, 0);
}

static void write_errors_are_told(void **state)
{
	(void)state;
	errno = 0;
	assert_false(sys_write_all(-1, "x", 1));
	assert_true(sys_write_all(-1, "x", 0));
	assert_int_equal(errno, 0);
}

static void clocks_are_the_kernels(void **state)
{
	struct timespec before;
	struct timespec after;
	uint64_t now;

	(void)state;
	clock_gettime(CLOCK_MONOTONIC, &before);
	now = sys_monotonic_ns();
	clock_gettime(CLOCK_MONOTONIC, &after);
	assert_true(now >= (uint64_t)before.tv_sec * 1000000000 + (uint64_t)before.tv_nsec);
	assert_true(now <= (uint64_t)after.tv_sec * 1000000000 + (uint64_t)after.tv_nsec);
	assert_true(sys_realtime_ns() / 1000000000 >= (uint64_t)time(NULL) - 1);
	/* Behind by no more than a tick of the slowest kernel. */
	now = sys_monotonic_coarse_ns();
	assert_in_range(now + 10000000,
			(uint64_t)before.tv_sec * 1000000000 + (uint64_t)before.tv_nsec,
			sys_monotonic_ns() + 10000000);
}

static int keep_to_the_last_known_limit(void)
{
	struct rlimit limit = {1000, RLIM_INFINITY};

	atomic_store(&sys_sandbox, true);
	CHECK(sys_check_file_end(1) == -EPERM);
	atomic_store(&sys_sandbox, false);
	CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
	CHECK(sys_check_file_end(1000) == 0 && sys_check_file_end(1001) == -EFBIG);
	/* As where the limit may not be asked for any more. */
	atomic_store(&sys_sandbox, true);
	CHECK(sys_check_file_end(1000) == 0 && sys_check_file_end(1001) == -EFBIG);
	atomic_store(&sys_sandbox, false);
	limit.rlim_cur = RLIM_INFINITY;
	CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
	CHECK(sys_check_file_end(INT64_MAX) == 0);
	return 0;
}

static void the_last_known_limit_of_files_counts(void **state)
{
	(void)state;
	in_child(keep_to_the_last_known_limit);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(descriptors_move_to_512),
		cmocka_unit_test(descriptors_move_high_under_a_small_limit),
		cmocka_unit_test(descriptors_stay_where_nothing_is_free),
		cmocka_unit_test(long_writes_arrive_whole),
		cmocka_unit_test(write_errors_are_told),
		cmocka_unit_test(clocks_are_the_kernels),
		cmocka_unit_test(the_last_known_limit_of_files_counts),
	};

	return cmocka_run_group_tests_name("sys", tests, NULL, NULL);
}
