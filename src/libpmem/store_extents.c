/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * store_extents.c - see store_extents.h.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* MREMAP_FIXED */
#endif
#include "libpmem/store_extents.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "core/format.h"
#include "libpmem/lock.h"
#include "libpmem/sys.h"

enum { EXTENTS_MAX = 2048 };

struct extent {
	_Atomic(void *) bytes;
	uint32_t blocks;
	void *copy; /* of forker: between store_extents_copy() and what follows it */
};

static struct extent extents[EXTENTS_MAX];
static _Atomic uint32_t extent_count;
static _Atomic uintptr_t forker; /* lock_self() of the thread that has copies; 0 = none */

static size_t size_of(const struct extent *extent)
{
	return (size_t)extent->blocks * FORMAT_BLOCK_SIZE;
}

static uint32_t count_now(void)
{
	uint32_t count = atomic_load_explicit(&extent_count, memory_order_relaxed);

	return count < EXTENTS_MAX ? count : EXTENTS_MAX;
}

void store_extents_keep(void *bytes, uint32_t blocks)
{
	uint32_t index = atomic_fetch_add_explicit(&extent_count, 1, memory_order_relaxed);

	if (index >= EXTENTS_MAX)
		return;
	extents[index].blocks = blocks;
	/* Release: the size; pairs with the acquire in store_extents_copy(). */
	atomic_store_explicit(&extents[index].bytes, bytes, memory_order_release);
}

/* Two threads may fork() at once.  The second one goes without copies: its child shares the parent's blocks. */
static bool become_forker(void)
{
	uintptr_t none = 0;

	return atomic_compare_exchange_strong_explicit(&forker, &none, lock_self(),
						       memory_order_acquire, memory_order_relaxed);
}

static bool is_forker(void)
{
	return atomic_load_explicit(&forker, memory_order_relaxed) == lock_self();
}

void store_extents_copy(void)
{
	if (!become_forker())
		return;
	for (uint32_t i = 0; i < count_now(); i++) {
		void *bytes = atomic_load_explicit(&extents[i].bytes, memory_order_acquire);

		extents[i].copy = bytes ? sys_map(size_of(&extents[i])) : NULL;
		if (extents[i].copy)
			memcpy(extents[i].copy, bytes, size_of(&extents[i]));
	}
}

void store_extents_drop_copies(void)
{
	if (!is_forker())
		return;
	for (uint32_t i = 0; i < count_now(); i++) {
		if (extents[i].copy)
			sys_unmap(extents[i].copy, size_of(&extents[i]));
		extents[i].copy = NULL;
	}
	atomic_store_explicit(&forker, 0, memory_order_release);
}

void store_extents_detach(void)
{
	if (!is_forker())
		return;
	for (uint32_t i = 0; i < count_now(); i++) {
		long size = (long)size_of(&extents[i]);
		long bytes = (long)atomic_load_explicit(&extents[i].bytes, memory_order_relaxed);

		if (extents[i].copy)
			arch_syscall6(SYS_mremap, (long)extents[i].copy, size, size,
				      MREMAP_MAYMOVE | MREMAP_FIXED, bytes, 0);
		extents[i].copy = NULL;
	}
	atomic_store_explicit(&forker, 0, memory_order_relaxed);
}

void store_extents_forget(void)
{
	uint32_t count = count_now();

	for (uint32_t i = 0; i < count; i++)
		extents[i] = (struct extent){.blocks = 0};
	atomic_store_explicit(&extent_count, 0, memory_order_relaxed);
	atomic_store_explicit(&forker, 0, memory_order_relaxed);
}
