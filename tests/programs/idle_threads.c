/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * idle_threads.c - many threads, one after another, that never allocate.
 */
#include <pthread.h>
#include <stdlib.h>

enum { THREADS = 300 };

static void *volatile sink;

static void *idle(void *arg)
{
	return arg;
}

int main(void)
{
	sink = malloc(1000);
	for (int i = 0; i < THREADS; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, idle, NULL) != 0)
			return 1;
		pthread_join(thread, NULL);
	}
	return 0;
}
