/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * verdicts.c - one kind of growth, compressed into a few seconds: verdicts leak|filling|sawtooth|step|plateau|hidden|mapped SECONDS.
 *
 * What is held follows from the time since the start, not from the number of turns: a busy machine changes nothing.  hidden is a slow leak
 * beside 40 MiB, of which some come and go.  mapped grows past malloc, with a heap that does not.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { MANY = 4000, TURN_US = 2000, BUFFERS = 40 };

#define KIB 1024

static void *held[MANY];
static unsigned held_count;
static double share; /* of the run that is over */
static unsigned asked;
void *volatile buffers[BUFFERS];
static void *volatile event;

static unsigned random_number(void)
{
	static unsigned state = 1;

	return (state = state * 1103515245 + 12345) >> 8;
}

__attribute__((noinline)) static void remember(unsigned wanted)
{
	for (; held_count < wanted; held_count++)
		held[held_count] = calloc(1, KIB);
}

__attribute__((noinline)) static void look_up(unsigned wanted)
{
	for (; asked < wanted; asked++) {
		void **entry = &held[random_number() % 2000];

		if (!*entry)
			*entry = calloc(1, KIB);
	}
}

__attribute__((noinline)) static void collect(unsigned wanted)
{
	for (; held_count < wanted; held_count++)
		held[held_count] = calloc(1, KIB);
	while (held_count > wanted)
		free(held[--held_count]);
}

__attribute__((noinline)) static void load(unsigned wanted)
{
	for (; held_count < wanted; held_count++)
		held[held_count] = calloc(1, KIB);
}

/* Pages, each a mapping of its own. */
__attribute__((noinline)) static void map_more(unsigned wanted)
{
	for (; held_count < wanted; held_count++) {
		held[held_count] = mmap(NULL, 4 * KIB, PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		memset(held[held_count], 1, 1);
	}
}

/* 40 buffers of 1 MiB; one in ten is not there. */
__attribute__((noinline)) static void serve(void)
{
	void *volatile *buffer = &buffers[random_number() % BUFFERS];

	if (*buffer) {
		free(*buffer);
		*buffer = NULL;
	}
	for (int i = 0; i < BUFFERS; i++)
		if (!buffers[i] && random_number() % 4 == 0)
			buffers[i] = malloc(KIB * KIB);
}

static void turn(const char *kind)
{
	double day = share * 6;

	if (strcmp(kind, "leak") == 0)
		remember((unsigned)(share * MANY));
	else if (strcmp(kind, "filling") == 0)
		look_up((unsigned)(share * 8000));
	else if (strcmp(kind, "sawtooth") == 0)
		collect((unsigned)((day - (int)day) * 1000));
	else if (strcmp(kind, "step") == 0)
		load(share < 0.5 ? 1000 : 2000);
	else if (strcmp(kind, "plateau") == 0)
		load(share < 0.12 ? (unsigned)(share / 0.12 * 2000) : 2000);
	else if (strcmp(kind, "mapped") == 0)
		map_more((unsigned)(share * MANY));
	else
		remember((unsigned)(share * 400));
	if (strcmp(kind, "hidden") == 0)
		serve();
	/* Events, so that points are taken. */
	for (int i = 0; i < 64; i++) {
		event = malloc(100);
		free(event);
	}
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	double span = argc > 2 ? atof(argv[2]) : 4, begin = seconds();

	while ((share = (seconds() - begin) / span) < 1) {
		turn(argv[1]);
		usleep(TURN_US);
	}
	/* What is freed at the end is not what is asked for. */
	_exit(0);
}
