/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * advice.c - programs that could do better, by known numbers.
 *
 *   advice temporaries    200,000 blocks of 48 bytes, each freed at once; 1,000 live
 *   advice realloc        100 buffers of 64 KiB, grown in 16 steps of 4 KiB each
 *   advice mremap         a large buffer whose pages are moved, not copied
 *   advice slack          100,000 live blocks of 25 bytes
 *   advice foreign        a thread allocates 20,000 blocks, the main one frees them
 *
 * Prints what it knows: "name number", each on a line; waits for a line on stdin.  Without stdio, which would allocate.
 */
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	TEMPORARIES = 200000,
	LIVE = 1000,
	BUFFERS = 100,
	STEPS = 16,
	STEP = 4096,
	SLACK = 100000,
	FOREIGN = 20000,
	LARGE = 16 << 20
};

static char *blocks[SLACK];

static void say(const char *name, size_t number)
{
	char line[80];
	int size = snprintf(line, sizeof(line), "%s %zu\n", name, number);

	if (write(STDOUT_FILENO, line, (size_t)size) != size)
		_exit(1);
}

__attribute__((noinline)) static void temporary(void)
{
	free(*(void *volatile *)&(void *){malloc(48)});
}

__attribute__((noinline)) static void *keep(size_t size)
{
	return memset(malloc(size), 1, size);
}

static void temporaries(void)
{
	for (int i = 0; i < LIVE; i++)
		blocks[i] = keep(10);
	for (int i = 0; i < TEMPORARIES; i++)
		temporary();
	say("gain", TEMPORARIES);
	say("whole", TEMPORARIES + LIVE);
}

__attribute__((noinline)) static void *grow(void *block, size_t size)
{
	return realloc(block, size);
}

/* A block behind each buffer makes most steps moves; what they are the program sees itself. */
static void reallocs(void)
{
	size_t moved = 0, copied = 0;

	for (int i = 0; i < BUFFERS; i++) {
		char *buffer = NULL;

		for (size_t step = 1; step <= STEPS; step++) {
			char *now = grow(buffer, step * STEP);

			moved += buffer && now != buffer;
			copied += buffer && now != buffer ? (step - 1) * STEP : 0;
			buffer = now;
			blocks[step] = keep(100);
		}
		free(buffer);
	}
	say("gain", copied);
	say("blocks", moved);
	say("grown_blocks", BUFFERS);
	say("realloc_calls", BUFFERS * (STEPS - 1));
	say("mean_bytes", STEPS * STEP);
}

/* Something behind it keeps it from growing where it is. */
static void mremaps(void)
{
	char *buffer = grow(NULL, LARGE);

	for (size_t step = 2; step <= STEPS; step++) {
		mmap(buffer - 2 * LARGE, LARGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		buffer = grow(buffer, step * LARGE);
	}
	say("steps", STEPS);
	free(buffer);
}

static void slack(void)
{
	size_t sum = 0;

	for (int i = 0; i < SLACK; i++) {
		blocks[i] = keep(25);
		sum += malloc_usable_size(blocks[i]) - 25;
	}
	say("gain", sum);
	say("blocks", SLACK);
	say("mean_bytes", 25);
}

__attribute__((noinline)) static void produce(void)
{
	for (int i = 0; i < FOREIGN; i++)
		blocks[i] = malloc(64);
}

static void *producer(void *unused)
{
	produce();
	return unused;
}

static void foreign(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, producer, NULL);
	pthread_join(thread, NULL);
	for (int i = 0; i < FOREIGN; i++)
		free(blocks[i]);
	say("gain", FOREIGN);
	say("blocks", FOREIGN);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} modes[] = {{"temporaries", temporaries},
		     {"realloc", reallocs},
		     {"mremap", mremaps},
		     {"slack", slack},
		     {"foreign", foreign}};
	char byte;

	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++)
		if (argc > 1 && strcmp(argv[1], modes[i].name) == 0)
			modes[i].run();
	say("ready", 1);
	return read(STDIN_FILENO, &byte, 1) < 0;
}
