/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * reallocs.c - threads that do nothing but realloc(), of blocks that hold the only pointers to others.
 *
 *   reallocs [signals]
 *
 * At any moment everything can be reached; much of the time a block is inside realloc(), where no live table shows it.  With "signals" each thread
 * is in a handler half of that time, on a stack of its own.  Prints "ready"; at a line of input it checks what it holds, and prints the number of errors.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

enum { THREADS = 4, COUNT = 200, SIZES = 5, STACK = 32768 };

struct item {
	struct item *next;
	uint64_t value;
};

/* Of tcache and of bins, in number of pointers.  None has a mapping of its own, which would be searched anyway. */
static const size_t sizes[SIZES] = {COUNT, 240, 700, 3000, 12000};

static atomic_int is_over;
static atomic_ulong errors;
static atomic_int ready;
static int with_signals;

static struct item *make(struct item *next, uint64_t value)
{
	struct item *item = malloc(sizeof(*item));

	item->next = next;
	item->value = value;
	return item;
}

static void check(struct item **items, uint64_t seed)
{
	for (uint64_t i = 0; i < COUNT; i++)
		if (items[i]->value != seed + i || items[i]->next->value != seed + i + 1000)
			atomic_fetch_add(&errors, 1);
}

/* As long as a realloc() takes, and longer. */
static void handle(int number)
{
	char filled[4096];

	memset(filled, number, sizeof(filled));
	for (volatile int i = 0; i < 1000000; i++)
		__asm__ volatile("" : : "r"(filled) : "memory");
}

static void begin_signals(void)
{
	stack_t stack = {.ss_sp = malloc(STACK), .ss_size = STACK};

	sigaltstack(&stack, NULL);
	/* It is in use: a pointer to it stays on the thread's stack below. */
	__asm__ volatile("" : : "r"(stack.ss_sp) : "memory");
}

static void end_signals(void)
{
	stack_t none = {.ss_flags = SS_DISABLE}, stack;

	sigaltstack(&none, &stack);
	free(stack.ss_sp);
}

static void *work(void *argument)
{
	uint64_t seed = (uint64_t)(uintptr_t)argument * 100000, random = seed + 1;
	struct item **items;

	if (with_signals)
		begin_signals();
	items = malloc(COUNT * sizeof(*items));
	for (uint64_t i = 0; i < COUNT; i++)
		items[i] = make(make(NULL, seed + i + 1000), seed + i);
	atomic_fetch_add(&ready, 1);
	while (!atomic_load(&is_over)) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		items = realloc(items, sizes[(random >> 33) % SIZES] * sizeof(*items));
	}
	check(items, seed);
	for (int i = 0; i < COUNT; i++) {
		free(items[i]->next);
		free(items[i]);
	}
	free(items);
	if (with_signals)
		end_signals();
	return NULL;
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART | SA_ONSTACK};
	struct itimerval timer = {{0, 1000}, {0, 1000}};
	pthread_t threads[THREADS];
	char line[16];

	with_signals = argc > 1 && strcmp(argv[1], "signals") == 0;
	for (intptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, (void *)i);
	while (atomic_load(&ready) < THREADS)
		;
	if (with_signals) {
		sigaction(SIGPROF, &action, NULL);
		setitimer(ITIMER_PROF, &timer, NULL);
	}
	puts("ready");
	fflush(stdout);
	(void)!fgets(line, sizeof(line), stdin);
	atomic_store(&is_over, 1);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("errors %lu\n", atomic_load(&errors));
	return 0;
}
