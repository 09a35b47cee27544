/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * leaks.c - a heap of a given size, for `pmem leaks`: says how long its own loop stood still.
 *
 *   leaks MIB BLOCK THREADS
 *
 * Blocks of BLOCK bytes hang in a tree in random order, each hundredth is lost.  Threads sleep.  A loop looks at the clock all the
 * time; at each line of standard input it prints the longest gap since the last one, in microseconds.
 */
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct node {
	struct node *left;
	struct node *right;
};

static struct node *root;

static void *sleep_for_ever(void *nothing)
{
	for (;;)
		pause();
	return nothing;
}

static uint64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* Nodes lie side by side as they were made; the tree leads to them in another order. */
static void build(size_t count, size_t size)
{
	struct node **nodes = malloc(count * sizeof(*nodes));

	for (size_t i = 0; i < count; i++) {
		nodes[i] = malloc(size);
		memset(nodes[i], 0, size);
	}
	for (size_t i = count; i-- > 1;) {
		size_t j = (size_t)rand() % (i + 1);
		struct node *other = nodes[j];

		nodes[j] = nodes[i];
		nodes[i] = other;
	}
	for (size_t i = 1; i < count; i++) {
		struct node *parent = nodes[(i - 1) / 2];

		if (i % 100 == 0 && 2 * i + 1 >= count)
			continue;
		if (i & 1)
			parent->left = nodes[i];
		else
			parent->right = nodes[i];
	}
	root = nodes[0];
	memset(nodes, 0, count * sizeof(*nodes));
	free(nodes);
}

static void run(void)
{
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
	uint64_t last_us = now_us(), longest_us = 0;
	char line[64];

	for (uint64_t i = 0;; i++) {
		uint64_t us = now_us();

		if (us - last_us > longest_us)
			longest_us = us - last_us;
		last_us = us;
		if (i % 1024 || poll(&input, 1, 0) == 0)
			continue;
		if (!fgets(line, sizeof(line), stdin))
			return;
		printf("%llu\n", (unsigned long long)longest_us);
		fflush(stdout);
		longest_us = 0;
		last_us = now_us();
	}
}

int main(int argc, char **argv)
{
	size_t mib = argc > 1 ? strtoul(argv[1], NULL, 10) : 1024;
	size_t size = argc > 2 ? strtoul(argv[2], NULL, 10) : 100;
	int threads = argc > 3 ? atoi(argv[3]) : 0;
	pthread_t thread;

	build((mib << 20) / size, size < sizeof(struct node) ? sizeof(struct node) : size);
	while (threads-- > 0)
		pthread_create(&thread, NULL, sleep_for_ever, NULL);
	puts("ready");
	fflush(stdout);
	run();
	return root == NULL;
}
