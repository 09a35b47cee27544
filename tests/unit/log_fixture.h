/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * log_fixture.h - what the tests of log.c share.
 *
 * Each test runs in a child process of its own, in a directory of its own: log.c keeps state, and
 * changes of limits, mounts and descriptors must not reach the next test.  A failure there is an
 * abort here.  Included by one file of a program: it defines what log.c calls.
 */
#ifndef PMEM_TESTS_LOG_FIXTURE_H
#define PMEM_TESTS_LOG_FIXTURE_H
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "libpmem/log.h"
#include "libpmem/loss.h"
#include "libpmem/place.h"
#include "libpmem/settings.h"
#include "libpmem/store.h"

struct settings settings = {.log = true, .log_max = 1 << 20};
static const char *complaint;
static uint64_t lost_bytes;

const char *settings_complaint(void)
{
	return complaint;
}

void loss_add(enum format_loss kind, uint64_t count)
{
	if (kind == FORMAT_LOSS_LOG_BYTES)
		lost_bytes += count;
}

const char *store_path(void)
{
	return "";
}

static inline void begin_log(void)
{
	place_init();
	log_init();
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

static inline void remove_tree(const char *path)
{
	char command[PATH_MAX + 16];

	snprintf(command, sizeof(command), "rm -rf '%s'", path);
	assert_int_equal(system(command), 0);
}

/* Runs body in a child, in an empty directory. */
static inline void run(void (*body)(void))
{
	char dir[] = "log.XXXXXX";
	int status;
	pid_t child;

	assert_non_null(mkdtemp(dir));
	child = fork();
	if (child == 0) {
		alarm(60); /* a write that waits for ever is a failure */
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
static inline const char *name_of(const char *rest)
{
	static char names[4][64];
	static unsigned next;
	char *name = names[next++ % 4];

	snprintf(name, sizeof(names[0]), "pmem.%d%s", (int)getpid(), rest);
	return name;
}

static inline const char *content(const char *path)
{
	static char bytes[1 << 16];
	int fd = open(path, O_RDONLY);
	ssize_t size = read(fd, bytes, sizeof(bytes) - 1);

	close(fd);
	bytes[size > 0 ? size : 0] = '\0';
	return bytes;
}

static inline bool write_line(const char *line)
{
	return log_write(line, strlen(line));
}

/* What follows the lines at the top. */
static inline const char *body_of(const char *path)
{
	const char *at = content(path);

	while (*at == '#' && strncmp(at, "# pmem log", 10) == 0)
		at = strchr(at, '\n') + 1;
	return at;
}

/* Closes every descriptor above stderr, as daemons do. */
static inline void close_all(void)
{
	int fd;

	for (fd = 3; fd < 1200; fd++)
		close(fd);
}

static inline unsigned count_files(void)
{
	DIR *dir = opendir(home);
	unsigned count = 0;
	struct dirent *entry;

	while ((entry = readdir(dir)))
		count += entry->d_name[0] != '.';
	closedir(dir);
	return count;
}

static inline void put_file(const char *name)
{
	int fd = open(name, O_WRONLY | O_CREAT, 0600);

	CHECK(fd >= 0 && write(fd, "theirs\n", 7) == 7 && close(fd) == 0);
}

static inline void set_file_limit(rlim_t size)
{
	struct rlimit limit = {size, RLIM_INFINITY};

	CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

/* Of every test: its child's function. */
#define TEST(name)                            \
	static void test_##name(void **state) \
	{                                     \
		(void)state;                  \
		run(name);                    \
	}

#endif
