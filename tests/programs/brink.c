/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * brink.c - a heap that grows until its limit is near.
 *
 *   brink HOW RESOURCE LIMIT_MIB GROW_MIB
 *
 * RESOURCE  "data" or "as": sets that limit; "none": another one is there
 * HOW       "main", "thread": where it grows; "fork": in a child; "sandbox": after PR_SET_NO_NEW_PRIVS; "closed", "replaced": without
 *           the stderr that it had; "late-pipe": stderr's pipe has no reader any more
 *
 * Then grows by GROW_MIB in blocks of 4 KiB that it touches: seven eighths by leak_much(), the rest by leak_little(); before that
 * hold() takes 8 MiB.  "fd2 FLAGS" is the last line: flags of stderr's description.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BLOCK = 4096, MIB = 1 << 20, HELD = 8 * MIB };

static size_t wanted;

static void *touched(void *block, size_t size)
{
	/* Out of memory is the program's own business. */
	return block ? memset(block, 1, size) : NULL;
}

__attribute__((noinline)) static void hold(void)
{
	*(void *volatile *)&(void *){touched(malloc(HELD), HELD)};
}

__attribute__((noinline)) static void leak_much(void)
{
	*(void *volatile *)&(void *){touched(malloc(BLOCK), BLOCK)};
}

__attribute__((noinline)) static void leak_little(void)
{
	*(void *volatile *)&(void *){touched(malloc(BLOCK), BLOCK)};
}

static void *grow(void *unused)
{
	for (size_t i = 0; i < wanted / BLOCK; i++) {
		if (i % 8)
			leak_much();
		else
			leak_little();
	}
	return unused;
}

static void set_limit(const char *resource, size_t mib)
{
	struct rlimit limit = {mib * MIB, mib * MIB};

	if (strcmp(resource, "none") != 0)
		setrlimit(strcmp(resource, "as") == 0 ? RLIMIT_AS : RLIMIT_DATA, &limit);
}

static void prepare(const char *how)
{
	if (strcmp(how, "sandbox") == 0)
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (strcmp(how, "closed") == 0)
		close(2);
	if (strcmp(how, "replaced") == 0)
		dup2(1, 2);
	if (strcmp(how, "late-pipe") == 0) {
		getchar();
		signal(SIGPIPE, SIG_DFL);
	}
}

static void run(const char *how)
{
	pthread_t thread;

	if (strcmp(how, "thread") != 0) {
		grow(NULL);
		return;
	}
	pthread_create(&thread, NULL, grow, NULL);
	pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	pid_t child = 0;
	int status = 0;

	if (argc < 5)
		return 2;
	wanted = strtoul(argv[4], NULL, 10) * MIB;
	set_limit(argv[2], strtoul(argv[3], NULL, 10));
	hold();
	prepare(argv[1]);
	if (strcmp(argv[1], "fork") == 0)
		child = fork();
	if (child)
		waitpid(child, &status, 0);
	else
		run(argv[1]);
	printf("fd2 %d\n", fcntl(2, F_GETFL));
	return status != 0;
}
