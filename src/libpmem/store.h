/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * store.h - where everything that the profile holds is kept: the profile itself.
 *
 * Memory comes in blocks of FORMAT_BLOCK_SIZE, named (kind, index) and zeroed; a block never moves and
 * is never given back.  A module that keeps an array here splits its index into block and offset.  Blocks are
 * parts of the profile's file, mapped (store_file.h); where the file cannot grow they are private memory, which
 * store_flush() copies to the file if it can.  Any thread may call, also inside a signal handler: no lock.
 */
#ifndef PMEM_LIBPMEM_STORE_H
#define PMEM_LIBPMEM_STORE_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/format.h"
#include "libpmem/sys.h"

/* Block 0.  Before store_begin(), and where there is no file, private memory. */
extern struct format_first_block *store_first __attribute__((visibility("hidden")));

static inline struct format_header *store_head(void)
{
	return &store_first->header;
}

/* Now, in the profile's time. */
static inline uint64_t store_time(void)
{
	return sys_monotonic_ns() - store_head()->start_monotonic_ns;
}

/* Makes the file, with what was counted before in its header.  Once, while there is one thread, before
 * any block. */
void store_begin(void);

/* The block, made at its first use.  Returns NULL (and counts FORMAT_LOSS_MEMORY) when memory is exhausted
 * or index is not below FORMAT_BLOCKS_MAX. */
void *store_block(enum format_kind kind, uint32_t index);

enum { STORE_PART = 512 };

/* Blocks with an index below STORE_PART, by kind; and where to ask for one with another. */
extern _Atomic(void *) store_first_part[FORMAT_KINDS][STORE_PART]
	__attribute__((visibility("hidden")));
void *store_find_further(enum format_kind kind, uint32_t index);

/* The block if it exists, else NULL.  Acquire: what was published before the block's index was
 * handed over can be read. */
static inline void *store_find(enum format_kind kind, uint32_t index)
{
	/* Acquire: pairs with the release in make_block(). */
	if (__builtin_expect(index < STORE_PART, 1))
		return atomic_load_explicit(&store_first_part[kind][index], memory_order_acquire);
	return store_find_further(kind, index);
}

/* Takes the next item of an array of items of size bytes in kind: *next counts those taken, and grows
 * only if there is memory.  Stores its index; returns NULL as store_block() does. */
static inline void *store_take(enum format_kind kind, size_t size, _Atomic uint32_t *next,
			       uint32_t *index)
{
	uint32_t per_block = (uint32_t)(FORMAT_BLOCK_SIZE / size);
	uint32_t number = atomic_load_explicit(next, memory_order_relaxed);
	char *block;

	do {
		block = store_block(kind, number / per_block);
		if (!block)
			return NULL;
	} while (!atomic_compare_exchange_weak_explicit(
		next, &number, number + 1, memory_order_relaxed, memory_order_relaxed));
	*index = number;
	return block + number % per_block * size;
}

/* Item index of such an array, which was taken before; NULL if the block does not exist. */
static inline void *store_item(enum format_kind kind, size_t size, uint32_t index)
{
	uint32_t per_block = (uint32_t)(FORMAT_BLOCK_SIZE / size);
	char *block = store_find(kind, index / per_block);

	return block ? block + index % per_block * size : NULL;
}

/* Room for size bytes and a NUL in FORMAT_TEXT, which stays the caller's to fill: NULL if there is no memory, or for
 * more than a block. */
char *store_text_room(size_t size, struct format_text *text);

/* A copy of size bytes; size 0 in the result: no room. */
struct format_text store_text(const void *bytes, size_t size);

/* As store_item(), made if need be; NULL as store_block().  For an array that one thread writes. */
static inline void *store_place(enum format_kind kind, size_t size, uint32_t index)
{
	uint32_t per_block = (uint32_t)(FORMAT_BLOCK_SIZE / size);
	char *block = store_block(kind, index / per_block);

	return block ? block + index % per_block * size : NULL;
}

/* Bytes in blocks so far. */
size_t store_size(void);

/* Copies blocks that are private memory into the file, as far as it can grow, at most max of them, round and
 * round.  Does nothing if another thread is at it. */
void store_flush(uint32_t max);

/* Gives back the disk that a small profile does not need.  Once nobody can write to it any more: a write to a page of zeros could
 * be a SIGBUS on a full disk. */
void store_trim(void);

/* Absolute path of the file, or its name if that is not known; "" = none. */
const char *store_path(void);

/* Before the program enters a sandbox: grows the file by what may be needed there. */
void store_reserve(void);

/* Around a fork() inside an event, which will go on in the child too: its blocks become private. */
void store_before_fork(void);
void store_after_fork(void); /* in the parent */
void store_detach(void);     /* in the child */

/* This process is forked and has no profile: the nearest ancestor that has one counts it (FORMAT_LOSS_CHILDREN). */
void store_count_lost_child(void);

/* Recording could not begin: deletes the file. */
void store_abandon(void);

/* Forgets the parent's blocks (they stay mapped: copies may still be in use up the stack); without a file until
 * store_begin(). */
void store_fork_child(void);

#endif
