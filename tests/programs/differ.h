/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * differ.h - what the parts of differ.c share: a player, which runs one sequence of operations on blocks of its own.
 */
#ifndef PMEM_TESTS_DIFFER_H
#define PMEM_TESTS_DIFFER_H
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <stdint.h>

#define NOINLINE __attribute__((noinline))

enum {
	SLOTS = 600, /* blocks that a player has at most */
	HANDED = 16, /* of them, handed to the next one after each round */
	PLAYERS = 16,
	CHECKS = 1024, /* digests that it prints at most */
};

/* The functions that call the allocator: the allocation sites, in a profile. */
enum site {
	BY_MALLOC,
	BY_CALLOC,
	BY_REALLOC,
	BY_REALLOCARRAY,
	BY_POSIX_MEMALIGN,
	BY_ALIGNED_ALLOC,
	BY_MEMALIGN,
	BY_VALLOC,
	BY_PVALLOC,
	BY_STRDUP,
	BY_ASPRINTF, /* grows its block in ways of its own: what is live is known, what was allocated is not */
	PAST_HOOKS,
	SITES,
};

struct block {
	unsigned char *at;
	size_t size;   /* as requested */
	size_t usable; /* of which all is written */
	uint64_t tag;  /* what it is filled with */
	enum site site;
};

struct sum {
	uint64_t alloc_bytes, alloc_blocks, free_bytes, free_blocks;
};

/* What the program saw of one operation. */
struct seen {
	const char *name;
	size_t a, b;
	const void *block; /* only NULL or not is seen */
	int error;	   /* errno afterwards */
	uint64_t more;	   /* usable size, return value ... */
};

struct player {
	uint64_t random, digest;
	struct seen seen; /* of the operation at work */
	struct block slots[SLOTS];
	struct block handed[2][HANDED]; /* in even and odd rounds */
	struct sum sums[SITES];
	uint64_t checks[CHECKS];
	int check_count;
	long check_every; /* operations */
	long done, todo;
	int number;
	pthread_t thread;
	sem_t go, ready;
	int is_last; /* the thread's last round */
};

/* The program's arguments, see differ.c. */
struct options {
	long seed, operations, threads, turns, usable, least, far, odd, fresh, perturb, checked,
		from, to;
};

extern struct options options;
extern struct player players[PLAYERS];
extern const char *const site_names[SITES];

/* differ_player.c */

/* The next pseudo-random number; one below limit. */
uint64_t draw(struct player *p);
uint64_t below(struct player *p, uint64_t limit);

/* Arguments, now and then strange ones, and a value that errno has before the call. */
size_t possible_size(struct player *p);
size_t size_of(struct player *p);
size_t alignment_of(struct player *p);
int odd_errno(struct player *p);

/* Says what is wrong with the operation at work, and ends the program. */
__attribute__((noreturn)) void wrong(const struct player *p, const char *what);

/* Whether the first size bytes are as *block was filled, which may be elsewhere now. */
int holds(const struct block *block, size_t size);
int all(const unsigned char *at, size_t size, unsigned char byte);

/* Into the digest: a value; the operation p->seen. */
void mix(struct player *p, uint64_t value);
void note(struct player *p);

/* One of the slots. */
struct block *slot(struct player *p);
/* An empty slot: whatever is in the one that was drawn goes first. */
struct block *room(struct player *p, enum site site);
/* result is what a call with these arguments returned just now. */
void keep(struct player *p, struct block *block, void *result, struct seen seen);
/* A block was got: sums it, checks what holds of all, fills it. */
void got(struct player *p, struct block *block, size_t alignment);
/* The block was freed. */
void gone(struct player *p, struct block *block);
/* Frees it. */
void release(struct player *p, struct block *block);

/* differ_calls.c: any operation. */
void do_something(struct player *p);

#endif
