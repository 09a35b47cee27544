/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * differ_player.c - random arguments, the content of blocks and the digest, see differ.c.
 */
#define _GNU_SOURCE
#include "differ.h"

#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	WHOLE = 20000, /* blocks up to this size are written and compared as a whole */
	EDGE = 256,    /* of larger ones: so much at either end */
};

extern void __libc_free(void *block) __attribute__((weak));

/* --- random numbers and arguments --- */

uint64_t draw(struct player *p)
{
	p->random += 0x9e3779b97f4a7c15u;
	uint64_t x = p->random;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

uint64_t below(struct player *p, uint64_t limit)
{
	return draw(p) % limit;
}

static size_t huge_size(struct player *p)
{
	switch (below(p, 5)) {
	case 0:
		return (size_t)PTRDIFF_MAX - 40 + below(p, 80);
	case 1:
		return SIZE_MAX - below(p, 5000);
	case 2:
		return SIZE_MAX - below(p, 40);
	case 3:
		return (size_t)1 << (47 + below(p, 17));
	default:
		return SIZE_MAX / (1 + below(p, 9));
	}
}

size_t possible_size(struct player *p)
{
	uint64_t kind = below(p, 1000);

	if (kind < 600)
		return below(p, 129);
	if (kind < 830)
		return below(p, 2048);
	if (kind < 900)
		return below(p, 16384);
	if (kind < 985)
		return ((size_t)1 << (5 + below(p, 12))) - 33 + below(p, 66);
	if (kind < 997)
		return 131072 - 100 + below(p, 4400); /* the least that glibc maps */
	return below(p, 3000000);
}

size_t size_of(struct player *p)
{
	size_t size = below(p, 80) == 0 ? huge_size(p) : possible_size(p);

	return size < (size_t)options.least ? (size_t)options.least : size;
}

size_t alignment_of(struct player *p)
{
	static const size_t odd[] = {0,
				     1,
				     2,
				     3,
				     4,
				     5,
				     12,
				     24,
				     48,
				     100,
				     1000,
				     4095,
				     (size_t)1 << 62,
				     SIZE_MAX / 2 + 1,
				     SIZE_MAX / 2 + 2,
				     SIZE_MAX};
	uint64_t kind = below(p, 8);

	if (kind == 0 && options.far >= 0)
		return odd[below(p, sizeof(odd) / sizeof(*odd))];
	if (kind == 1 && options.far > 0)
		return (size_t)1 << (13 + below(p, 9));
	return (size_t)8 << below(p, 10);
}

int odd_errno(struct player *p)
{
	static const int values[] = {0,	     1,	   EAGAIN, EINVAL,  ENOMEM,
				     ERANGE, 4095, -1,	   INT_MAX, INT_MIN};

	return values[below(p, sizeof(values) / sizeof(*values))];
}

/* --- content --- */

__attribute__((noreturn)) void wrong(const struct player *p, const char *what)
{
	printf("WRONG: thread %d operation %ld %s %zu %zu: %s\n", p->number, p->done, p->seen.name,
	       p->seen.a, p->seen.b, what);
	fflush(stdout);
	_exit(3);
}

static unsigned char byte_at(uint64_t tag, size_t i)
{
	return (unsigned char)((tag + i / 8) * 0x9e3779b97f4a7c15u >> (8 * (i % 8)));
}

static void write_range(const struct block *block, size_t from, size_t to)
{
	for (; from < to && from % 8; from++)
		block->at[from] = byte_at(block->tag, from);
	for (; from + 8 <= to; from += 8) {
		uint64_t word = (block->tag + from / 8) * 0x9e3779b97f4a7c15u;

		memcpy(block->at + from, &word, 8);
	}
	for (; from < to; from++)
		block->at[from] = byte_at(block->tag, from);
}

static int holds_range(const struct block *block, size_t from, size_t to)
{
	for (; from + 8 <= to && from % 8 == 0; from += 8) {
		uint64_t word = (block->tag + from / 8) * 0x9e3779b97f4a7c15u, have;

		memcpy(&have, block->at + from, 8);
		if (have != word)
			return 0;
	}
	for (; from < to; from++)
		if (block->at[from] != byte_at(block->tag, from))
			return 0;
	return 1;
}

static size_t tail_of(const struct block *block)
{
	return block->usable - EDGE;
}

/* Writes all that malloc_usable_size() allows. */
static void fill(struct player *p, struct block *block)
{
	block->tag = draw(p);
	if (block->usable <= WHOLE) {
		write_range(block, 0, block->usable);
		return;
	}
	write_range(block, 0, EDGE);
	write_range(block, tail_of(block), block->usable);
}

/* Whether the first size bytes are as *block, now perhaps elsewhere, was filled. */
int holds(const struct block *block, size_t size)
{
	if (block->usable <= WHOLE)
		return holds_range(block, 0, size);
	return holds_range(block, 0, size < EDGE ? size : EDGE) &&
	       (size <= tail_of(block) || holds_range(block, tail_of(block), size));
}

int all(const unsigned char *at, size_t size, unsigned char byte)
{
	return size == 0 || (at[0] == byte && memcmp(at, at + 1, size - 1) == 0);
}

/* --- what is seen --- */

void mix(struct player *p, uint64_t value)
{
	p->digest = (p->digest ^ value) * 0x100000001b3u;
	p->digest ^= p->digest >> 29;
}

/* The operation p->done, complete. */
void note(struct player *p)
{
	const struct seen *s = &p->seen;

	for (const char *c = s->name; *c; c++)
		mix(p, (unsigned char)*c);
	mix(p, s->a);
	mix(p, s->b);
	mix(p, s->block != NULL);
	mix(p, (uint64_t)s->error);
	mix(p, s->more);
	if (p->done >= options.from && p->done < options.to)
		printf("%d:%ld %s %zu %zu: %s errno %d, %llu\n", p->number, p->done, s->name, s->a,
		       s->b, s->block ? "block" : "NULL", s->error, (unsigned long long)s->more);
}

/* --- blocks --- */

struct block *slot(struct player *p)
{
	return &p->slots[below(p, SLOTS)];
}

/* A block was got: sums it, checks what holds of all, fills it. */
void got(struct player *p, struct block *block, size_t alignment)
{
	struct sum *sum = &p->sums[block->site];
	uintptr_t at = (uintptr_t)block->at;

	sum->alloc_bytes += block->size;
	sum->alloc_blocks++;
	block->usable = malloc_usable_size(block->at);
	if (block->usable < block->size)
		wrong(p, "usable size below the requested");
	if (options.far >= 0 && alignment && !(alignment & (alignment - 1)) && at % alignment)
		wrong(p, "not aligned");
	p->seen.more = options.usable ? block->usable * 2 + (at % 16 == 0) : 1;
	fill(p, block);
}

/* The block was freed. */
void gone(struct player *p, struct block *block)
{
	p->sums[block->site].free_bytes += block->size;
	p->sums[block->site].free_blocks++;
	block->at = NULL;
}

void release(struct player *p, struct block *block)
{
	if (block->at && !holds(block, block->usable))
		wrong(p, "content changed");
	p->seen = (struct seen){"free", block->at ? block->size : 0, 0, NULL, 0, 0};
	errno = odd_errno(p);
	if (options.odd == 2 && below(p, 20) == 0)
		__libc_free(block->at);
	else
		free(block->at);
	p->seen.error = errno;
	if (block->at)
		gone(p, block);
}

/* An empty slot: whatever is in the one that was drawn goes first. */
struct block *room(struct player *p, enum site site)
{
	struct block *block = slot(p);

	if (block->at) {
		release(p, block);
		note(p);
	}
	block->site = site;
	return block;
}

/* result is what a call with these arguments returned just now. */
void keep(struct player *p, struct block *block, void *result, struct seen seen)
{
	seen.error = errno;
	seen.block = result;
	p->seen = seen;
	block->at = result;
}
