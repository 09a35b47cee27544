/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * moments.c - threads whose peak, temporary allocations and remains are known.
 *
 * Usage: moments THREADS.  With 1 it makes no thread.  Each thread does the same; between two steps all meet.
 *
 *   step        blocks          their end
 *   keep        10 of 700       never freed: part of the peak and of what is live at the end
 *   fleeting    500 of 48       each freed at once: temporary
 *   hold        40 of 25,000    freed when all threads have theirs: the process's peak
 *   pass_on     30 of 64        freed by the next thread, so not temporary
 *   late        200 of 300      never freed: live at the end, not part of the peak
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS_MAX = 16, KEPT = 10, FLEETING = 500, HELD = 40, PASSED = 30, LATE = 200 };

#define STEP __attribute__((noinline, noclone)) static

static int threads;
static pthread_barrier_t barrier;
static void *passed[THREADS_MAX][PASSED];

static void meet(void)
{
	if (threads > 1)
		pthread_barrier_wait(&barrier);
}

/* The compiler must not take a block away. */
static void *use(void *block)
{
	__asm__ volatile("" : "+r"(block) : : "memory");
	return block;
}

STEP void keep(void)
{
	for (int i = 0; i < KEPT; i++)
		use(malloc(700));
}

STEP void fleeting(void)
{
	for (int i = 0; i < FLEETING; i++)
		free(use(malloc(48)));
}

STEP void hold(void)
{
	void *held[HELD];

	for (int i = 0; i < HELD; i++)
		held[i] = use(malloc(25000));
	meet();
	for (int i = 0; i < HELD; i++)
		free(held[i]);
}

STEP void pass_on(long thread)
{
	for (int i = 0; i < PASSED; i++)
		passed[thread][i] = malloc(64);
	meet();
	for (int i = 0; i < PASSED; i++)
		free(passed[(thread + 1) % threads][i]);
}

STEP void late(void)
{
	for (int i = 0; i < LATE; i++)
		use(malloc(300));
}

static void *work(void *thread)
{
	keep();
	fleeting();
	meet();
	hold();
	meet();
	pass_on((long)thread);
	late();
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t made[THREADS_MAX];

	threads = argc > 1 ? atoi(argv[1]) : 1;
	if (threads < 1 || threads > THREADS_MAX)
		return 2;
	if (threads == 1) {
		work(NULL);
		return 0;
	}
	pthread_barrier_init(&barrier, NULL, threads);
	for (long i = 0; i < threads; i++)
		if (pthread_create(&made[i], NULL, work, (void *)i))
			return 1;
	for (int i = 0; i < threads; i++)
		pthread_join(made[i], NULL);
	return 0;
}
