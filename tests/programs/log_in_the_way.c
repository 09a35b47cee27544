/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * log_in_the_way.c - is in the way of its own log, between two periods of work that each give snapshots.
 *
 *   log_in_the_way HOW      one of the rows of ways[]
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

enum { BLOCKS = 40000, BLOCK_SIZE = 100 };

static char name[64];

__attribute__((noinline, noclone)) static void *take(size_t size)
{
	return malloc(size);
}

__attribute__((noinline, noclone)) static void *keep(size_t size)
{
	return malloc(size);
}

static void work(void)
{
	for (int i = 0; i < BLOCKS; i++)
		free(take(BLOCK_SIZE));
}

static void set_limit(int which, rlim_t size)
{
	struct rlimit limit;

	getrlimit(which, &limit);
	limit.rlim_cur = size;
	setrlimit(which, &limit);
}

static void nothing(void)
{
}

static void delete (void)
{
	unlink(name);
}

static void move(void)
{
	rename(name, "moved");
}

static void replace(void)
{
	int fd;

	unlink(name);
	fd = open(name, O_WRONLY | O_CREAT, 0600);
	if (fd < 0 || write(fd, "mine\n", 5) != 5 || close(fd) != 0)
		abort();
}

static void replace_by_link(void)
{
	unlink(name);
	if (symlink("victim", name) != 0)
		abort();
}

static void truncate_it(void)
{
	if (truncate(name, 0) != 0)
		abort();
}

/* For a while: the second period is work, too. */
static void limit_files(void)
{
	set_limit(RLIMIT_FSIZE, 10);
	work();
	set_limit(RLIMIT_FSIZE, RLIM_INFINITY);
}

static void limit_memory(void)
{
	set_limit(RLIMIT_AS, 0);
}

static void enter_sandbox(void)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		abort();
}

static const struct {
	const char *how;
	void (*act)(void);
} ways[] = {
	{"nothing", nothing},
	{"delete", delete},
	{"move", move},
	{"replace", replace},
	{"replace-by-link", replace_by_link},
	{"truncate", truncate_it},
	{"limit-files", limit_files},
	{"limit-memory", limit_memory},
	{"sandbox", enter_sandbox},
};

int main(int argc, char **argv)
{
	size_t i;
	void *kept;

	if (argc != 2)
		return 2;
	snprintf(name, sizeof(name), "pmem.%d.log", (int)getpid());
	kept = keep(1234);
	if (strcmp(argv[1], "limit-memory") != 0) /* before the first snapshot */
		work();
	for (i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		if (strcmp(argv[1], ways[i].how) == 0)
			ways[i].act();
	work();
	return kept ? 0 : 1;
}
