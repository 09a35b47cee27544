/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * histogram.h - sizes of all blocks, and lifetimes of sampled blocks, per call stack, in powers of two.
 *
 * Shared by all threads (never one per thread; but see recent_sizes.h).  A call stack whose blocks all fall into one size
 * class costs nothing but a comparison: tree_stack.sizes then is that class + 1 and the counters give the
 * number.  The first block of another class makes a histogram in the store (tree_stack.sizes =
 * FORMAT_SIZES_MANY | first class << 24 | index): it holds the blocks of every class but the first one, whose
 * number is the call stack's alloc_count minus the others.
 */
#ifndef PMEM_LIBPMEM_HISTOGRAM_H
#define PMEM_LIBPMEM_HISTOGRAM_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/format.h"
#include "libpmem/store.h"
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

enum { HISTOGRAM_INDEX = 0xffffff }; /* in tree_stack.sizes */

/* glibc >= 2.32: 0 as soon as a second thread may exist. */
extern char __libc_single_threaded __attribute__((weak));

/* Where a histogram counts a class; NULL: there is no such histogram. */
static inline _Atomic uint64_t *histogram_count(uint32_t index, uint32_t class)
{
	struct format_histogram *histogram = store_item(FORMAT_HISTOGRAMS,
							sizeof(struct format_histogram), index);

	return histogram ? &histogram->counts[class] : NULL;
}

/* Nobody else counts there. */
static inline void histogram_add_alone(_Atomic uint64_t *count, uint64_t blocks)
{
	atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + blocks,
			      memory_order_relaxed);
}

/* While the process has one thread a plain increment does; a signal handler between its load and store, or a thread that
 * libc does not know of, can cost what one addition adds here, never a counter's. */
static inline void histogram_add(_Atomic uint64_t *count, uint64_t blocks)
{
	if (&__libc_single_threaded && __libc_single_threaded)
		histogram_add_alone(count, blocks);
	else
		atomic_fetch_add_explicit(count, blocks, memory_order_relaxed);
}

/* Adds blocks to a class of a histogram, if there is that. */
static inline void histogram_add_to(uint32_t index, uint32_t class, uint64_t blocks)
{
	_Atomic uint64_t *count = histogram_count(index, class);

	if (count)
		histogram_add(count, blocks);
}

/* Adds blocks of another class than the first to *stack's histogram, which there is. */
void histogram_add_others(const struct format_stack *stack, uint32_t size_class, uint64_t blocks);

/* Blocks of class size_class were allocated there, and there is no histogram yet. */
void histogram_size_first(struct format_stack *stack, uint32_t size_class, uint64_t blocks);

/* Counts blocks of size bytes each allocated at *stack. */
static inline void histogram_sizes(struct format_stack *stack, size_t size, uint64_t blocks)
{
	uint32_t size_class = histogram_class(size, FORMAT_SIZE_SHIFT);
	/* Acquire: pairs with the release in make_sizes(). */
	uint32_t sizes = atomic_load_explicit(&stack->sizes, memory_order_acquire);

	if (sizes == size_class + 1)
		return;
	if (!(sizes & FORMAT_SIZES_MANY))
		histogram_size_first(stack, size_class, blocks);
	else if ((sizes >> 24 & 0x7f) != size_class)
		histogram_add_to(sizes & HISTOGRAM_INDEX, size_class, blocks);
}

/* Where a block of size bytes that was allocated there has to be counted, apart from the call stack's blocks.  NULL: nowhere, or
 * histogram_sizes() has to look for it. */
static inline _Atomic uint64_t *histogram_other_size(const struct format_stack *stack, size_t size)
{
	uint32_t size_class = histogram_class(size, FORMAT_SIZE_SHIFT);
	/* Acquire: as above. */
	uint32_t sizes = atomic_load_explicit(&stack->sizes, memory_order_acquire);

	if (!(sizes & FORMAT_SIZES_MANY) || (sizes >> 24 & 0x7f) == size_class)
		return NULL;
	return histogram_count(sizes & HISTOGRAM_INDEX, size_class);
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
