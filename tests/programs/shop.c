/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * shop.c - a heap with a story: a cache that comes and goes, sessions that stay, and text that is thrown away.
 *
 *   shop STEPS
 *
 * cache: 64 blocks of 64 KiB from the beginning until half of the steps are done.  Each step of 20 ms keeps a session of
 * 4,096 bytes, and throws 50 texts of 200 bytes away.  Four marks; the last one is hostile, and so is a thread's name.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "../../include/pmemprof.h"

enum { SLOTS = 64, SLOT = 64 * 1024, SESSION = 4096, TEXTS = 50, TEXT = 200, STEP_NS = 20000000 };

static char *slots[SLOTS];
static void **sessions;

static void mark(const char *text)
{
	if (pmemprof_mark)
		pmemprof_mark(text);
}

__attribute__((noinline)) static void load_cache(void)
{
	for (unsigned i = 0; i < SLOTS; i++) {
		slots[i] = malloc(SLOT);
		memset(slots[i], 1, SLOT);
	}
}

/* Is on the call stacks of the cache three times. */
__attribute__((noinline)) static void descend(unsigned depth)
{
	if (depth > 0)
		descend(depth - 1);
	else
		load_cache();
	__asm__ volatile("");
}

__attribute__((noinline)) static void drop_cache(void)
{
	for (unsigned i = 0; i < SLOTS; i++)
		free(slots[i]);
}

__attribute__((noinline)) static void render(unsigned i)
{
	char *text = malloc(TEXT);

	*(volatile char *)text = (char)i;
	free(text);
}

__attribute__((noinline)) static void remember(unsigned i)
{
	sessions[i] = malloc(SESSION);
	memset(sessions[i], 1, SESSION);
}

__attribute__((noinline)) static void handle_request(unsigned i)
{
	for (unsigned j = 0; j < TEXTS; j++)
		render(j);
	remember(i);
}

__attribute__((noinline)) static void serve(unsigned from, unsigned to)
{
	const struct timespec pause = {0, STEP_NS};

	for (unsigned i = from; i < to; i++) {
		handle_request(i);
		nanosleep(&pause, NULL);
	}
}

static void *work(void *range)
{
	unsigned *steps = range;

	prctl(PR_SET_NAME, "<b id=\"x\">&amp;");
	serve(steps[0], steps[1]);
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned steps = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;
	unsigned range[2] = {steps / 2, steps};
	pthread_t thread;

	sessions = calloc(steps + 1, sizeof(*sessions));
	descend(2);
	mark("cache loaded");
	serve(0, steps / 2);
	drop_cache();
	mark("cache dropped");
	pthread_create(&thread, NULL, work, range);
	pthread_join(thread, NULL);
	mark("</script><script>document.title='hit'</script>");
	_exit(0);
}
