/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rss.c - processes whose resident set is large for a known reason.
 *
 *   rss MODE MIB
 *
 * When it is as large as it gets, prints "ready", the resident set and what the mode knows to be true: "name bytes", each on a line;
 * waits for a line on stdin; then ends.  With MODE trim- before the mode: first "trimmed" and the resident set after malloc_trim(0).
 */
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BLOCK = 1000, SMALL = 100, THREADS = 8, MIB = 1 << 20 };

static pthread_barrier_t full, done;
static size_t wanted; /* bytes */

/* Without stdio, which would allocate. */
static unsigned long rss(void)
{
	static char text[4096];
	FILE *file = fopen("/proc/self/smaps_rollup", "r");
	size_t size = fread(text, 1, sizeof(text) - 1, file);

	fclose(file);
	text[size] = 0;
	return strtoul(strstr(text, "Rss:") + 4, NULL, 10) * 1024;
}

/* With words that could be the header of a chunk. */
static void *filled(size_t size)
{
	size_t *block = malloc(size);

	for (size_t i = 0; i < size / sizeof(*block); i++)
		block[i] = 0x31;
	return block;
}

static void *map(size_t size)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void say(const char *name, size_t bytes)
{
	printf("%s %zu\n", name, bytes);
}

/* Live blocks of one size. */
static void live(void)
{
	size_t count = wanted / BLOCK;

	for (size_t i = 0; i < count; i++)
		*(void **)filled(BLOCK) = NULL;
	say("live", count * BLOCK);
	say("rounding", count * 8);
}

/* One block in ten stays: each page has some. */
static void fragments(void)
{
	size_t count = wanted / SMALL;
	void **blocks = map(count * sizeof(*blocks));

	for (size_t i = 0; i < count; i++)
		blocks[i] = filled(SMALL);
	for (size_t i = 0; i < count; i++)
		if (i % 10)
			free(blocks[i]);
	say("live", (count + 9) / 10 * SMALL);
	say("fragments", (count - (count + 9) / 10) * 112);
	say("mapped", count * sizeof(*blocks));
}

static void *fill_and_free(void *unused)
{
	size_t count = wanted / THREADS / BLOCK;
	void **blocks = malloc(count * sizeof(*blocks));

	for (size_t i = 0; i < count; i++)
		blocks[i] = filled(BLOCK);
	/* The last one keeps the arena's end from being given back. */
	for (size_t i = 0; i + 1 < count; i++)
		free(blocks[i]);
	free(blocks);
	pthread_barrier_wait(&full);
	pthread_barrier_wait(&done);
	return unused;
}

static void arenas(void)
{
	pthread_t thread;

	mallopt(M_ARENA_MAX, THREADS + 1);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread, NULL, fill_and_free, NULL);
	pthread_barrier_wait(&full);
	say("kept", wanted / BLOCK * (BLOCK + 8));
	say("arenas", THREADS + 1);
}

static void *use_stack(void *unused)
{
	size_t size = wanted / THREADS;
	volatile char room[size];

	memset((char *)room, 1, size);
	free(filled(8));
	pthread_barrier_wait(&full);
	pthread_barrier_wait(&done);
	return (char *)unused + room[0];
}

/* The last one's stack is the program's own, and has other memory right above it. */
static void stacks(void)
{
	size_t size = wanted / THREADS + MIB;
	char *own = map(size + 4 * MIB);
	pthread_attr_t attributes;
	pthread_t thread;

	mprotect(own, MIB, PROT_NONE);
	memset(own + MIB + size, 1, 3 * MIB);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, size);
	for (int i = 0; i < THREADS; i++) {
		if (i + 1 == THREADS)
			pthread_attr_setstack(&attributes, own + MIB, size);
		pthread_create(&thread, &attributes, use_stack, NULL);
	}
	pthread_barrier_wait(&full);
	say("stacks", wanted);
	say("mapped", 3 * MIB);
	say("stack_count", THREADS + 1);
}

/* Of a mapping that was only read no page counts, also where the kernel joins it with a block of malloc(). */
static void mapped(void)
{
	volatile char *zeros = map(wanted);

	for (size_t i = 0; i < wanted; i += 4096)
		zeros[i];
	*(void **)filled(wanted / 4) = NULL;
	for (size_t size = 0; size < wanted; size += MIB)
		memset(map(MIB), 1, MIB);
	say("mapped", wanted);
	say("live", wanted / 4);
}

static void shared(void)
{
	memset(mmap(NULL, wanted, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), 1,
	       wanted);
	say("shared", wanted);
}

/* Large blocks, half of them only touched at their first half, and one that was never touched. */
static void large(void)
{
	size_t size = wanted / 8;

	for (int i = 0; i < 6; i++)
		*(void **)filled(size) = NULL;
	for (int i = 0; i < 4; i++)
		memset(malloc(size), 1, size / 2);
	*(void *volatile *)&(void *){NULL} = malloc(wanted);
	say("live", wanted);
}

static void run(const char *mode)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} modes[] = {{"live", live},	 {"fragments", fragments}, {"arenas", arenas},
		     {"stacks", stacks}, {"mapped", mapped},	   {"shared", shared},
		     {"large", large}};

	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++)
		if (strcmp(mode, modes[i].name) == 0)
			modes[i].run();
}

/* The parent's blocks, in a child that has made some itself. */
static void fork_after(const char *mode)
{
	pid_t child;

	run(mode);
	child = fork();
	if (child == 0) {
		live();
		say("pid", (size_t)getpid());
		return;
	}
	waitpid(child, NULL, 0);
	exit(0);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 2 ? argv[1] : "";

	wanted = argc > 2 ? strtoul(argv[2], NULL, 10) * MIB : 0;
	pthread_barrier_init(&full, NULL, THREADS + 1);
	pthread_barrier_init(&done, NULL, THREADS + 1);
	setvbuf(stdout, NULL, _IOLBF, 4096);
	if (strncmp(mode, "fork-", 5) == 0)
		fork_after(mode + 5);
	else
		run(strncmp(mode, "trim-", 5) == 0 ? mode + 5 : mode);
	say("rss", rss());
	if (strncmp(mode, "trim-", 5) == 0) {
		malloc_trim(0);
		say("trimmed", rss());
	}
	puts("ready");
	getchar();
	return 0;
}
