/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * churn.c - a busy program whose results do not depend on time: threads that come and go, and heaps that change all the time.
 *
 *   churn ROUNDS
 *
 * Workers keep lists in arrays that grow and shrink by realloc(): the only pointers to the lists.  They check what they keep, start threads
 * that do the same, and children, for which the main thread waits.  1,000 blocks of 10 bytes are lost at the beginning and nothing else, ever.
 * Prints "ready", and at the end a sum and the number of errors.  ROUNDS 0: until a line comes in.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORKERS = 3, LISTS = 200, LENGTH = 5, SIZES = 400 };

struct node {
	struct node *next;
	uint64_t value;
};

struct lists {
	struct node **items;
	size_t count;
};

static atomic_ulong sum, errors;
static atomic_int is_over;
static unsigned long rounds;

static struct node *make_list(uint64_t value)
{
	struct node *list = NULL;

	for (int i = 0; i < LENGTH; i++) {
		struct node *node = malloc(sizeof(*node));

		node->next = list;
		node->value = value + (uint64_t)i;
		list = node;
	}
	return list;
}

static void end_list(struct node *list, uint64_t value)
{
	for (int i = LENGTH; i-- > 0;) {
		struct node *next = list->next;

		if (list->value != value + (uint64_t)i)
			atomic_fetch_add(&errors, 1);
		free(list);
		list = next;
	}
	if (list)
		atomic_fetch_add(&errors, 1);
}

/* Small and large, so that it moves and is mapped. */
static void resize(struct lists *lists, uint64_t round)
{
	size_t room = lists->count + 1 + (round % 50 == 0 ? 40000 : round * 7 % SIZES);

	lists->items = realloc(lists->items, room * sizeof(*lists->items));
}

static void work(struct lists *lists, uint64_t count)
{
	for (uint64_t round = 0; count ? round < count : !atomic_load(&is_over); round++) {
		resize(lists, round);
		if (lists->count == LISTS) {
			lists->count--;
			end_list(lists->items[0], lists->items[0]->value - (LENGTH - 1));
			memmove(lists->items, lists->items + 1,
				lists->count * sizeof(*lists->items));
		}
		lists->items[lists->count++] = make_list(round);
		atomic_fetch_add(&sum, round);
	}
	while (lists->count-- > 0)
		end_list(lists->items[lists->count],
			 lists->items[lists->count]->value - (LENGTH - 1));
	free(lists->items);
}

static void *work_briefly(void *argument)
{
	struct lists lists = {NULL, 0};

	work(&lists, 50);
	return argument;
}

static void *start_threads(void *argument)
{
	void *result;
	pthread_t thread;

	for (uint64_t round = 0; rounds ? round < rounds / 100 : !atomic_load(&is_over); round++) {
		void *block = malloc(24);

		pthread_create(&thread, NULL, work_briefly, block);
		pthread_join(thread, &result);
		if (result != block)
			atomic_fetch_add(&errors, 1);
		free(result);
	}
	return argument;
}

static void *work_long(void *argument)
{
	struct lists lists = {NULL, 0};

	work(&lists, rounds);
	return argument;
}

static void lose(void)
{
	for (int i = 0; i < 1000; i++) {
		char *block = malloc(10);

		__asm__ volatile("" : : "r"(block) : "memory");
	}
}

/* Every child that is waited for is the one that was started. */
static void start_child(int number)
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(number);
	if (wait(&status) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != number)
		atomic_fetch_add(&errors, 1);
	if (wait(&status) != -1 || errno != ECHILD)
		atomic_fetch_add(&errors, 1);
}

static void start_children(void)
{
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};

	for (unsigned long i = 0; rounds ? i < rounds / 1000 : !atomic_load(&is_over); i++) {
		start_child((int)(i % 100));
		if (!rounds && poll(&input, 1, 1) > 0)
			atomic_store(&is_over, 1);
	}
}

int main(int argc, char **argv)
{
	pthread_t threads[WORKERS + 1];

	rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
	lose();
	for (int i = 0; i <= WORKERS; i++)
		pthread_create(&threads[i], NULL, i ? work_long : start_threads, NULL);
	puts("ready");
	fflush(stdout);
	start_children();
	for (int i = 0; i <= WORKERS; i++)
		pthread_join(threads[i], NULL);
	if (!rounds)
		sum = 0;
	printf("sum %lu errors %lu\n", atomic_load(&sum), atomic_load(&errors));
	return 0;
}
