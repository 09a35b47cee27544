/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * heap - a heap with a peak in the middle: blocks that stay, that are freed after the peak, that come after it, and temporary ones; by all
 * functions that allocate.  Some functions are inlined where that is on.
 */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

enum { KEPT = 40, PEAK = 25, LATE = 7, TEMPORARY = 1000 };

static void *kept[KEPT], *peak[PEAK], *late[LATE];
static void *volatile seen;

static inline void *__attribute__((always_inline)) take(size_t size)
{
	void *block = malloc(size);

	seen = block;
	return block;
}

static void __attribute__((noinline)) keep(void)
{
	int i;

	for (i = 0; i < KEPT; i++)
		kept[i] = take((size_t)100 + (size_t)i);
}

static void __attribute__((noinline)) reach_peak(void)
{
	int i;

	for (i = 0; i < PEAK; i++)
		peak[i] = i % 2 ? calloc(10, 1001) : memalign(64, 10000);
}

static void __attribute__((noinline)) leave_peak(void)
{
	int i;

	for (i = 0; i < PEAK; i++)
		free(peak[i]);
	kept[0] = realloc(kept[0], 33);
	for (i = 0; i < LATE; i++)
		late[i] = strdup("a text");
}

static void __attribute__((noinline)) waste(void)
{
	int i;

	for (i = 0; i < TEMPORARY; i++)
		free(take(17));
}

int main(void)
{
	keep();
	waste();
	reach_peak();
	leave_peak();
	waste();
	seen = NULL;
	return 0;
}
