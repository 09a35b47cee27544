/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fails.c - allocations that fail under a limit of 1 GiB on address space, each with its way to ask.
 *
 *   fails MODE
 *
 * Says how many failed and of how many bytes in all, and checks errno.  With MODE none nothing fails; with abort it ends as programs do that got
 * nothing.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define GIB ((size_t)1 << 30)
#define LARGE (2 * GIB)

static unsigned long count, bytes;

static void expect_none(void *block, size_t size)
{
	if (block || errno != ENOMEM)
		exit(3);
	errno = 0;
	count++;
	bytes += size;
}

__attribute__((noinline)) void parse_header(size_t size)
{
	expect_none(malloc(size), size);
	__asm__ volatile("");
}

__attribute__((noinline)) void by_calloc(void)
{
	expect_none(calloc(LARGE / 16, 16), LARGE);
	__asm__ volatile("");
}

/* The block stays what it was. */
__attribute__((noinline)) void by_realloc(void)
{
	char *volatile block = malloc(100);
	char *moved;

	memset(block, 7, 100);
	moved = realloc(block, LARGE);
	expect_none(moved, LARGE);
	if (block[99] != 7)
		exit(4);
	free(block);
}

__attribute__((noinline)) void by_alignment(void)
{
	void *block;

	if (posix_memalign(&block, 64, LARGE) != ENOMEM)
		exit(5);
	count++;
	bytes += LARGE;
	expect_none(aligned_alloc(4096, LARGE), LARGE);
	/* Not for want of memory. */
	if (posix_memalign(&block, 3, 100) != EINVAL)
		exit(6);
	errno = 0;
}

__attribute__((noinline)) void by_mmap(void)
{
	void *got = mmap(NULL, LARGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	expect_none(got == MAP_FAILED ? NULL : got, LARGE);
}

int main(int argc, char **argv)
{
	const struct rlimit limit = {GIB, GIB};
	const char *mode = argc > 1 ? argv[1] : "";

	if (!strcmp(mode, "none"))
		return 0;
	setrlimit(RLIMIT_AS, &limit);
	errno = 0;
	for (volatile size_t i = 0; i < 3; i++)
		parse_header(LARGE + i);
	if (!strcmp(mode, "abort"))
		abort();
	by_calloc();
	by_realloc();
	by_alignment();
	by_mmap();
	printf("%lu %lu\n", count, bytes);
	return 0;
}
