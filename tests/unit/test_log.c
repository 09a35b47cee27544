/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_log.c - where the log goes and what survives when the program is in its way.
 *
 * Each test runs in a child process of its own, in a directory of its own: log.c keeps state, and changes
 * of limits, users and descriptors must not reach the next test.  A failure there is an abort here.
 */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "libpmem/log.h"
#include "libpmem/loss.h"
#include "libpmem/settings.h"
#include "libpmem/sys.h"

struct settings settings = {.log = true, .log_max = 1 << 20};
static const char *complaint;
static uint64_t lost_bytes;

const char *settings_complaint(void)
{
	return complaint;
}

void loss_add(enum loss kind, uint64_t count)
{
	if (kind == LOSS_LOG_BYTES)
		lost_bytes += count;
}

/* Fails the test, from its child process. */
#define CHECK(x)                                                        \
	do {                                                            \
		if (!(x)) {                                             \
			fprintf(stderr, "line %d: %s\n", __LINE__, #x); \
			_exit(1);                                       \
		}                                                       \
	} while (0)

static char home[PATH_MAX];

static void remove_tree(const char *path)
{
	char command[PATH_MAX + 16];

	snprintf(command, sizeof(command), "rm -rf '%s'", path);
	assert_int_equal(system(command), 0);
}

/* Runs body in a child, in an empty directory. */
static void run(void (*body)(void))
{
	char dir[] = "log.XXXXXX";
	int status;
	pid_t child;

	assert_non_null(mkdtemp(dir));
	child = fork();
	if (child == 0) {
		CHECK(chdir(dir) == 0 && getcwd(home, sizeof(home)));
		body();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	remove_tree(dir);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* "pmem.<pid><rest>" of this process. */
static const char *name_of(const char *rest)
{
	static char names[4][64];
	static unsigned next;
	char *name = names[next++ % 4];

	snprintf(name, sizeof(names[0]), "pmem.%d%s", (int)getpid(), rest);
	return name;
}

static const char *content(const char *path)
{
	static char bytes[1 << 16];
	int fd = open(path, O_RDONLY);
	ssize_t size = read(fd, bytes, sizeof(bytes) - 1);

	close(fd);
	bytes[size > 0 ? size : 0] = '\0';
	return bytes;
}

static bool write_line(const char *line)
{
	return log_write(line, strlen(line));
}

/* What follows the lines at the top. */
static const char *body_of(const char *path)
{
	const char *at = content(path);

	while (*at == '#' && strncmp(at, "# pmem log", 10) == 0)
		at = strchr(at, '\n') + 1;
	return at;
}

/* Closes every descriptor above stderr, as daemons do. */
static void close_all(void)
{
	int fd;

	for (fd = 3; fd < 1200; fd++)
		close(fd);
}

static unsigned count_files(void)
{
	DIR *dir = opendir(home);
	unsigned count = 0;
	struct dirent *entry;

	while ((entry = readdir(dir)))
		count += entry->d_name[0] != '.';
	closedir(dir);
	return count;
}

static void top_lines(void)
{
	char image[PATH_MAX] = {0}, want[2 * PATH_MAX];
	struct stat st;

	complaint = "PMEM_LOG_MAX=a\nb";
	log_init();
	CHECK(count_files() == 0 && log_path()[0] == '\0');
	CHECK(chdir("/") == 0);
	CHECK(write_line("one\n") && write_line("two\n"));
	CHECK(chdir(home) == 0);
	CHECK(readlink("/proc/self/exe", image, sizeof(image) - 1) > 0);
	snprintf(want, sizeof(want), "# pmem log of %s, pid %d, start 2", image, (int)getpid());
	CHECK(strncmp(content(name_of(".log")), want, strlen(want)) == 0);
	CHECK(strstr(content(name_of(".log")), "Z, version 0.1.0\n# refused setting, default used: "
					       "PMEM_LOG_MAX=a?b\none\ntwo\n"));
	snprintf(want, sizeof(want), "%s/%s", home, name_of(".log"));
	CHECK(strcmp(log_path(), want) == 0);
	CHECK(stat(want, &st) == 0 && (st.st_mode & 07777) == 0600);
	CHECK(count_files() == 1 && lost_bytes == 0);
}

static void put_file(const char *name)
{
	int fd = open(name, O_WRONLY | O_CREAT, 0600);

	CHECK(fd >= 0 && write(fd, "theirs\n", 7) == 7 && close(fd) == 0);
}

static void taken_names(void)
{
	put_file(name_of(".log"));
	put_file(name_of(".2.log.1"));
	CHECK(symlink("elsewhere", name_of(".3.log")) == 0);
	log_init();
	CHECK(write_line("ours\n"));
	CHECK(strcmp(body_of(name_of(".4.log")), "ours\n") == 0);
	CHECK(strcmp(content(name_of(".log")), "theirs\n") == 0);
	CHECK(access("elsewhere", F_OK) != 0 && access(name_of(".2.log"), F_OK) != 0);
}

static void closed_descriptors(void)
{
	struct stat st;
	int fd, high = -1;

	log_init();
	close_all();
	CHECK(write_line("one\n"));
	close_all();
	CHECK(write_line("two\n"));
	/* The program's own file gets our number. */
	for (fd = 3; fd < 1200 && high < 0; fd++)
		if (fcntl(fd, F_GETFL) != -1 && (fcntl(fd, F_GETFL) & O_APPEND))
			high = fd;
	CHECK(high >= 512 && (fcntl(high, F_GETFD) & FD_CLOEXEC));
	fd = open("program", O_RDWR | O_CREAT, 0600);
	CHECK(dup2(fd, high) == high);
	CHECK(write_line("three\n"));
	CHECK(strcmp(body_of(name_of(".log")), "one\ntwo\nthree\n") == 0);
	CHECK(fstat(high, &st) == 0 && st.st_size == 0); /* still open, and untouched */
	CHECK(lost_bytes == 0 && !log_rotated());
}

static void replaced_file(void)
{
	log_init();
	CHECK(write_line("one\n"));
	CHECK(unlink(name_of(".log")) == 0);
	put_file(name_of(".log"));
	close_all();
	CHECK(write_line("two\n"));
	CHECK(strcmp(content(name_of(".log")), "theirs\n") == 0);
	CHECK(strcmp(body_of(name_of(".2.log")), "two\n") == 0);
	CHECK(log_rotated() && !log_rotated());
}

static void rotation(void)
{
	char line[1000];
	unsigned i;

	memset(line, 'x', sizeof(line));
	line[sizeof(line) - 1] = '\n';
	settings.log_max = 3000;
	log_init();
	log_make_room(100000); /* no file yet */
	CHECK(log_write("first\n", 6));
	for (i = 0; i < 2; i++) {
		log_make_room(sizeof(line));
		CHECK(log_write(line, sizeof(line)) && !log_rotated());
	}
	log_make_room(sizeof(line));
	CHECK(log_rotated() && !log_rotated());
	CHECK(log_write("second\n", 7));
	CHECK(strcmp(body_of(name_of(".log")), "second\n") == 0);
	CHECK(strncmp(body_of(name_of(".log.1")), "first\nxxx", 9) == 0);
	log_make_room(3000);
	CHECK(log_write("third\n", 6));
	CHECK(strcmp(body_of(name_of(".log")), "third\n") == 0);
	CHECK(strcmp(body_of(name_of(".log.1")), "second\n") == 0);
	CHECK(count_files() == 2);
	settings.log_max = 0;
	log_make_room(1 << 30);
	CHECK(log_write("fourth\n", 7));
	CHECK(strcmp(body_of(name_of(".log")), "third\nfourth\n") == 0);
}

static void set_file_limit(rlim_t size)
{
	struct rlimit limit = {size, RLIM_INFINITY};

	CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

static void file_limit(void)
{
	log_init();
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

static void no_descriptors(void)
{
	struct rlimit some, none;

	CHECK(getrlimit(RLIMIT_NOFILE, &some) == 0);
	none = (struct rlimit){3, some.rlim_max};
	log_init();
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
	log_init();
	CHECK(log_open() && write_line("one\n"));
	CHECK(chdir(want) == 0);
	CHECK(strcmp(body_of(name_of(".log")), "one\n") == 0);
	snprintf(want, sizeof(want), "%s/tmp/%s", home, name_of(".log"));
	CHECK(strcmp(log_path(), want) == 0);
}

static void nowhere(void)
{
	static const char start[] = "pmem: cannot write a log in ";
	char message[1024] = {0};
	int saved = dup(2), pipes[2];

	unsetenv("TMPDIR");
	enter_removed_directory();
	CHECK(pipe(pipes) == 0 && dup2(pipes[1], 2) == 2);
	log_init();
	log_open();
	log_open();
	log_fork_child();
	log_open();
	dup2(saved, 2);
	close(pipes[1]);
	CHECK(!write_line("lost\n") && lost_bytes == 5);
	CHECK(read(pipes[0], message, sizeof(message) - 1) > 0);
	CHECK(strncmp(message, start, strlen(start)) == 0);
	CHECK(strstr(message, ": ENOENT"));
	CHECK(strchr(message, '\n') == message + strlen(message) - 1); /* once */
	CHECK(log_path()[0] == '\0');
}

static void forked(void)
{
	char parents[64];
	int status;
	pid_t child;

	log_init();
	CHECK(write_line("parent\n"));
	snprintf(parents, sizeof(parents), "%s", name_of(".log"));
	child = fork();
	if (child == 0) {
		log_fork_child();
		CHECK(log_path()[0] == '\0');
		log_note("# note\n", 7); /* no file: nothing happens */
		CHECK(chdir("/") == 0 && write_line("child\n") && chdir(home) == 0);
		CHECK(strcmp(body_of(name_of(".log")), "child\n") == 0);
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	CHECK(write_line("again\n"));
	log_note("# note\n", 7);
	CHECK(strcmp(body_of(parents), "parent\nagain\n# note\n") == 0);
	CHECK(count_files() == 2);
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
	log_init();
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

/* Every test: its child's function. */
#define TEST(name)                            \
	static void test_##name(void **state) \
	{                                     \
		(void)state;                  \
		run(name);                    \
	}
TEST(top_lines)
TEST(taken_names)
TEST(closed_descriptors)
TEST(replaced_file)
TEST(rotation)
TEST(file_limit)
TEST(no_descriptors)
TEST(fallback)
TEST(nowhere)
TEST(forked)
TEST(sandbox)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_top_lines),
		cmocka_unit_test(test_taken_names),
		cmocka_unit_test(test_closed_descriptors),
		cmocka_unit_test(test_replaced_file),
		cmocka_unit_test(test_rotation),
		cmocka_unit_test(test_file_limit),
		cmocka_unit_test(test_no_descriptors),
		cmocka_unit_test(test_fallback),
		cmocka_unit_test(test_nowhere),
		cmocka_unit_test(test_forked),
		cmocka_unit_test(test_sandbox),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
