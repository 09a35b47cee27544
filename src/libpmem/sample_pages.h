/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sample_pages.h - while sampling, in which pages recorded blocks begin.
 *
 * A free looks here before it looks into the live table: pages are fewer than blocks, and what tells of them stays in the CPU's nearest
 * cache where the table would not.  Pages share a number, so a page may look as if it had a recorded block where it has none; never
 * the other way round.
 */
#ifndef PMEM_LIBPMEM_SAMPLE_PAGES_H
#define PMEM_LIBPMEM_SAMPLE_PAGES_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "libpmem/live_table.h"

enum { SAMPLE_PAGE_LOG2 = 12, SAMPLE_PAGES = 1 << 16, SAMPLE_PAGE_FULL = UINT8_MAX };

/* How many recorded blocks are live in the pages of that number modulo SAMPLE_PAGES; SAMPLE_PAGE_FULL: so many at one time or more, for good. */
extern _Atomic uint8_t sample_pages[SAMPLE_PAGES] __attribute__((visibility("hidden")));

static inline _Atomic uint8_t *sample_pages_of(uintptr_t addr)
{
	return &sample_pages[addr >> SAMPLE_PAGE_LOG2 & (SAMPLE_PAGES - 1)];
}

/* Once, before the first event.  While sampling is on, NULL and blocks in [start, end), the boot arena, look as if they may have been
 * recorded: who is told no need not ask for them. */
void sample_pages_init(uintptr_t start, uintptr_t end);

/* False: the block at addr, which the caller owns, was not recorded.  Relaxed, for who owns a block got it from whoever put it into the
 * table: what happened there happened before. */
static inline bool sample_pages_may_hold(uintptr_t addr)
{
	return atomic_load_explicit(sample_pages_of(addr), memory_order_relaxed) != 0;
}

/* As live_table_put() and live_table_take(); while sampling is on the block's page knows.  Nobody owns the block but the caller. */
enum live_put sample_pages_put(const struct live_block *block, struct live_block *stale);
bool sample_pages_take(uintptr_t addr, struct live_block *block);

/* In a forked child: none is recorded yet. */
void sample_pages_fork_child(void);

#endif
