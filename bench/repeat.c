/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * repeat.c - CPU time of a command that is over in a millisecond.
 *
 * Usage: repeat COUNT COMMAND [ARGUMENT...]
 *
 * Runs the command COUNT times, one after the other, in the environment and the folder that it has itself, without
 * output.  Prints the median and the least user and system time of a run, and the median of elapsed time, in microseconds.
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { COUNT_MAX = 10000 };

extern char **environ;

static double now_us(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static double used_us(const struct timeval *time)
{
	return (double)time->tv_sec * 1e6 + (double)time->tv_usec;
}

/* One run.  False: the command could not be run, or failed. */
static bool run(char **command, const posix_spawn_file_actions_t *actions, double *cpu, double *wall)
{
	struct rusage usage;
	double start = now_us();
	int status;
	pid_t pid;

	if (posix_spawnp(&pid, *command, actions, NULL, command, environ) != 0 ||
	    wait4(pid, &status, 0, &usage) != pid)
		return false;
	*wall = now_us() - start;
	*cpu = used_us(&usage.ru_utime) + used_us(&usage.ru_stime);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	static double cpu[COUNT_MAX], wall[COUNT_MAX];
	int count = argc > 2 ? atoi(argv[1]) : 0, i;
	posix_spawn_file_actions_t actions;

	if (count < 1 || count > COUNT_MAX)
		return 2;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	for (i = 0; i < count; i++)
		if (!run(argv + 2, &actions, &cpu[i], &wall[i]))
			return 1;
	qsort(cpu, (size_t)count, sizeof(*cpu), compare);
	qsort(wall, (size_t)count, sizeof(*wall), compare);
	printf("cpu_us=%.0f least_us=%.0f wall_us=%.0f\n", cpu[count / 2], cpu[0], wall[count / 2]);
	return 0;
}
