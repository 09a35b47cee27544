/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * limits.c - a program with many call stacks, small children, or little room: limits ACT.
 *
 *   stacks      4,096 call stacks, a block of 100 bytes at each: more than the first 256 KiB of a profile hold
 *   children N  N forked children, one after another; each keeps one block of 100 bytes
 *   lost        three forked children, as a user who may write nowhere (root only); the parent keeps 1,000 bytes
 *   size        prints VmSize and VmData of /proc/self/status, in KiB
 *   data N      sets RLIMIT_DATA to N bytes and prints how many blocks of 1 MiB there are then
 *   fsize N ACT sets RLIMIT_FSIZE to N bytes, and executes itself with ACT
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BITS = 12, BLOCK = 100, LOST = 3, NOBODY = 65534 };

static void *volatile kept;

/* Each value of path is a call stack of its own. */
__attribute__((noinline)) static void keep(unsigned path, int bits)
{
	if (bits == 0)
		kept = malloc(BLOCK);
	else if (path & 1)
		keep(path >> 1, bits - 1);
	else {
		keep(path >> 1, bits - 1);
		__asm__ volatile("nop" ::: "memory"); /* or the two were one call */
	}
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void child_keeps(void)
{
	kept = malloc(BLOCK);
}

__attribute__((noinline)) static void parent_keeps(void)
{
	kept = malloc(10 * BLOCK);
}

static int stacks(void)
{
	for (unsigned path = 0; path < 1u << BITS; path++)
		keep(path, BITS);
	return 0;
}

static int children(int count)
{
	for (int i = 0; i < count; i++) {
		if (fork() == 0) {
			child_keeps();
			exit(0);
		}
		wait(NULL);
	}
	return 0;
}

static int lost(void)
{
	parent_keeps();
	for (int i = 0; i < LOST; i++) {
		if (fork() == 0) {
			if (setuid(NOBODY) != 0)
				_exit(3);
			child_keeps();
			exit(0);
		}
		wait(NULL);
	}
	return 0;
}

static long status(const char *key)
{
	char text[4096];
	int fd = open("/proc/self/status", O_RDONLY);
	ssize_t size = read(fd, text, sizeof(text) - 1);
	char *at;

	close(fd);
	text[size > 0 ? size : 0] = '\0';
	at = strstr(text, key);
	return at ? atol(at + strlen(key)) : -1;
}

static int size(void)
{
	kept = malloc(BLOCK);
	printf("%ld %ld\n", status("VmSize:"), status("VmData:"));
	return 0;
}

static int data(rlim_t bytes)
{
	struct rlimit limit = {bytes, bytes};
	int count = 0;

	if (setrlimit(RLIMIT_DATA, &limit) != 0)
		return 3;
	while ((kept = malloc(1 << 20)))
		count++;
	printf("%d\n", count);
	return 0;
}

static int fsize(char **argv)
{
	struct rlimit limit = {(rlim_t)atol(argv[2]), (rlim_t)atol(argv[2])};

	argv[2] = argv[0];
	return setrlimit(RLIMIT_FSIZE, &limit) != 0 || execv("/proc/self/exe", argv + 2);
}

int main(int argc, char **argv)
{
	const char *act = argc > 1 ? argv[1] : "";

	if (!strcmp(act, "stacks"))
		return stacks();
	if (!strcmp(act, "children") && argc > 2)
		return children(atoi(argv[2]));
	if (!strcmp(act, "lost"))
		return lost();
	if (!strcmp(act, "size"))
		return size();
	if (!strcmp(act, "data") && argc > 2)
		return data((rlim_t)atol(argv[2]));
	if (!strcmp(act, "fsize") && argc > 3)
		return fsize(argv);
	return 2;
}
