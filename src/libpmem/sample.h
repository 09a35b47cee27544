/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sample.h - sampling mode: of the bytes that are allocated, one in settings.sample on average is drawn, and the block it lies
 * in is recorded.
 *
 * The draws are a Poisson process over the bytes of each thread: a block of size bytes is recorded with probability
 * p = 1 - exp(-size / mean), whatever came before.  It then stands for 1 / p blocks and size / p bytes (Horvitz and Thompson):
 * sums of these are unbiased, of the live bytes as of those allocated.  What a block stands for follows from its address, size and time of
 * birth, so that its free takes off what its allocation added.
 *
 * Between draws an event touches a counter of its thread's, and a free looks whether a recorded block may lie in its page: pages are
 * fewer than blocks, and what tells of them stays in the CPU's nearest cache where the live table would not.  Without sampling nothing
 * of this is ever reached: THREAD_SAMPLES keeps events from the fast path, see record.h.
 */
#ifndef PMEM_LIBPMEM_SAMPLE_H
#define PMEM_LIBPMEM_SAMPLE_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libpmem/settings.h"

/* What one recorded block stands for. */
struct sample_weight {
	uint64_t blocks; /* at least 1 */
	size_t bytes;
};

/* Bytes that the calling thread allocates before the next draw falls. */
extern __thread int64_t sample_left
	__attribute__((visibility("hidden"), tls_model("initial-exec")));

static inline bool sample_is_on(void)
{
	return settings.sample != 0;
}

/* The calling thread allocated size bytes; 0 counts as 1, so that such blocks are estimated too.  False: a draw may have fallen into
 * them, nothing was done: sample_takes() is next. */
static inline bool sample_passes(size_t size)
{
	/* A block that no int64_t holds does not exist. */
	int64_t left = sample_left - (int64_t)(size + !size);

	if (__builtin_expect(left <= 0, 0))
		return false;
	sample_left = left;
	return true;
}

/* The calling thread allocated size bytes.  True: the block is recorded. */
bool sample_takes(size_t size);

/* What the recorded block of size bytes, at addr since birth_ns, stands for.  birth_ns 0, where there was no
 * memory to remember it: rounded down, so that never more is taken off than was added. */
struct sample_weight sample_weigh_drawn(uintptr_t addr, size_t size, uint64_t birth_ns);

/* The same; without sampling a block stands for itself. */
static inline struct sample_weight sample_weigh(uintptr_t addr, size_t size, uint64_t birth_ns)
{
	if (__builtin_expect(sample_is_on(), 0))
		return sample_weigh_drawn(addr, size, birth_ns);
	return (struct sample_weight){.blocks = 1, .bytes = size};
}

/* The distance to the next draw, 1 or more: exponentially distributed with that mean (1 to SAMPLE_MEAN_MAX), for a random number with 64
 * bits; the longest is 45 times the mean. */
uint64_t sample_distance(uint64_t random, uint64_t mean);

enum { SAMPLE_PAGE_LOG2 = 12, SAMPLE_PAGES = 1 << 16, SAMPLE_PAGE_FULL = UINT8_MAX };

/* How many recorded blocks are live in the pages of that number modulo SAMPLE_PAGES; SAMPLE_PAGE_FULL: so many at one time or more, for good. */
extern _Atomic uint8_t sample_pages[SAMPLE_PAGES] __attribute__((visibility("hidden")));

/* Once, before the first event.  NULL and blocks in [start, end), the boot arena, look as if they may have been recorded: who is told no
 * need not ask for them. */
void sample_init(uintptr_t start, uintptr_t end);

/* False: the block at addr, which the caller owns, was not recorded. */
static inline bool sample_may_hold(uintptr_t addr)
{
	return atomic_load_explicit(&sample_pages[addr >> SAMPLE_PAGE_LOG2 & (SAMPLE_PAGES - 1)],
				    memory_order_relaxed) != 0;
}

/* While sampling is on: the block at addr was recorded, and its owner does not know it yet; is recorded no longer. */
void sample_page_add(uintptr_t addr);
void sample_page_remove(uintptr_t addr);

/* In a forked child: none is recorded yet. */
void sample_fork_child(void);

#define SAMPLE_MEAN_MAX ((uint64_t)1 << 30)

#endif
