/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flow.c - allocates at a steady rate for a given time.
 *
 * Usage: flow SECONDS MEGABYTES_PER_SECOND.  Blocks of 16 to 4,080 bytes from some hundreds of call stacks;
 * each lives until its slot in a table is wanted again, so that about 32 MiB stay live.  Prints what it
 * allocated.  For long runs (script/soak): the log must stay bounded and snapshots must stay cheap.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { SLOTS = 16384, DEPTH = 8, MEBIBYTE = 1 << 20 };

static void *slots[SLOTS];
static uint64_t state = 88172645463325252u;
static uint64_t allocated;

static uint64_t next_random(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static __attribute__((noinline)) void take(uint64_t random)
{
	size_t size = 16 + random % 4065;
	void **slot = &slots[(random >> 16) % SLOTS];

	free(*slot);
	*slot = malloc(size);
	allocated += size;
}

static void descend_left(unsigned depth, uint64_t random);

static __attribute__((noinline)) void descend_right(unsigned depth, uint64_t random)
{
	if (depth == 0)
		take(next_random());
	else if (random & 1)
		descend_left(depth - 1, random >> 1);
	else
		descend_right(depth - 1, random >> 1);
	__asm__ volatile("");
}

static __attribute__((noinline)) void descend_left(unsigned depth, uint64_t random)
{
	if (depth == 0)
		take(next_random());
	else if (random & 1)
		descend_right(depth - 1, random >> 1);
	else
		descend_left(depth - 1, random >> 1);
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 10, rate = argc > 2 ? atof(argv[2]) : 1000;
	double start = now(), elapsed;
	struct timespec pause = {.tv_nsec = 1000000};
	int i;

	while ((elapsed = now() - start) < seconds) {
		if ((double)allocated > elapsed * rate * MEBIBYTE)
			nanosleep(&pause, NULL);
		for (i = 0; i < 64 && (double)allocated <= (elapsed + 0.002) * rate * MEBIBYTE; i++)
			descend_left(DEPTH, next_random());
	}
	printf("%" PRIu64 " MiB in %.0f s\n", allocated / MEBIBYTE, seconds);
	return 0;
}
