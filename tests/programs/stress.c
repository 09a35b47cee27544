/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stress.c - everything that is hard for a recorder at once, with the truth about its blocks at the end.
 *
 * Usage: stress SECONDS PLUGIN [CHILDREN-PER-SECOND [calm]]
 *        stress child
 *
 * For so many seconds at the same time: threads that allocate, grow and free at varying depths and hand blocks to each
 * other, throw exceptions and jump; threads that live for a moment and end in all ways; coroutines; children by fork,
 * vfork and posix_spawn; a library that is loaded and unloaded; signals from timers and from another thread, whose
 * handlers allocate, on other stacks too.  "calm": without signals, so that the number of call
 * stacks is bounded, and without threads that end by a system call, whose caches in glibc are lost: the heap stays as it is.
 * Then one JSON object on standard output: bytes and blocks allocated and freed at each site, and how many children there were.
 * A deadlock is for the caller to notice.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "stress.h"

enum { OTHERS = 4 };

static atomic_bool over;
static bool calm; /* immutable while there are threads */

bool stress_is_over(void)
{
	return atomic_load_explicit(&over, memory_order_relaxed);
}

bool stress_is_calm(void)
{
	return calm;
}

void stress_fail(const char *what)
{
	dprintf(2, "stress: %s (errno %d)\n", what, errno);
	_exit(1);
}

static pthread_t start(void *(*body)(void *), void *arg)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, body, arg) != 0)
		stress_fail("pthread_create");
	return thread;
}

/* Signals do not make it shorter. */
static void sleep_for(long seconds)
{
	struct timespec left = {.tv_sec = seconds};

	while (nanosleep(&left, &left) != 0 && errno == EINTR)
		;
}

static void run(long seconds, char *plugin, struct children *children)
{
	pthread_t workers[WORKERS], others[OTHERS], storm = 0;
	size_t i;

	for (i = 0; i < WORKERS; i++)
		workers[i] = start(stress_work, (void *)i);
	others[0] = start(stress_churn, NULL);
	others[1] = start(stress_coroutines, NULL);
	others[2] = start(stress_plugins, plugin);
	others[3] = start(stress_children, children);
	if (!calm) {
		storm = start(stress_storm, workers);
		stress_timer_start();
	}
	sleep_for(seconds);
	atomic_store_explicit(&over, true, memory_order_relaxed);
	/* First: it sends to the others. */
	if (!calm) {
		pthread_join(storm, NULL);
		stress_timer_stop();
	}
	for (i = 0; i < OTHERS; i++)
		pthread_join(others[i], NULL);
	for (i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
}

int main(int argc, char **argv)
{
	struct children children = {.program = "/proc/self/exe", .per_second = 8};

	if (argc == 2 && strcmp(argv[1], "child") == 0) {
		stress_be_child();
		return 0;
	}
	if (argc < 3)
		return 2;
	if (argc > 3 && atoi(argv[3]) > 0)
		children.per_second = (unsigned)atoi(argv[3]);
	calm = argc > 4 && strcmp(argv[4], "calm") == 0;
	stress_signals_init();
	run(atol(argv[1]), argv[2], &children);
	printf("{\"sites\": {");
	stress_print_sites();
	printf("}, \"signals\": %lu, \"forked\": %lu, \"others\": %lu}\n", stress_signals(),
	       children.forked, children.others);
	return 0;
}
