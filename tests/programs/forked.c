/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * forked.c - forks where a recorder is easily taken in.
 *
 * Usage: forked quiet|handler|sandbox
 *   quiet    the only event before fork() comes from the loader, in pthread_create(); the child allocates
 *            2,000 blocks of 1,000 bytes and keeps a third of 3,000
 *   handler  a signal handler forks when it interrupts the library that malloc() is in; the child goes on where
 *            the parent was
 *   sandbox  after PR_SET_NO_NEW_PRIVS a vfork() child fails to execute; then the parent keeps 5,000,000 bytes
 */
#define _GNU_SOURCE
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

enum { FORKS = 200, WARM_UP = 60000, CHILD_ROUNDS = 20 };

static void *volatile sink;
static volatile sig_atomic_t child, forks;

static void *wait_for_ever(void *arg)
{
	pause();
	return arg;
}

__attribute__((noinline, noclone)) static void child_keeps(void)
{
	sink = malloc(1000);
}

static int quiet(void)
{
	pthread_t thread;
	int status, i;
	pid_t pid;

	pthread_create(&thread, NULL, wait_for_ever, NULL);
	pid = fork();
	if (!pid) {
		for (i = 0; i < 3000; i++) {
			child_keeps();
			if (i % 3)
				free(sink);
		}
		exit(0);
	}
	waitpid(pid, &status, 0);
	_exit(status != 0);
}

static ElfW(Addr) start, end; /* of the code that malloc() is in */

static int find_allocator(struct dl_phdr_info *info, size_t size, void *arg)
{
	ElfW(Addr) wanted = (ElfW(Addr))malloc;
	int i;

	(void)size, (void)arg;
	for (i = 0; i < info->dlpi_phnum; i++) {
		start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
		end = start + info->dlpi_phdr[i].p_memsz;
		if (info->dlpi_phdr[i].p_type == PT_LOAD && wanted >= start && wanted < end)
			return 1;
	}
	return 0;
}

static void fork_here(int number, siginfo_t *info, void *context)
{
	const ucontext_t *interrupted = context;
	ElfW(Addr) pc = (ElfW(Addr))interrupted->uc_mcontext.gregs[REG_RIP];

	(void)number, (void)info;
	if (child || forks >= FORKS || pc < start || pc >= end)
		return;
	forks++;
	if (fork() == 0) {
		child = 1;
		free(malloc(300));
	}
}

/* A new call stack nearly each time, so that the recorder is at work when the signal comes. */
__attribute__((noinline, noclone)) static void *descend(int depth, unsigned way)
{
	volatile int here = depth;
	void *block;

	if (!depth)
		block = malloc(512 + way % 7);
	else if (way & 1)
		block = descend(depth - 1, way >> 1);
	else
		block = descend(depth - 1, way >> 1 ^ 0x55555);
	here++;
	return block;
}

static int handler(void)
{
	struct sigaction action = {.sa_sigaction = fork_here, .sa_flags = SA_RESTART | SA_SIGINFO};
	struct itimerval timer = {{0, 300}, {0, 300}}, none = {{0, 0}, {0, 0}};
	int status, bad = 0, rounds = 0;
	unsigned way = 1;

	dl_iterate_phdr(find_allocator, NULL);
	/* Many call stacks first: what the parent knew lies where the child's own state does not reach. */
	for (; rounds < WARM_UP; rounds++) {
		way = way * 1103515245u + 12345;
		free(descend(20, way >> 8 ^ way << 9));
	}
	rounds = 0;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
	while (forks < FORKS || child) {
		way = way * 1103515245u + 12345;
		free(descend(20, way >> 8 ^ way << 9));
		if (child && rounds++ > CHILD_ROUNDS)
			_exit(0);
	}
	setitimer(ITIMER_REAL, &none, NULL);
	while (wait(&status) > 0)
		bad += status != 0;
	printf("%d\n", bad);
	return 0;
}

__attribute__((noinline, noclone)) static void parent_keeps(void)
{
	sink = malloc(5000000);
}

static int sandbox(void)
{
	char *arguments[] = {"none", NULL};
	int status;
	pid_t pid;

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	sink = malloc(1000);
	pid = vfork();
	if (!pid) {
		execv("/nonexistent/none", arguments);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	parent_keeps();
	return WEXITSTATUS(status) != 127;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "quiet"))
		return quiet();
	if (argc == 2 && !strcmp(argv[1], "handler"))
		return handler();
	if (argc == 2 && !strcmp(argv[1], "sandbox"))
		return sandbox();
	return 2;
}
