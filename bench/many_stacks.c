/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * many_stacks.c - the memory of a program with many threads and many call stacks.
 *
 * Usage: many_stacks THREADS STACKS PER-THREAD
 *
 * Each of THREADS threads uses PER-THREAD of STACKS different call stacks, chosen at random, the same ones in each
 * run: twice in turn it allocates a block at each of them, and every fourth block stays live.  When all threads are done, and before any of
 * them ends, prints the process's resident memory in KiB: all of it, what is private, and what is of files
 * (/proc/self/smaps_rollup).
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	PASSES = 2,
	THREADS_MAX = 4096,
	STACKS_MAX = 10000000,
	BLOCK_SIZE = 24,
	KEPT_OF = 4,
	THREAD_STACK = 256 * 1024
};

static long thread_count, stack_count, per_thread;
static long digits; /* of the largest number of a call stack */
static pthread_barrier_t done, measured;

static void *allocate(void)
{
	void *block = malloc(BLOCK_SIZE);

	__asm__ volatile("" : "+r"(block));
	return block;
}

typedef void *step(long number, long left);

static step step_0, step_1, step_2, step_3, step_4, step_5, step_6, step_7, step_8, step_9;
static step *const steps[] = {step_0, step_1, step_2, step_3, step_4,
			      step_5, step_6, step_7, step_8, step_9};

/* A call stack is a number: a function for each of its digits.  The digit in the code keeps the compiler from folding the ten into one. */
#define STEP(digit)                                                                          \
	static __attribute__((noinline)) void *step_##digit(long number, long left)          \
	{                                                                                    \
		void *block = left ? steps[number % 10](number / 10, left - 1) : allocate(); \
                                                                                             \
		__asm__ volatile("# %c1" : "+r"(block) : "i"(digit));                        \
		return block;                                                                \
	}

STEP(0)
STEP(1)
STEP(2)
STEP(3)
STEP(4)
STEP(5)
STEP(6)
STEP(7)
STEP(8)
STEP(9)

static void *allocate_at(long number)
{
	return steps[number % 10](number / 10, digits - 1);
}

/* xorshift64*: the next of a sequence of pseudo-random numbers. */
static uint64_t next_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1dULL;
}

/* Whether the next of left call stacks is one of the wanted ones. */
static bool takes_next(uint64_t *state, long wanted, long left)
{
	return (long)(next_random(state) % (uint64_t)left) < wanted;
}

/* Allocates once at each of the thread's call stacks, and frees what is not kept. */
static __attribute__((noinline)) void use_stacks(uint64_t state, long kept_of)
{
	long number, used = 0;

	for (number = 0; number < stack_count && used < per_thread; number++) {
		void *block;

		if (!takes_next(&state, per_thread - used, stack_count - number))
			continue;
		block = allocate_at(number);
		if (used++ % kept_of)
			free(block);
	}
}

static void *run(void *seed)
{
	uint64_t state = ((uint64_t)(uintptr_t)seed + 1) * 0x9e3779b97f4a7c15ULL;
	long pass;

	for (pass = 0; pass < PASSES; pass++) {
		/* One call site, whatever the compiler unrolls. */
		__asm__ volatile("" : "+r"(pass));
		use_stacks(state, KEPT_OF);
	}
	pthread_barrier_wait(&done);
	pthread_barrier_wait(&measured);
	return NULL;
}

static bool print_memory(void)
{
	static char line[256];
	FILE *file = fopen("/proc/self/smaps_rollup", "re");
	long rss = 0, anonymous = 0, value;

	if (!file)
		return false;
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "Rss: %ld", &value) == 1)
			rss = value;
		if (sscanf(line, "Anonymous: %ld", &value) == 1)
			anonymous = value;
	}
	fclose(file);
	printf("rss=%ld private=%ld file=%ld\n", rss, anonymous, rss - anonymous);
	return true;
}

static bool begin_threads(pthread_t *threads)
{
	pthread_attr_t attributes;
	long i;

	pthread_barrier_init(&done, NULL, (unsigned)thread_count + 1);
	pthread_barrier_init(&measured, NULL, (unsigned)thread_count + 1);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, THREAD_STACK);
	for (i = 0; i < thread_count; i++)
		if (pthread_create(&threads[i], &attributes, run, (void *)(uintptr_t)i) != 0)
			return false;
	return true;
}

int main(int argc, char **argv)
{
	static pthread_t threads[THREADS_MAX];
	bool printed;
	long i;

	if (argc != 4)
		return 2;
	thread_count = atol(argv[1]);
	stack_count = atol(argv[2]);
	per_thread = atol(argv[3]);
	if (thread_count < 1 || thread_count > THREADS_MAX || stack_count < 1 ||
	    stack_count > STACKS_MAX || per_thread < 1 || per_thread > stack_count)
		return 2;
	for (i = stack_count - 1; i > 0; i /= 10)
		digits++;
	digits += digits == 0;
	if (!begin_threads(threads))
		return 1;
	pthread_barrier_wait(&done);
	printed = print_memory();
	pthread_barrier_wait(&measured);
	for (i = 0; i < thread_count; i++)
		pthread_join(threads[i], NULL);
	return printed ? 0 : 1;
}
