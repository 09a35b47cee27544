/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pair.c - CPU time of one malloc() + free() pair at a given depth of the call stack.
 *
 * Usage: pair [-p PATTERN] [-t THREADS] [-n PAIRS] [-r ROUNDS] [-s SIZE] DEPTH
 *
 *   same      one call site (default)
 *   leaves    eight functions in turn
 *   sizes     one call site, blocks of eight sizes in turn: SIZE, 2 * SIZE, ... 8 * SIZE
 *   tree      a function that calls itself twice: no call stack comes again soon
 *   handover  the block is freed by another thread
 *
 * Prints the median and the least of ROUNDS (31) rounds of PAIRS (200,000) pairs in each of THREADS (1) threads, with blocks of SIZE (64) bytes,
 * in nanoseconds of CPU time for each pair.  DEPTH is the number of frames at malloc(), with the C library's start;
 * threads have one less, and leaves and trees at least one more.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	ROUNDS_MAX = 1000,
	THREADS_MAX = 256,
	LEAVES = 8,
	SIZES = 8,
	TREE_DEPTH = 18,
	RING = 256,
	/* The C library's three, main(), measure() and the pattern. */
	OUTER_FRAMES = 6,
};

struct ring {
	void *_Atomic blocks[RING];
	long count; /* of pairs, when its producer has ended */
};

static size_t size = 64; /* of a block */
static long pairs = 200000;
static long round_count = 31;
static int depth;
static long (*pattern)(struct ring *ring);
static struct ring rings[THREADS_MAX];

static __attribute__((noinline)) void keep(void *block)
{
	__asm__ volatile("" : : "r"(block) : "memory");
}

static long run_same(struct ring *ring)
{
	long i;

	(void)ring;
	for (i = 0; i < pairs; i++) {
		void *block = malloc(size);

		keep(block);
		free(block);
	}
	return pairs;
}

static long run_sizes(struct ring *ring)
{
	long i;

	(void)ring;
	for (i = 0; i < pairs; i++) {
		void *block = malloc(size * (size_t)(1 + i % SIZES));

		keep(block);
		free(block);
	}
	return pairs;
}

#define LEAF(n)                                              \
	static __attribute__((noinline)) void leaf_##n(void) \
	{                                                    \
		volatile char frame[8 + (n)*8];              \
		void *block = malloc(size);                  \
                                                             \
		frame[n] = 1;                                \
		keep(block);                                 \
		keep((void *)&frame[0]);                     \
		free(block);                                 \
	}
LEAF(0)
LEAF(1)
LEAF(2)
LEAF(3)
LEAF(4)
LEAF(5)
LEAF(6)
LEAF(7)

static long run_leaves(struct ring *ring)
{
	static void (*const leaves[LEAVES])(void) = {leaf_0, leaf_1, leaf_2, leaf_3,
						     leaf_4, leaf_5, leaf_6, leaf_7};
	long i;

	(void)ring;
	for (i = 0; i < pairs; i++)
		leaves[i % LEAVES]();
	return pairs;
}

static __attribute__((noinline)) long grow_tree(int height)
{
	void *block = malloc(size);
	long count = 1;

	keep(block);
	if (height > 0) {
		count += grow_tree(height - 1);
		count += grow_tree(height - 2);
	}
	free(block);
	return count;
}

static long run_tree(struct ring *ring)
{
	long count = 0;

	(void)ring;
	while (count < pairs)
		count += grow_tree(TREE_DEPTH);
	return count;
}

/* Puts blocks into the ring for the consumer of the same number. */
static long run_handover(struct ring *ring)
{
	long i;

	for (i = 0; i < pairs; i++) {
		void *_Atomic *place = &ring->blocks[i % RING];

		while (atomic_load_explicit(place, memory_order_acquire))
			sched_yield();
		atomic_store_explicit(place, malloc(size), memory_order_release);
	}
	return pairs;
}

static void *consume(void *arg)
{
	struct ring *ring = arg;
	long i;

	for (i = 0; i < pairs; i++) {
		void *_Atomic *place = &ring->blocks[i % RING];
		void *block;

		while (!(block = atomic_load_explicit(place, memory_order_acquire)))
			sched_yield();
		atomic_store_explicit(place, NULL, memory_order_release);
		free(block);
	}
	return NULL;
}

static __attribute__((noinline)) long measure(struct ring *ring)
{
	long count = pattern(ring);

	__asm__ volatile("");
	return count;
}

/* Frames of different sizes, so that their slots do not lie at one distance. */
static __attribute__((noinline)) long descend(int levels, struct ring *ring)
{
	volatile char small[24], large[88];
	long count;

	small[levels % 24] = large[levels % 88] = 1;
	count = levels <= 0 ? measure(ring) : descend(levels - 1, ring);
	return count + small[0] * 0 + large[0] * 0;
}

static void *produce(void *arg)
{
	struct ring *ring = arg;

	ring->count = descend(depth - OUTER_FRAMES - 1, ring);
	return NULL;
}

static double cpu_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* Of one round, for each pair. */
static double round_single(void)
{
	double start = cpu_ns();
	long count = descend(depth - OUTER_FRAMES - 1, NULL);

	return (cpu_ns() - start) / (double)count;
}

static double round_threads(int threads)
{
	pthread_t producers[THREADS_MAX], consumers[THREADS_MAX];
	double start = cpu_ns();
	long count = 0;
	int i;

	for (i = 0; i < threads; i++) {
		if (pthread_create(&producers[i], NULL, produce, &rings[i]) != 0)
			abort();
		if (pattern == run_handover &&
		    pthread_create(&consumers[i], NULL, consume, &rings[i]) != 0)
			abort();
	}
	for (i = 0; i < threads; i++) {
		pthread_join(producers[i], NULL);
		if (pattern == run_handover)
			pthread_join(consumers[i], NULL);
		count += rings[i].count;
	}
	return (cpu_ns() - start) / (double)count;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void set_pattern(const char *name)
{
	static const struct {
		const char *name;
		long (*run)(struct ring *ring);
	} patterns[] = {
		{"same", run_same}, {"leaves", run_leaves},	{"sizes", run_sizes},
		{"tree", run_tree}, {"handover", run_handover},
	};
	size_t i;

	for (i = 0; i < sizeof(patterns) / sizeof(*patterns); i++)
		if (strcmp(patterns[i].name, name) == 0)
			pattern = patterns[i].run;
}

int main(int argc, char **argv)
{
	static double rounds[ROUNDS_MAX];
	long threads = 1, i;
	int option;

	pattern = run_same;
	while ((option = getopt(argc, argv, "p:t:n:r:s:")) != -1) {
		if (option == 'p')
			set_pattern(optarg);
		else if (option == 't')
			threads = atol(optarg);
		else if (option == 'n')
			pairs = atol(optarg);
		else if (option == 'r')
			round_count = atol(optarg);
		else if (option == 's')
			size = strtoul(optarg, NULL, 0);
		else
			return 2;
	}
	depth = optind < argc ? atoi(argv[optind]) : 20;
	if (threads < 1 || threads > THREADS_MAX || pairs < 1 || round_count < 1 ||
	    round_count > ROUNDS_MAX)
		return 2;
	for (i = 0; i < round_count; i++)
		rounds[i] = threads == 1 && pattern != run_handover ? round_single()
								    : round_threads((int)threads);
	qsort(rounds, (size_t)round_count, sizeof(*rounds), compare);
	printf("%.2f %.2f\n", rounds[round_count / 2], rounds[0]);
	return 0;
}
