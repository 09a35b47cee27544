/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * grower.c - a slow leak, and what may hide it: grower leak|freed|cache|cache-freed|fork.
 *
 * leak: it is there at exit.  freed: it is given back at exit, as destructors do.  cache: beside 50 MiB that were loaded
 * first.  fork: in a child; the parent is steady.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STEPS = 30, STEP_US = 100000, BLOCK = 16 << 10, BLOCKS = 2, CACHE = 50 << 20 };

static void *kept[STEPS * BLOCKS];
void *volatile cache, *volatile buffer;

__attribute__((noinline)) static void load_cache(void)
{
	cache = malloc(CACHE);
	memset(cache, 1, CACHE);
}

__attribute__((noinline)) static void note_timeout(int i)
{
	kept[i] = malloc(BLOCK);
	memset(kept[i], 1, BLOCK);
}

__attribute__((noinline)) static void leak(void)
{
	for (int i = 0; i < STEPS; i++) {
		for (int j = 0; j < BLOCKS; j++)
			note_timeout(i * BLOCKS + j);
		usleep(STEP_US);
	}
}

/* What the heap at the end would name. */
__attribute__((noinline)) static void last_words(void)
{
	buffer = malloc(4096);
	memset(buffer, 1, 4096);
}

static void give_back(void)
{
	for (int i = 0; i < STEPS * BLOCKS; i++)
		free(kept[i]);
	last_words();
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "leak";

	if (strstr(how, "cache"))
		load_cache();
	if (strstr(how, "freed"))
		atexit(give_back);
	if (strcmp(how, "fork") == 0 && fork() > 0) {
		wait(NULL);
		return 0;
	}
	leak();
	return 0;
}
