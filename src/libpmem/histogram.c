/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * histogram.c - the cold half of histogram.h.
 *
 * tree_stack.sizes goes from 0 to one class to a histogram, tree_stack.lifetimes from 0 to a histogram,
 * each step once, by compare-and-swap; a thread that comes too late uses what is there, and the
 * histogram it took stays empty.  Where there is no memory for a histogram of sizes the blocks count as ones of the
 * first class.
 */
#include "libpmem/histogram.h"

#include <assert.h>
#include <stdatomic.h>

#include "libpmem/loss.h"
#include "libpmem/store.h"

static_assert(FORMAT_BLOCKS_MAX *(FORMAT_BLOCK_SIZE / sizeof(struct format_histogram)) <=
		      HISTOGRAM_INDEX,
	      "the store has fewer histograms than an index can name");

/* Takes an empty histogram.  Returns its index, 0 if there is no memory. */
static uint32_t take(void)
{
	uint32_t index;

	if (!store_take(FORMAT_HISTOGRAMS, sizeof(struct format_histogram),
			&store_head()->histogram_count, &index))
		return 0;
	/* 0 means none. */
	if (index == 0 && !store_take(FORMAT_HISTOGRAMS, sizeof(struct format_histogram),
				      &store_head()->histogram_count, &index))
		return 0;
	return index;
}

static struct format_histogram *find(uint32_t index)
{
	return store_item(FORMAT_HISTOGRAMS, sizeof(struct format_histogram), index);
}

/* Gives a call stack, whose blocks were all of the class in sizes so far, a histogram.  Returns the new
 * tree_stack.sizes, 0 if there is no memory. */
static uint32_t make_sizes(struct format_stack *stack, uint32_t sizes)
{
	uint32_t index = take();
	uint32_t made = FORMAT_SIZES_MANY | (sizes - 1) << 24 | index;

	if (!index)
		return 0;
	/* Release: pairs with the acquire in histogram_sizes() and histogram_read_sizes(). */
	if (atomic_compare_exchange_strong_explicit(&stack->sizes, &sizes, made,
						    memory_order_acq_rel, memory_order_acquire))
		return made;
	return sizes;
}

/* Another thread may just have made it. */
__attribute__((noinline)) void histogram_size_first(struct format_stack *stack, uint32_t size_class,
						    uint64_t blocks)
{
	uint32_t sizes = atomic_load_explicit(&stack->sizes, memory_order_acquire);

	if (sizes == 0 &&
	    atomic_compare_exchange_strong_explicit(&stack->sizes, &sizes, size_class + 1,
						    memory_order_acquire, memory_order_acquire))
		return;
	if (sizes == size_class + 1)
		return;
	if (!(sizes & FORMAT_SIZES_MANY))
		sizes = make_sizes(stack, sizes);
	if (sizes && (sizes >> 24 & 0x7f) != size_class)
		histogram_add_to(sizes & HISTOGRAM_INDEX, size_class, blocks);
}

void histogram_add_others(const struct format_stack *stack, uint32_t size_class, uint64_t blocks)
{
	uint32_t sizes = atomic_load_explicit(&stack->sizes, memory_order_acquire);

	histogram_add_to(sizes & HISTOGRAM_INDEX, size_class, blocks);
}

void histogram_lifetimes(struct format_stack *stack, uint64_t lifetime_ns, uint64_t blocks)
{
	uint32_t index = atomic_load_explicit(&stack->lifetimes, memory_order_acquire);
	uint32_t made;

	if (index == 0) {
		made = take();
		if (!made) {
			loss_add(FORMAT_LOSS_SAMPLES, 1);
			return;
		}
		/* Release: pairs with the acquire above and in histogram_read_lifetimes(). */
		if (atomic_compare_exchange_strong_explicit(&stack->lifetimes, &index, made,
							    memory_order_acq_rel,
							    memory_order_acquire))
			index = made;
	}
	histogram_add_to(index, histogram_class(lifetime_ns, FORMAT_LIFETIME_SHIFT), blocks);
}

/* Fills counts[] from the histogram, all 0 if there is none.  Returns the sum. */
static uint64_t read_counts(uint32_t index, uint64_t counts[FORMAT_CLASSES])
{
	const struct format_histogram *histogram = index ? find(index) : NULL;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < FORMAT_CLASSES; i++) {
		counts[i] = 0;
		if (histogram)
			counts[i] = atomic_load_explicit(&histogram->counts[i],
							 memory_order_relaxed);
		sum += counts[i];
	}
	return sum;
}

void histogram_read_sizes(const struct format_stack *stack, uint64_t alloc_count,
			  uint64_t counts[FORMAT_CLASSES])
{
	uint32_t sizes = atomic_load_explicit(&stack->sizes, memory_order_acquire);
	bool many = (sizes & FORMAT_SIZES_MANY) != 0;
	uint64_t others = read_counts(many ? sizes & HISTOGRAM_INDEX : 0, counts);
	uint32_t first;

	if (sizes == 0)
		return;
	first = many ? sizes >> 24 & 0x7f : sizes - 1;
	/* alloc_count may have been read before the others were counted. */
	counts[first] = alloc_count > others ? alloc_count - others : 0;
}

void histogram_read_lifetimes(const struct format_stack *stack, uint64_t counts[FORMAT_CLASSES])
{
	read_counts(atomic_load_explicit(&stack->lifetimes, memory_order_acquire), counts);
}
