/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * differ.c - random sequences over the whole malloc family; two runs of one seed must print the same.
 *
 *   differ seed=1 operations=100000 [threads=0] [turns=1] [usable=1] [least=0] [far=0] [odd=0] [fresh=-1] [perturb=-1]
 *          [checked=0] [from=0 to=0]
 *
 * Of each operation goes into a running digest what the program can observe: block or NULL, errno (set to an odd value before), alignment,
 * usable size, whether the content is what it must be.  The digest is printed now and then, so that the first difference is found, and
 * from= to= print the operations of that range.  At the end: the bytes and blocks that each calling function got and that were freed of them.
 * Wrong content ends the program.
 *
 *   threads   0: all in main.  Else so many threads, which hand blocks to each other after each round
 *   turns     threads work one after the other, and the heap is the same in each run; 0: at the same time
 *   usable    1: the usable sizes and the state of the heap are part of the digest; 0: only that the block is large enough
 *   least     no block is smaller (an allocator other than glibc's gets small requests raised)
 *   far       1: alignments above a page, at which usable sizes depend on addresses; strange ones fail or not as the allocator likes.
 *             -1: only what every allocator takes, and alignment is not checked: jemalloc 5.3.0 does
 *             not align blocks of 0 bytes, mimalloc 2.0.9 once in a while others
 *   odd       1: some blocks are born past the hooks; 2: some are freed there too
 *   fresh     this byte fills each new block
 *   perturb   to be set as M_PERTURB
 *   checked   the C library's malloc checking is on, whose posix_memalign() sets the pointer when it fails
 */
#define _GNU_SOURCE
#include "differ.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	ROUND = 150,	 /* operations of a thread until it hands over */
	GENERATION = 20, /* rounds until all threads end and new ones begin */
};

struct options options = {
	.seed = 1, .operations = 100000, .turns = 1, .usable = 1, .fresh = -1, .perturb = -1};
struct player players[PLAYERS];
static long round_number;

const char *const site_names[SITES] = {
	"by_malloc",	     "by_calloc",	 "by_realloc",	"by_reallocarray",
	"by_posix_memalign", "by_aligned_alloc", "by_memalign", "by_valloc",
	"by_pvalloc",	     "by_strdup",	 "by_asprintf", "past_hooks",
};

/* --- threads --- */

/* Takes what the neighbour handed over in the last round. */
static void take_over(struct player *p)
{
	struct player *other = &players[(p->number + 1) % (options.threads ? options.threads : 1)];

	for (int i = 0; i < HANDED; i++) {
		struct block *from = &other->handed[(round_number + 1) % 2][i], *to = slot(p);

		if (!from->at)
			continue;
		if (to->at) {
			release(p, to);
			note(p);
		}
		*to = *from;
		from->at = NULL;
	}
}

static void hand_over(struct player *p)
{
	for (int i = 0; i < HANDED; i++) {
		struct block *from = slot(p);

		p->handed[round_number % 2][i] = *from;
		from->at = NULL;
	}
}

static void *play(void *argument)
{
	struct player *p = argument;
	int is_last;

	do {
		sem_wait(&p->go);
		is_last = p->is_last; /* it is set for the next round as soon as this one is ready */
		take_over(p);
		for (int i = 0; i < ROUND && p->done < p->todo; i++)
			do_something(p);
		hand_over(p);
		sem_post(&p->ready);
	} while (!is_last);
	return NULL;
}

/* Until the round is over: the last one ends with what libc frees at the end of the thread. */
static void wait_for(struct player *p)
{
	sem_wait(&p->ready);
	if (p->is_last)
		pthread_join(p->thread, NULL);
}

static void play_round(void)
{
	for (int i = 0; i < options.threads; i++) {
		sem_post(&players[i].go);
		if (options.turns)
			wait_for(&players[i]);
	}
	for (int i = 0; i < options.threads && !options.turns; i++)
		wait_for(&players[i]);
}

static NOINLINE void play_generation(void)
{
	pthread_attr_t small;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 128 * 1024);
	for (int i = 0; i < options.threads; i++) {
		players[i].is_last = 0;
		if (pthread_create(&players[i].thread, &small, play, &players[i]) != 0)
			exit(4);
	}
	for (int round = 0; round < GENERATION; round++, round_number++) {
		for (int i = 0; i < options.threads; i++)
			players[i].is_last = round == GENERATION - 1;
		play_round();
	}
	pthread_attr_destroy(&small);
}

/* --- beginning and end --- */

static void read_options(int argc, char **argv)
{
	static const struct {
		const char *name;
		long *value;
	} rows[] = {
		{"seed=", &options.seed},	{"operations=", &options.operations},
		{"threads=", &options.threads}, {"turns=", &options.turns},
		{"usable=", &options.usable},	{"least=", &options.least},
		{"far=", &options.far},		{"odd=", &options.odd},
		{"fresh=", &options.fresh},	{"perturb=", &options.perturb},
		{"checked=", &options.checked}, {"from=", &options.from},
		{"to=", &options.to},
	};

	for (int i = 1; i < argc; i++) {
		size_t row = 0, count = sizeof(rows) / sizeof(*rows);

		while (row < count && strncmp(argv[i], rows[row].name, strlen(rows[row].name)) != 0)
			row++;
		if (row == count || options.threads > PLAYERS) {
			fprintf(stderr, "differ: %s: unknown\n", argv[i]);
			exit(2);
		}
		*rows[row].value = atol(argv[i] + strlen(rows[row].name));
	}
}

static void print_checks(const struct player *p)
{
	for (int i = 0; i < p->check_count; i++)
		printf("thread %d after %ld: %016llx\n", p->number, (i + 1) * p->check_every,
		       (unsigned long long)p->checks[i]);
	printf("thread %d: %ld operations, %016llx\n", p->number, p->done,
	       (unsigned long long)p->digest);
}

static void print_sums(void)
{
	for (int site = 0; site < SITES; site++) {
		struct sum s = {0};

		for (int i = 0; i < PLAYERS; i++) {
			s.alloc_bytes += players[i].sums[site].alloc_bytes;
			s.alloc_blocks += players[i].sums[site].alloc_blocks;
			s.free_bytes += players[i].sums[site].free_bytes;
			s.free_blocks += players[i].sums[site].free_blocks;
		}
		printf("site %s %llu %llu %llu %llu\n", site_names[site],
		       (unsigned long long)s.alloc_bytes, (unsigned long long)s.alloc_blocks,
		       (unsigned long long)s.free_bytes, (unsigned long long)s.free_blocks);
	}
}

/* Half of the blocks stay. */
static void finish(struct player *p)
{
	for (int i = 0; i < SLOTS; i += 2) {
		release(p, &p->slots[i]);
		note(p);
	}
}

int main(int argc, char **argv)
{
	static char buffer[4096];
	int count;

	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	read_options(argc, argv);
	if (options.perturb >= 0)
		mallopt(M_PERTURB, (int)options.perturb);
	count = options.threads ? (int)options.threads : 1;
	for (int i = 0; i < count; i++) {
		struct player *p = &players[i];

		p->number = i;
		p->random = (uint64_t)options.seed * 1000003u + (uint64_t)i;
		p->todo = options.operations / count;
		p->check_every = p->todo / CHECKS < 1000 ? 1000 : p->todo / CHECKS + 1;
		sem_init(&p->go, 0, 0);
		sem_init(&p->ready, 0, 0);
	}
	while (options.threads && players[0].done < players[0].todo)
		play_generation();
	while (!options.threads && players[0].done < players[0].todo)
		do_something(&players[0]);
	for (int i = 0; i < count; i++) {
		finish(&players[i]);
		print_checks(&players[i]);
	}
	print_sums();
	return 0;
}
