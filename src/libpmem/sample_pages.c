/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sample_pages.c - see sample_pages.h.
 */
#include "libpmem/sample_pages.h"

#include <stddef.h>

#include "libpmem/sample.h"

_Atomic uint8_t sample_pages[SAMPLE_PAGES];

/* A number never passes through 0 while a block is there, whoever changes it at the same time. */
static void change(uintptr_t addr, int by)
{
	_Atomic uint8_t *page = sample_pages_of(addr);
	uint8_t count = atomic_load_explicit(page, memory_order_relaxed);

	while (count != SAMPLE_PAGE_FULL && count + by >= 0 &&
	       !atomic_compare_exchange_weak_explicit(page, &count, (uint8_t)(count + by),
						      memory_order_relaxed, memory_order_relaxed))
		;
}

static void fill(uintptr_t addr)
{
	atomic_store_explicit(sample_pages_of(addr), SAMPLE_PAGE_FULL, memory_order_relaxed);
}

void sample_pages_init(uintptr_t start, uintptr_t end)
{
	uintptr_t page = start >> SAMPLE_PAGE_LOG2;

	if (!sample_is_on())
		return;
	fill((uintptr_t)NULL);
	for (; page <= (end - 1) >> SAMPLE_PAGE_LOG2; page++)
		fill(page << SAMPLE_PAGE_LOG2);
}

enum live_put sample_pages_put(const struct live_block *block, struct live_block *stale)
{
	enum live_put done = live_table_put(block, stale);

	if (!sample_is_on())
		return done;
	if (done != LIVE_PUT_LOST)
		change(block->addr, 1);
	/* It may have begun in another page, where the new block goes on. */
	if (done == LIVE_PUT_STALE)
		change(stale->addr, -1);
	return done;
}

bool sample_pages_take(uintptr_t addr, struct live_block *block)
{
	bool known = live_table_take(addr, block);

	if (known && sample_is_on())
		change(addr, -1);
	return known;
}

void sample_pages_fork_child(void)
{
	uint32_t i;
	uint8_t count;

	/* Nothing is written where nothing was: most of the array is nowhere in memory. */
	for (i = 0; sample_is_on() && i < SAMPLE_PAGES; i++) {
		count = atomic_load_explicit(&sample_pages[i], memory_order_relaxed);
		if (count && count != SAMPLE_PAGE_FULL)
			atomic_store_explicit(&sample_pages[i], 0, memory_order_relaxed);
	}
}
