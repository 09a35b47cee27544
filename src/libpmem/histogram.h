/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * histogram.h - sizes of all blocks, and lifetimes of sampled blocks, per call stack, in powers of two.
 *
 * Shared by all threads (never one per thread).  A call stack whose blocks all fall into one size
 * class costs nothing but a comparison: tree_stack.sizes then is that class + 1 and the counters give the
 * number.  The first block of another class makes a histogram in the store (tree_stack.sizes =
 * FORMAT_SIZES_MANY | first class << 24 | index): it holds the blocks of every class but the first one, whose
 * number is the call stack's alloc_count minus the others.
 */
#ifndef PMEM_LIBPMEM_HISTOGRAM_H
#define PMEM_LIBPMEM_HISTOGRAM_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/format.h"
#include "libpmem/tree.h"

/* The class of value: 0 if value <= 1 << shift, else one more for each doubling. */
static inline uint32_t histogram_class(uint64_t value, uint32_t shift)
{
	uint32_t bits;

	if (value <= (uint64_t)1 << shift)
		return 0;
	bits = 64 - (uint32_t)__builtin_clzll(value - 1) - shift;
	return bits < FORMAT_CLASSES ? bits : FORMAT_CLASSES - 1;
}

/* Blocks of class size_class were allocated there, and it is not the one class seen so far. */
void histogram_size_slow(struct format_stack *stack, uint32_t size_class, uint64_t blocks);

/* Counts blocks of size bytes each allocated at *stack. */
static inline void histogram_sizes(struct format_stack *stack, size_t size, uint64_t blocks)
{
	uint32_t size_class = histogram_class(size, FORMAT_SIZE_SHIFT);
	uint32_t sizes = __atomic_load_n((uint32_t *)&stack->sizes, __ATOMIC_RELAXED);

	if (__builtin_expect(sizes != size_class + 1, 0) &&
	    !((sizes & FORMAT_SIZES_MANY) && (sizes >> 24 & 0x7f) == size_class))
		histogram_size_slow(stack, size_class, blocks);
}

/* Whether blocks of that size need not be counted there: they are of the class of the first one. */
static inline bool histogram_is_first_size(const struct format_stack *stack, size_t size)
{
	uint32_t sizes = __atomic_load_n((const uint32_t *)&stack->sizes, __ATOMIC_RELAXED);
	uint32_t first = sizes & FORMAT_SIZES_MANY ? sizes >> 24 & 0x7f : sizes - 1;

	return sizes && first == histogram_class(size, FORMAT_SIZE_SHIFT);
}

/* Counts one. */
static inline void histogram_size(struct format_stack *stack, size_t size)
{
	histogram_sizes(stack, size, 1);
}

/* A sampled block of *stack, which stands for so many blocks, lived for lifetime_ns. Counts FORMAT_LOSS_SAMPLES if there is no memory. */
void histogram_lifetimes(struct format_stack *stack, uint64_t lifetime_ns, uint64_t blocks);

static inline void histogram_lifetime(struct format_stack *stack, uint64_t lifetime_ns)
{
	histogram_lifetimes(stack, lifetime_ns, 1);
}

/* Any thread: the number of blocks of each class; alloc_count is the call stack's.  Exact when quiet. */
void histogram_read_sizes(const struct format_stack *stack, uint64_t alloc_count,
			  uint64_t counts[FORMAT_CLASSES]);
void histogram_read_lifetimes(const struct format_stack *stack, uint64_t counts[FORMAT_CLASSES]);

#endif
