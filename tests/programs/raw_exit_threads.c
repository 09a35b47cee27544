/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * raw_exit_threads.c - many threads, one after another, that end by a raw system call: no destructor runs.
 *
 * Each leaves a block of 1000 bytes.
 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { THREADS = 1000, SIZE = 1000 };

static void *volatile sink;

static void *leave(void *arg)
{
	(void)arg;
	sink = malloc(SIZE);
	syscall(SYS_exit, 0);
	return NULL;
}

int main(void)
{
	for (int i = 0; i < THREADS; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, leave, NULL) != 0)
			return 1;
		pthread_join(thread, NULL);
	}
	return 0;
}
