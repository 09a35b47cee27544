/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * store.c - finds and makes blocks, through one directory per kind.
 *
 * The directories lie in .bss and are never walked beyond the highest index in use: pages of them
 * that were not touched cost nothing.  Two threads, or a thread and its signal handler, may make the
 * same block at once; compare-and-swap decides and the loser gives its block back.
 */
#include "libpmem/store.h"

#include <string.h>

#include "libpmem/loss.h"
#include "libpmem/place.h"
#include "libpmem/store_file.h"
#include "libpmem/sys.h"

static _Atomic(void *) directory[FORMAT_KINDS][FORMAT_BLOCKS_MAX];
static _Atomic uint32_t limits[FORMAT_KINDS]; /* indexes in use are below */
static _Atomic size_t block_count;
static struct format_first_block *without_file; /* immutable after the first store_begin() */

static void raise_limit(enum format_kind kind, uint32_t index)
{
	uint32_t limit = atomic_load_explicit(&limits[kind], memory_order_relaxed);

	while (limit <= index &&
	       !atomic_compare_exchange_weak_explicit(&limits[kind], &limit, index + 1,
						      memory_order_relaxed, memory_order_relaxed))
		;
}

static __attribute__((noinline, cold)) void *make_block(enum format_kind kind, uint32_t index)
{
	struct store_file_block made;
	void *there = NULL;

	if (!store_file_take(&made)) {
		loss_add(FORMAT_LOSS_MEMORY, 1);
		return NULL;
	}
	/* Before the block can be found: store_fork_child() must not overlook it. */
	raise_limit(kind, index);
	/* Release: pairs with the acquire in store_find(). */
	if (!atomic_compare_exchange_strong_explicit(&directory[kind][index], &there, made.bytes,
						     memory_order_acq_rel, memory_order_acquire)) {
		store_file_give_back(&made);
		return there;
	}
	atomic_fetch_add_explicit(&block_count, 1, memory_order_relaxed);
	store_file_name(&made, (uint32_t)kind << FORMAT_INDEX_BITS | index);
	return made.bytes;
}

void *store_find(enum format_kind kind, uint32_t index)
{
	if (index >= FORMAT_BLOCKS_MAX)
		return NULL;
	/* Acquire: pairs with the release in make_block(). */
	return atomic_load_explicit(&directory[kind][index], memory_order_acquire);
}

void *store_block(enum format_kind kind, uint32_t index)
{
	void *block = store_find(kind, index);

	if (__builtin_expect(block != NULL, 1))
		return block;
	if (index >= FORMAT_BLOCKS_MAX) {
		loss_add(FORMAT_LOSS_MEMORY, 1);
		return NULL;
	}
	return make_block(kind, index);
}

/* The place for size bytes behind those in use: not across a block's end. */
static uint32_t text_place(uint32_t used, size_t size)
{
	uint32_t room = FORMAT_BLOCK_SIZE - used % FORMAT_BLOCK_SIZE;

	return size > room ? used + room : used;
}

char *store_text_room(size_t size, struct format_text *text)
{
	_Atomic uint32_t *next = &store_head()->text_size;
	uint32_t used = atomic_load_explicit(next, memory_order_relaxed), at;
	char *block;

	if (size + 1 > FORMAT_BLOCK_SIZE)
		return NULL;
	do {
		at = text_place(used, size + 1);
		block = store_block(FORMAT_TEXT, at / FORMAT_BLOCK_SIZE);
		if (!block)
			return NULL;
	} while (!atomic_compare_exchange_weak_explicit(
		next, &used, at + (uint32_t)size + 1, memory_order_relaxed, memory_order_relaxed));
	*text = (struct format_text){.offset = at, .size = (uint32_t)size};
	return block + at % FORMAT_BLOCK_SIZE;
}

struct format_text store_text(const void *bytes, size_t size)
{
	struct format_text text = {0};
	char *room = size ? store_text_room(size, &text) : NULL;

	if (room)
		memcpy(room, bytes, size);
	return text;
}

size_t store_size(void)
{
	return atomic_load_explicit(&block_count, memory_order_relaxed) * FORMAT_BLOCK_SIZE;
}

void store_flush(uint32_t max)
{
	store_file_flush(max);
}

const char *store_path(void)
{
	return store_file_path();
}

void store_abandon(void)
{
	store_file_abandon();
}

void store_reserve(void)
{
	store_file_reserve();
}

void store_before_fork(void)
{
	store_file_before_fork();
}

void store_after_fork(void)
{
	store_file_after_fork();
}

void store_detach(void)
{
	store_file_detach();
}

static void fill_layout(struct format_header *head)
{
	head->version = FORMAT_VERSION;
	head->byte_order = FORMAT_BYTE_ORDER;
	head->header_size = FORMAT_HEADER_SIZE;
	head->block_size = FORMAT_BLOCK_SIZE;
	head->blocks_max = FORMAT_BLOCKS_MAX;
	head->image = place_suffix();
}

void store_begin(void)
{
	struct format_first_block *first;

	if (!without_file)
		without_file = store_first;
	first = store_file_begin(without_file);
	if (first)
		store_first = first;
	fill_layout(store_head());
}

void store_fork_child(void)
{
	struct format_first_block *first = without_file ? without_file : store_first;

	for (int kind = 0; kind < FORMAT_KINDS; kind++) {
		uint32_t limit = atomic_load_explicit(&limits[kind], memory_order_relaxed);

		for (uint32_t index = 0; index < limit; index++)
			atomic_store_explicit(&directory[kind][index], NULL, memory_order_relaxed);
		atomic_store_explicit(&limits[kind], 0, memory_order_relaxed);
	}
	atomic_store_explicit(&block_count, 0, memory_order_relaxed);
	/* With the directory: the parent may have had no other block 0 than this. */
	memset(first, 0, sizeof(*first));
	store_first = first;
	store_file_fork_child();
}
