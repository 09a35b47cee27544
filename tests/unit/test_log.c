/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_log.c - where the log goes, what is said when it goes nowhere, and limits.
 */
#define _GNU_SOURCE /* unshare() */
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "core/version.h"
#include "libpmem/sys.h"
#include "log_fixture.h"

static void top_lines(void)
{
	char image[PATH_MAX] = {0}, want[2 * PATH_MAX];
	struct stat st;

	complaint = "PMEM_LOG_MAX=a\nb";
	begin_log();
	CHECK(count_files() == 0 && log_path()[0] == '\0');
	CHECK(chdir("/") == 0);
	CHECK(write_line("one\n") && write_line("two\n"));
	CHECK(chdir(home) == 0);
	CHECK(readlink("/proc/self/exe", image, sizeof(image) - 1) > 0);
	snprintf(want, sizeof(want), "# pmem log of %s, pid %d, start 2", image, (int)getpid());
	CHECK(strncmp(content(name_of(".log")), want, strlen(want)) == 0);
	CHECK(strstr(content(name_of(".log")),
		     "Z, version " PMEM_VERSION "\n# refused setting, default used: "
		     "PMEM_LOG_MAX=a?b\none\ntwo\n"));
	snprintf(want, sizeof(want), "%s/%s", home, name_of(".log"));
	CHECK(strcmp(log_path(), want) == 0);
	CHECK(stat(want, &st) == 0 && (st.st_mode & 07777) == 0600);
	CHECK(count_files() == 1 && lost_bytes == 0);
}

static void file_limit(void)
{
	begin_log();
	CHECK(write_line("one\n"));
	signal(SIGXFSZ, SIG_DFL); /* would kill this process */
	set_file_limit((rlim_t)strlen(content(name_of(".log"))) + 3);
	CHECK(!write_line("lost\n") && lost_bytes == 5);
	CHECK(!write_line("lost too\n") && lost_bytes == 14);
	set_file_limit(RLIM_INFINITY);
	CHECK(write_line("two\n") && write_line("three\n"));
	CHECK(strcmp(body_of(name_of(".log")),
		     "one\n\n# lost 14 bytes of log here\ntwo\nthree\n") == 0);
	CHECK(lost_bytes == 14);
}

/* stderr becomes a pipe, whose other end is returned. */
static int catch_stderr(void)
{
	int pipes[2];

	CHECK(pipe(pipes) == 0 && dup2(pipes[1], 2) == 2 && close(pipes[1]) == 0);
	return pipes[0];
}

/* Not even for the first lines. */
static void file_limit_at_start(void)
{
	char message[1024] = {0};
	int saved = dup(2), caught = catch_stderr();

	begin_log();
	set_file_limit(10);
	CHECK(!log_open() && !write_line("lost\n"));
	dup2(saved, 2);
	CHECK(read(caught, message, sizeof(message) - 1) > 0 && strstr(message, ": EFBIG"));
	CHECK(count_files() == 0 && log_path()[0] == '\0');
}

/* A file system of one page, as "small"; false where this user may not mount. */
static bool mount_small(void)
{
	CHECK(mkdir("small", 0700) == 0);
	if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
		return false;
	return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("tmpfs", "small", "tmpfs", 0, "size=4k") == 0;
}

static void put_page(const char *file)
{
	static const char page[4096];
	int fd = open(file, O_WRONLY | O_CREAT, 0600);

	CHECK(fd >= 0 && write(fd, page, sizeof(page)) == sizeof(page) && close(fd) == 0);
}

static void full_disk_at_start(void)
{
	char place[PATH_MAX + 16];

	if (!mount_small())
		return;
	put_page("small/page");
	snprintf(place, sizeof(place), "%s/small", home);
	setenv("TMPDIR", home, 1);
	CHECK(chdir(place) == 0);
	begin_log();
	CHECK(log_open() && write_line("one\n"));
	CHECK(access(name_of(".log"), F_OK) != 0 && chdir(home) == 0);
	CHECK(strcmp(body_of(name_of(".log")), "one\n") == 0 && lost_bytes == 0);
}

static void full_disk(void)
{
	static char big[8192];
	const char *at;
	char file[128];

	if (!mount_small())
		return;
	CHECK(chdir("small") == 0);
	begin_log();
	snprintf(file, sizeof(file), "%s", name_of(".log"));
	CHECK(write_line("one\n"));
	memset(big, 'x', sizeof(big));
	CHECK(!log_write(big, sizeof(big)) && !write_line("lost too\n"));
	CHECK(strlen(content(file)) == 4096 && lost_bytes > 4096);
	CHECK(mount(NULL, ".", NULL, MS_REMOUNT, "size=8k") == 0 ||
	      mount(NULL, "../small", NULL, MS_REMOUNT, "size=8k") == 0);
	CHECK(write_line("two\n"));
	at = content(file) + 4096;
	CHECK(strncmp(at, "\n# lost ", 8) == 0 && strtoul(at + 8, NULL, 10) == lost_bytes);
	CHECK(strcmp(strchr(at + 1, '\n'), "\ntwo\n") == 0);
}

static void no_descriptors(void)
{
	struct rlimit some, none;

	CHECK(getrlimit(RLIMIT_NOFILE, &some) == 0);
	none = (struct rlimit){3, some.rlim_max};
	begin_log();
	CHECK(write_line("one\n"));
	close_all();
	CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
	CHECK(!write_line("lost\n") && lost_bytes == 5);
	CHECK(setrlimit(RLIMIT_NOFILE, &some) == 0);
	CHECK(write_line("two\n"));
	CHECK(strcmp(body_of(name_of(".log")), "one\n\n# lost 5 bytes of log here\ntwo\n") == 0);
}

/* A directory that refuses everybody, root too: it is gone. */
static void enter_removed_directory(void)
{
	CHECK(mkdir("gone", 0700) == 0 && chdir("gone") == 0);
	CHECK(rmdir("../gone") == 0);
}

static void fallback(void)
{
	char want[2 * PATH_MAX];

	CHECK(mkdir("tmp", 0700) == 0);
	snprintf(want, sizeof(want), "%s/tmp", home);
	setenv("TMPDIR", want, 1);
	enter_removed_directory();
	begin_log();
	CHECK(log_open() && write_line("one\n"));
	CHECK(chdir(want) == 0);
	CHECK(strcmp(body_of(name_of(".log")), "one\n") == 0);
	snprintf(want, sizeof(want), "%s/tmp/%s", home, name_of(".log"));
	CHECK(strcmp(log_path(), want) == 0);
}

static const char warning[] = "pmem: cannot write a log in ";

static void nowhere(void)
{
	char message[1024] = {0};
	int saved = dup(2), caught;

	unsetenv("TMPDIR");
	enter_removed_directory();
	caught = catch_stderr();
	begin_log();
	log_open();
	log_open();
	log_fork_child();
	log_open();
	dup2(saved, 2);
	CHECK(!write_line("lost\n") && lost_bytes == 5);
	CHECK(read(caught, message, sizeof(message) - 1) > 0);
	CHECK(strncmp(message, warning, strlen(warning)) == 0);
	CHECK(strstr(message, ": ENOENT"));
	CHECK(strchr(message, '\n') == message + strlen(message) - 1); /* once */
	CHECK(log_path()[0] == '\0');
}

/* The program closed stderr, and its data file got the number. */
static void other_file_as_stderr(void)
{
	struct stat st;
	int data = open("data", O_RDWR | O_CREAT, 0600), saved = dup(2), caught;

	unsetenv("TMPDIR");
	enter_removed_directory();
	caught = catch_stderr();
	begin_log();
	CHECK(dup2(data, 2) == 2);
	CHECK(!log_open() && fstat(2, &st) == 0);
	dup2(saved, 2);
	CHECK(st.st_size == 0 && read(caught, &st, 1) == 0);
}

static void closed_stderr(void)
{
	struct stat st;
	int data = open("data", O_RDWR | O_CREAT, 0600), saved = dup(2);

	unsetenv("TMPDIR");
	enter_removed_directory();
	close(2);
	begin_log();
	CHECK(dup2(data, 2) == 2);
	CHECK(!log_open() && fstat(2, &st) == 0);
	dup2(saved, 2);
	CHECK(st.st_size == 0);
}

/* Nobody reads it: a write would be SIGPIPE, or wait for ever. */
static void unread_stderr(void)
{
	static char filler[1 << 20];
	int saved = dup(2), caught;

	unsetenv("TMPDIR");
	enter_removed_directory();
	signal(SIGPIPE, SIG_DFL);
	caught = catch_stderr();
	begin_log();
	CHECK(fcntl(2, F_SETFL, O_NONBLOCK) == 0 && write(2, filler, sizeof(filler)) > 0);
	CHECK(fcntl(2, F_SETFL, 0) == 0 && !log_open());
	caught = catch_stderr();
	begin_log();
	close(caught);
	CHECK(!log_open());
	dup2(saved, 2);
}

static void forked_child_is_silent(void)
{
	int saved = dup(2), caught, status;
	pid_t child;
	char byte;

	unsetenv("TMPDIR");
	enter_removed_directory();
	caught = catch_stderr();
	begin_log();
	child = fork();
	if (child == 0) {
		log_fork_child();
		_exit(log_open());
	}
	dup2(saved, 2);
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	CHECK(read(caught, &byte, 1) == 0);
}

/* In a seccomp sandbox that kills at the first call but read, write and exit. */
static void in_sandbox(void)
{
	char big[1000];

	memset(big, 'x', sizeof(big));
	big[sizeof(big) - 1] = '\n';
	CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
	if (!write_line("two\n"))
		syscall(SYS_exit, 2);
	log_make_room(1 << 20);
	if (log_write(big, sizeof(big))) /* beyond log_max, and nothing can be renamed */
		syscall(SYS_exit, 3);
	log_note("# note\n", 7);
	syscall(SYS_exit, lost_bytes == sizeof(big) ? 0 : 4);
}

static void sandbox(void)
{
	int status;
	pid_t child;

	settings.log_max = 1000;
	begin_log();
	CHECK(write_line("one\n"));
	child = fork();
	if (child == 0) {
		atomic_store(&sys_sandbox, true);
		in_sandbox();
	}
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	CHECK(strcmp(body_of(name_of(".log")), "one\ntwo\n# note\n") == 0);
	CHECK(count_files() == 1);
}

TEST(top_lines)
TEST(file_limit)
TEST(file_limit_at_start)
TEST(full_disk_at_start)
TEST(full_disk)
TEST(no_descriptors)
TEST(fallback)
TEST(nowhere)
TEST(other_file_as_stderr)
TEST(closed_stderr)
TEST(unread_stderr)
TEST(forked_child_is_silent)
TEST(sandbox)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_top_lines),
		cmocka_unit_test(test_file_limit),
		cmocka_unit_test(test_file_limit_at_start),
		cmocka_unit_test(test_full_disk_at_start),
		cmocka_unit_test(test_full_disk),
		cmocka_unit_test(test_no_descriptors),
		cmocka_unit_test(test_fallback),
		cmocka_unit_test(test_nowhere),
		cmocka_unit_test(test_other_file_as_stderr),
		cmocka_unit_test(test_closed_stderr),
		cmocka_unit_test(test_unread_stderr),
		cmocka_unit_test(test_forked_child_is_silent),
		cmocka_unit_test(test_sandbox),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
