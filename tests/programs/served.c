/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * served.c - does as it is told, and then says so: its heap is known at any moment.
 *
 * A line on standard input, and a dot on standard output when it is done:
 *
 *   k COUNT   COUNT blocks of 1,000 bytes that stay, from keep()
 *   d COUNT   as many of them are freed
 *   t COUNT   COUNT blocks of 100 bytes, each freed at once, from throw_away()
 *   m COUNT   COUNT pages mapped, from map_page()
 *   u COUNT   as many of them are unmapped
 *   q         ends, with exit status 0
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { KEPT_MAX = 100000, KEPT = 1000, THROWN = 100, MAPPED_MAX = 1000, PAGE = 4096 };

static void *kept[KEPT_MAX];
static unsigned kept_count;
static void *mapped[MAPPED_MAX];
static unsigned mapped_count;

__attribute__((noinline)) static void keep(void)
{
	kept[kept_count] = malloc(KEPT);
	memset(kept[kept_count++], 1, KEPT);
}

__attribute__((noinline)) static void drop(void)
{
	free(kept[--kept_count]);
}

__attribute__((noinline)) static void throw_away(void)
{
	char *block = malloc(THROWN);

	*(volatile char *)block = 1;
	free(block);
}

__attribute__((noinline)) static void map_page(void)
{
	mapped[mapped_count++] = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void obey(char what, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		if (what == 'k' && kept_count < KEPT_MAX)
			keep();
		else if (what == 'd' && kept_count > 0)
			drop();
		else if (what == 't')
			throw_away();
		else if (what == 'm' && mapped_count < MAPPED_MAX)
			map_page();
		else if (what == 'u' && mapped_count > 0)
			munmap(mapped[--mapped_count], PAGE);
	}
}

int main(void)
{
	char line[64];
	ssize_t size;

	while ((size = read(STDIN_FILENO, line, sizeof(line) - 1)) > 0) {
		line[size] = '\0';
		if (line[0] == 'q')
			return 0;
		obey(line[0], (unsigned)atoi(line + 1));
		if (write(STDOUT_FILENO, ".", 1) != 1)
			return 1;
	}
	return 1;
}
