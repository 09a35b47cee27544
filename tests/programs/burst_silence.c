/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * burst_silence.c - a burst that is freed but for a part, within one distance of points, a silence, and what ends it.
 *
 * Argument: what that is: exit, malloc, again (from where one was before), free, realloc, mmap.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BLOCKS = 100000, LARGE = 64 << 20, MIDDLE = 100000, SILENCE_US = 2200000 };

static void *blocks[BLOCKS];
static void *volatile kept;

int main(int argc, char **argv)
{
	const char *end = argc > 1 ? argv[1] : "exit";
	char *volatile large = malloc(LARGE);

	for (int i = 0; i < BLOCKS; i++) {
		blocks[i] = malloc(500);
		if (i % 8 == 0)
			kept = malloc(24);
	}
	for (int i = 0; i < BLOCKS; i++)
		free(blocks[i]);
	/* One call stack: the compiler must not take the loop apart. */
	for (volatile int i = 0; i < 9; i++) {
		if (i == 8)
			usleep(SILENCE_US);
		if (i == 8 && strcmp(end, "again"))
			break;
		kept = malloc(MIDDLE);
	}
	if (!strcmp(end, "malloc"))
		for (int i = 0; i < 3; i++)
			kept = malloc(LARGE);
	if (!strcmp(end, "free"))
		free(large);
	if (!strcmp(end, "realloc"))
		kept = realloc(large, (size_t)3 * LARGE);
	if (!strcmp(end, "mmap"))
		kept = mmap(NULL, LARGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return 0;
}
