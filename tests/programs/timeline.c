/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * timeline.c - grows by STEP_SIZE bytes every STEP_MS, puts marks on the timeline, and says what the timeline must hold.
 *
 *   timeline STEPS
 *
 * First line: "mark yes" or "mark no", whether pmemprof_mark() is there.  Then for each step "TIME LIVE": CLOCK_MONOTONIC in
 * nanoseconds, taken between two marks where they are taken, and the bytes held from then on.  Valid C and C++.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "pmemprof.h"

enum { STEP_SIZE = 64 * 1024, STEP_MS = 20 };

static char **kept;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void mark(const char *text)
{
	if (pmemprof_mark)
		pmemprof_mark(text);
}

__attribute__((noinline)) static void grow(unsigned i)
{
	kept[i] = (char *)malloc(STEP_SIZE);
	if (!kept[i])
		abort();
	memset(kept[i], 1, STEP_SIZE);
}

/* Work without growth between two steps: some events, so that somebody comes by when a point is due. */
__attribute__((noinline)) static void work(unsigned i)
{
	const struct timespec pause = {0, 1000000};
	unsigned j;

	for (j = 0; j < STEP_MS; j++) {
		char *temporary = (char *)malloc(i % 100 + 1);

		if (temporary)
			*(volatile char *)temporary = 1;
		free(temporary);
		nanosleep(&pause, NULL);
	}
}

int main(int argc, char **argv)
{
	unsigned steps = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 0, i;

	setvbuf(stdout, NULL, _IONBF, 0);
	printf("mark %s\n", pmemprof_mark ? "yes" : "no");
	kept = (char **)calloc(steps + 1, sizeof(*kept));
	if (!kept)
		return 1;
	mark("begin");
	printf("%llu 0\n", (unsigned long long)now_ns());
	mark("0123456789012345678901234567890123456789012345678901\xc3\xa4\xc3\xb6\xc3\xbc"); /* cut inside the 2nd character */
	mark(NULL);
	for (i = 0; i < steps; i++) {
		grow(i);
		printf("%llu %u\n", (unsigned long long)now_ns(), (i + 1) * STEP_SIZE);
		work(i);
	}
	mark("end");
	return 0;
}
