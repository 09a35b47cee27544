/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * store.c - finds and makes blocks, through one directory per kind.
 *
 * The first part of each directory lies in .bss, the others are mapped when they are needed (lazy.h).  They are never walked
 * beyond the highest index in use.  Two threads, or a thread and its signal handler, may make the
 * same block at once; compare-and-swap decides and the loser gives its block back.
 */
#include "libpmem/store.h"

#include <assert.h>
#include <string.h>

#include "libpmem/lazy.h"
#include "libpmem/loss.h"
#include "libpmem/place.h"
#include "libpmem/store_file.h"
#include "libpmem/sys.h"

enum { FURTHER_PARTS = FORMAT_BLOCKS_MAX / STORE_PART };

static_assert(FORMAT_BLOCKS_MAX % STORE_PART == 0, "whole parts");
static_assert(STORE_PART * sizeof(void *) == 4096, "a part is a page");

_Atomic(void *) store_first_part[FORMAT_KINDS][STORE_PART];
static _Atomic(void *) further_parts[FORMAT_KINDS][FURTHER_PARTS]; /* [0] is not used */
static _Atomic uint32_t limits[FORMAT_KINDS];			   /* indexes in use are below */
static _Atomic size_t block_count;
static struct format_header *ancestor; /* the newest one in a file, while this process has none; NULL: none */
static struct format_first_block *without_file; /* immutable after the first store_begin() */

static void raise_limit(enum format_kind kind, uint32_t index)
{
	uint32_t limit = atomic_load_explicit(&limits[kind], memory_order_relaxed);

	while (limit <= index &&
	       !atomic_compare_exchange_weak_explicit(&limits[kind], &limit, index + 1,
						      memory_order_relaxed, memory_order_relaxed))
		;
}

/* The block's entry in the directory, or NULL: it was never made. */
static _Atomic(void *) *find_entry(enum format_kind kind, uint32_t index)
{
	_Atomic(void *) *part;

	if (__builtin_expect(index < STORE_PART, 1))
		return &store_first_part[kind][index];
	part = lazy_find(&further_parts[kind][index / STORE_PART]);
	return part ? &part[index % STORE_PART] : NULL;
}

/* The same, made if need be; NULL: no memory. */
static _Atomic(void *) *make_entry(enum format_kind kind, uint32_t index)
{
	_Atomic(void *) *part;

	if (index < STORE_PART)
		return &store_first_part[kind][index];
	part = lazy_part(&further_parts[kind][index / STORE_PART], STORE_PART * sizeof(*part));
	return part ? &part[index % STORE_PART] : NULL;
}

static __attribute__((noinline, cold)) void *make_block(enum format_kind kind, uint32_t index)
{
	_Atomic(void *) *entry = make_entry(kind, index);
	struct store_file_block made;
	void *there = NULL;

	if (!entry || !store_file_take(&made)) {
		loss_add(FORMAT_LOSS_MEMORY, 1);
		return NULL;
	}
	/* Before the block can be found: store_fork_child() must not overlook it. */
	raise_limit(kind, index);
	/* Release: pairs with the acquire in store_find(). */
	if (!atomic_compare_exchange_strong_explicit(entry, &there, made.bytes,
						     memory_order_acq_rel, memory_order_acquire)) {
		store_file_give_back(&made);
		return there;
	}
	atomic_fetch_add_explicit(&block_count, 1, memory_order_relaxed);
	store_file_name(&made, (uint32_t)kind << FORMAT_INDEX_BITS | index);
	return made.bytes;
}

__attribute__((noinline)) void *store_find_further(enum format_kind kind, uint32_t index)
{
	_Atomic(void *) *entry = index < FORMAT_BLOCKS_MAX ? find_entry(kind, index) : NULL;

	/* Acquire: pairs with the release in make_block(). */
	return entry ? atomic_load_explicit(entry, memory_order_acquire) : NULL;
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

void store_trim(void)
{
	store_file_trim();
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

void store_count_lost_child(void)
{
	if (ancestor)
		atomic_fetch_add_explicit(&ancestor->losses[FORMAT_LOSS_CHILDREN], 1,
					  memory_order_relaxed);
}

void store_fork_child(void)
{
	struct format_first_block *first = without_file ? without_file : store_first;

	for (int kind = 0; kind < FORMAT_KINDS; kind++) {
		uint32_t limit = atomic_load_explicit(&limits[kind], memory_order_relaxed);

		for (uint32_t index = 0; index < limit; index++) {
			_Atomic(void *) *entry = find_entry(kind, index);

			if (entry)
				atomic_store_explicit(entry, NULL, memory_order_relaxed);
		}
		atomic_store_explicit(&limits[kind], 0, memory_order_relaxed);
	}
	if (first != store_first)
		ancestor = store_head();
	atomic_store_explicit(&block_count, 0, memory_order_relaxed);
	/* With the directory: the parent may have had no other block 0 than this. */
	memset(first, 0, sizeof(*first));
	store_first = first;
	store_file_fork_child();
}
