/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stress_truth.c - the sites of stress.c, and what they allocated and what was freed of it.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stress.h"

#define SITE __attribute__((noinline, noclone))

enum { PLACES = 512, MAGIC = 0x5a17 };

struct head {
	uint16_t magic, site;
	uint32_t size;
	uintptr_t self;
};

struct sum {
	_Atomic uint64_t alloc_bytes, alloc_blocks, free_bytes, free_blocks;
} __attribute__((aligned(64)));

static struct sum sums[SITES];
static _Atomic(void *) places[PLACES];

static const char *const names[SITES] = {
	[AT_PLAIN] = "at_plain",     [AT_ZEROED] = "at_zeroed", [AT_ALIGNED] = "at_aligned",
	[AT_GROWN] = "at_grown",     [AT_SHORT] = "at_short",	[AT_KEY] = "at_key",
	[AT_HANDLER] = "at_handler", [AT_THROW] = "at_throw",	[AT_JUMP] = "at_jump",
	[AT_FIBER] = "at_fiber",     [AT_PLUGIN] = "at_plugin",
};

SITE static void *at_plain(size_t size)
{
	return malloc(size);
}

SITE static void *at_zeroed(size_t size)
{
	return calloc(1, size);
}

SITE static void *at_aligned(size_t size)
{
	return memalign((size_t)32 << size % 5, size);
}

SITE static void *at_grown(void *block, size_t size)
{
	return realloc(block, size);
}

SITE static void *at_short(size_t size)
{
	return malloc(size);
}

SITE static void *at_key(size_t size)
{
	return malloc(size);
}

SITE static void *at_handler(size_t size)
{
	return malloc(size);
}

SITE static void *at_throw(size_t size)
{
	return malloc(size);
}

SITE static void *at_jump(size_t size)
{
	return malloc(size);
}

SITE static void *at_fiber(size_t size)
{
	return malloc(size);
}

static void *(*const sites[SITES])(size_t) = {
	[AT_PLAIN] = at_plain, [AT_ZEROED] = at_zeroed, [AT_ALIGNED] = at_aligned,
	[AT_SHORT] = at_short, [AT_KEY] = at_key,	[AT_HANDLER] = at_handler,
	[AT_THROW] = at_throw, [AT_JUMP] = at_jump,	[AT_FIBER] = at_fiber,
};

static void add(_Atomic uint64_t *sum, uint64_t value)
{
	atomic_fetch_add_explicit(sum, value, memory_order_relaxed);
}

static size_t least(size_t size)
{
	return size < SIZE_MIN ? SIZE_MIN : size;
}

void *stress_adopt(enum site site, void *block, size_t size)
{
	struct head *head = block;

	if (!block)
		stress_fail("no memory");
	if (site == AT_ZEROED && (head->self || head->size))
		stress_fail("calloc() gave memory that is not zero");
	head->magic = MAGIC;
	head->site = (uint16_t)site;
	head->size = (uint32_t)size;
	head->self = (uintptr_t)block;
	add(&sums[site].alloc_bytes, size);
	add(&sums[site].alloc_blocks, 1);
	return block;
}

void *stress_alloc(enum site site, size_t size)
{
	size = least(size);
	return stress_adopt(site, sites[site](size), size);
}

/* The block leaves its site. */
static void discharge(void *block)
{
	struct head *head = block;

	if (head->magic != MAGIC || head->site >= SITES || head->self != (uintptr_t)block)
		stress_fail("a block is not what it was");
	head->magic = 0;
	add(&sums[head->site].free_bytes, head->size);
	add(&sums[head->site].free_blocks, 1);
}

void *stress_grow(void *block, size_t size)
{
	size = least(size);
	if (block)
		discharge(block);
	return stress_adopt(AT_GROWN, at_grown(block, size), size);
}

void stress_free(void *block)
{
	if (!block)
		return;
	discharge(block);
	free(block);
}

void *stress_swap(void *block, unsigned place)
{
	return atomic_exchange_explicit(&places[place % PLACES], block, memory_order_acq_rel);
}

void stress_print_sites(void)
{
	for (int i = 0; i < SITES; i++)
		printf("%s\"%s\": [%" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu64 "]",
		       i ? ", " : "", names[i], sums[i].alloc_bytes, sums[i].alloc_blocks,
		       sums[i].free_bytes, sums[i].free_blocks);
}
