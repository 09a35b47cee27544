/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * measure.c - runs a command and says what it used, with all the processes it left behind.
 *
 * Usage: measure RESULT [NAME=VALUE...] COMMAND [ARGUMENT...]
 *
 * Writes a line "status wall_ns cpu_ns rss_kib" to RESULT: the wait status, elapsed time until the last process
 * ended, user and system time of all of them, and the largest resident set of one of them.
 *
 * A program of its own because a process starts with the peak resident set of the one that called exec(): behind
 * an interpreter of 15 MiB every small program would have 15 MiB.  It has the variables as arguments so that an
 * LD_PRELOAD among them is none of its own.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct used {
	int status; /* of the command itself */
	long long wall_ns, cpu_ns;
	long rss_kib;
};

static long long now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static long long timeval_ns(struct timeval time)
{
	return time.tv_sec * 1000000000LL + time.tv_usec * 1000LL;
}

/* Waits for the command and for whatever it orphans. */
static void wait_all(pid_t command, struct used *used)
{
	struct rusage usage;
	int status;
	pid_t pid;

	while ((pid = wait4(-1, &status, 0, &usage)) > 0 || errno == EINTR) {
		if (pid < 0)
			continue;
		used->cpu_ns += timeval_ns(usage.ru_utime) + timeval_ns(usage.ru_stime);
		if (usage.ru_maxrss > used->rss_kib)
			used->rss_kib = usage.ru_maxrss;
		if (pid == command)
			used->status = status;
	}
}

static int write_result(const char *path, const struct used *used)
{
	FILE *file = fopen(path, "we");

	if (!file)
		return 126;
	fprintf(file, "%d %lld %lld %ld\n", used->status, used->wall_ns, used->cpu_ns,
		used->rss_kib);
	return fclose(file) == 0 ? 0 : 126;
}

int main(int argc, char **argv)
{
	struct used used = {0};
	char **command = argv + 2;
	pid_t pid;

	if (argc < 3)
		return 125;
	for (; *command && strchr(*command, '='); command++)
		putenv(*command);
	if (!*command || prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
		return 125;
	used.wall_ns = -now_ns();
	pid = fork();
	if (pid == 0) {
		execvp(*command, command);
		_exit(127);
	}
	if (pid < 0)
		return 126;
	wait_all(pid, &used);
	used.wall_ns += now_ns();
	return write_result(argv[1], &used);
}
