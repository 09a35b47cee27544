/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * histogram.h - sizes of all blocks, and lifetimes of sampled blocks, per call stack, in powers of two.
 *
 * Shared by all threads (never one per thread).  A call stack whose blocks all fall into one size
 * class costs nothing but a comparison: tree_stack.sizes then is that class + 1 and the counters give the
 * number.  The first block of another class makes a histogram in the store (tree_stack.sizes =
 * HISTOGRAM_FLAG | first class << 24 | index): it holds the blocks of every class but the first one, whose
 * number is the call stack's alloc_count minus the others.
 */
#ifndef PMEM_LIBPMEM_HISTOGRAM_H
#define PMEM_LIBPMEM_HISTOGRAM_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libpmem/tree.h"

enum {
	HISTOGRAM_CLASSES = 24,
	HISTOGRAM_SIZE_SHIFT = 3, /* size class 0: up to 8 bytes, then up to 16, 32 ...; the last is open */
	HISTOGRAM_LIFETIME_SHIFT = 10, /* lifetime class 0: up to 1,024 ns, then 2,048 ...; the last is open */
};

#define HISTOGRAM_FLAG 0x80000000u

struct histogram {
	_Atomic uint64_t counts[HISTOGRAM_CLASSES];
};

/* The class of value: 0 if value <= 1 << shift, else one more for each doubling. */
static inline uint32_t histogram_class(uint64_t value, uint32_t shift)
{
	uint32_t bits;

	if (value <= (uint64_t)1 << shift)
		return 0;
	bits = 64 - (uint32_t)__builtin_clzll(value - 1) - shift;
	return bits < HISTOGRAM_CLASSES ? bits : HISTOGRAM_CLASSES - 1;
}

/* A block of class size_class was allocated there, and it is not the one class seen so far. */
void histogram_size_slow(struct tree_stack *stack, uint32_t size_class);

/* Counts a block of size bytes allocated at *stack. */
static inline void histogram_size(struct tree_stack *stack, size_t size)
{
	uint32_t size_class = histogram_class(size, HISTOGRAM_SIZE_SHIFT);
	uint32_t sizes = __atomic_load_n((uint32_t *)&stack->sizes, __ATOMIC_RELAXED);

	if (__builtin_expect(sizes != size_class + 1, 0) &&
	    !((sizes & HISTOGRAM_FLAG) && (sizes >> 24 & 0x7f) == size_class))
		histogram_size_slow(stack, size_class);
}

/* A sampled block of *stack lived for lifetime_ns. Counts LOSS_SAMPLES if there is no memory. */
void histogram_lifetime(struct tree_stack *stack, uint64_t lifetime_ns);

/* Any thread: the number of blocks of each class; alloc_count is the call stack's.  Exact when quiet. */
void histogram_read_sizes(const struct tree_stack *stack, uint64_t alloc_count,
			  uint64_t counts[HISTOGRAM_CLASSES]);
void histogram_read_lifetimes(const struct tree_stack *stack, uint64_t counts[HISTOGRAM_CLASSES]);

void histogram_fork_child(void);

#endif
