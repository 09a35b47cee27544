/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pair.c - time of one malloc(64) + free() pair at a given depth of the call stack.
 *
 * Usage: pair DEPTH.  Prints the median and the least of 31 rounds of 200,000 pairs, in nanoseconds.  DEPTH
 * counts all frames, with main() and the C library's start.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
	ROUNDS = 31,
	PAIRS = 200000,
	OUTER_FRAMES = 5 /* start code, main, measure's caller and itself */
};

static double rounds[ROUNDS];

static double now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static __attribute__((noinline)) void keep(void *block)
{
	__asm__ volatile("" : : "r"(block) : "memory");
}

static __attribute__((noinline)) void measure(void)
{
	int round, i;

	for (round = 0; round < ROUNDS; round++) {
		double start = now_ns();

		for (i = 0; i < PAIRS; i++) {
			void *block = malloc(64);

			keep(block);
			free(block);
		}
		rounds[round] = (now_ns() - start) / PAIRS;
	}
}

/* Frames of different sizes, so that their slots do not lie at one distance. */
static __attribute__((noinline)) int descend(int depth)
{
	volatile char small[24], large[88];

	small[depth % 24] = large[depth % 88] = 1;
	if (depth <= 0)
		measure();
	else
		descend(depth - 1);
	return small[depth % 24] + large[depth % 88];
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	int depth = argc > 1 ? atoi(argv[1]) : 20;

	descend(depth - OUTER_FRAMES - 1);
	qsort(rounds, ROUNDS, sizeof(*rounds), compare);
	printf("%.2f %.2f\n", rounds[ROUNDS / 2], rounds[0]);
	return 0;
}
