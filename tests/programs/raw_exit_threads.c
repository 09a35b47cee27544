/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * raw_exit_threads.c - many threads, one after another, that end by a raw system call: no destructor runs.
 *
 *   raw_exit_threads [COUNT]   of threads, default 1000
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

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : THREADS;

	for (int i = 0; i < count; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, leave, NULL) != 0)
			return 1;
		pthread_join(thread, NULL);
	}
	return 0;
}
