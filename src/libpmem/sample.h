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
 * Between draws an allocation touches a counter of its thread's, and a free asks sample_pages.h.  Without sampling nothing of this is
 * ever reached: THREAD_SAMPLES keeps events from the fast path, see record.h.
 */
#ifndef PMEM_LIBPMEM_SAMPLE_H
#define PMEM_LIBPMEM_SAMPLE_H
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

#define SAMPLE_MEAN_MAX ((uint64_t)1 << 30)

#endif
