/* SPDX-License-Identifier: BSD-2-Clause */
/* vforks.c - vfork children whose exec fails and that call _exit, between allocations of the parent. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile sink;

__attribute__((noinline, noclone)) static void parent_leak(void)
{
	sink = malloc(100);
}

int main(void)
{
	char *arguments[] = {"none", NULL};

	for (int i = 0; i < 50; i++) {
		pid_t pid;
		int status;

		parent_leak();
		pid = vfork();
		if (!pid) {
			execv("/nonexistent/none", arguments);
			_exit(7);
		}
		if (waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != 7)
			return 1;
		parent_leak();
	}
	return 0;
}
