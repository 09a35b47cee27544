/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * forks.c - children by fork, _Fork and a raw clone system call.  Child k keeps (k + 1) * 1000 bytes and frees
 * a block of the parent; the last child allocates nothing at all.  Prints "KIND PID" for each.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char *volatile kept;
static char *inherited;

__attribute__((noinline, noclone)) static char *child_keep(size_t size)
{
	return malloc(size);
}

__attribute__((noinline, noclone)) static char *parent_keep(size_t size)
{
	return malloc(size);
}

static pid_t by_clone(void)
{
	return syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static void child(int k)
{
	if (k < 3) {
		kept = child_keep((k + 1) * 1000);
		free(inherited);
	}
	_exit(0);
}

int main(void)
{
	static const char *const kind[] = {"fork", "_Fork", "clone", "idle"};
	pid_t (*raw_fork)(void) = (pid_t(*)(void))dlsym(RTLD_DEFAULT, "_Fork");
	char line[64];

	inherited = parent_keep(500);
	kept = parent_keep(7000);
	for (int k = 0; k < 4; k++) {
		pid_t pid = k == 1 && raw_fork ? raw_fork() : k == 2 ? by_clone() : fork();
		int status;

		if (!pid)
			child(k);
		if (waitpid(pid, &status, 0) != pid || status)
			return 1;
		snprintf(line, sizeof(line), "%s %d\n", kind[k], (int)pid);
		if (write(1, line, strlen(line)) < 0)
			return 1;
	}
	free(inherited);
	return 0;
}
