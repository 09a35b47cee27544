/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * failures.c - see failures.h.
 *
 * Two threads that fail at once may make two items for one call stack: readers add up.
 */
#include "libpmem/failures.h"

#include <stdatomic.h>

#include "core/format.h"
#include "libpmem/loss.h"
#include "libpmem/store.h"

static uint64_t get(const _Atomic uint64_t *from)
{
	return atomic_load_explicit(from, memory_order_relaxed);
}

static uint32_t in_use(void)
{
	return atomic_load_explicit(&store_head()->failure_count, memory_order_relaxed);
}

static struct format_failure *item_at(uint32_t index)
{
	return store_item(FORMAT_FAILURES, sizeof(struct format_failure), index);
}

/* The item's, complete; 0: it is being made. */
static uint32_t owner_of(const struct format_failure *item)
{
	/* Acquire: what was first. */
	return item ? atomic_load_explicit(&item->stack_id, memory_order_acquire) : 0;
}

static struct format_failure *find(uint32_t stack_id)
{
	for (uint32_t i = 0; i < in_use(); i++)
		if (owner_of(item_at(i)) == stack_id)
			return item_at(i);
	return NULL;
}

static struct format_failure *make(uint32_t stack_id, size_t size)
{
	struct format_failure *item;
	uint32_t index;

	if (in_use() >= FAILURES_MAX)
		return NULL;
	item = store_take(FORMAT_FAILURES, sizeof(*item), &store_head()->failure_count, &index);
	if (!item)
		return NULL;
	item->first_ns = store_time();
	item->first_bytes = size;
	/* Release: pairs with owner_of(), and with readers of the profile. */
	atomic_store_explicit(&item->stack_id, stack_id, memory_order_release);
	return item;
}

/* Without a wrap: malloc(-1) is asked for by mistake more than once. */
static void add(_Atomic uint64_t *to, uint64_t value)
{
	uint64_t old = get(to);

	while (!atomic_compare_exchange_weak_explicit(
		to, &old, value > UINT64_MAX - old ? UINT64_MAX : old + value, memory_order_relaxed,
		memory_order_relaxed))
		;
}

static void raise(_Atomic uint64_t *to, uint64_t value)
{
	uint64_t old = get(to);

	while (old < value && !atomic_compare_exchange_weak_explicit(
				      to, &old, value, memory_order_relaxed, memory_order_relaxed))
		;
}

void failures_count(uint32_t stack_id, size_t size)
{
	struct format_failure *item = find(stack_id);

	if (!item)
		item = make(stack_id, size);
	if (!item) {
		loss_add(FORMAT_LOSS_FAILURES, 1);
		return;
	}
	add(&item->count, 1);
	add(&item->bytes, size);
	raise(&item->largest_bytes, size);
	raise(&item->last_ns, store_time());
}

static uint64_t plus(uint64_t a, uint64_t b)
{
	return b > UINT64_MAX - a ? UINT64_MAX : a + b;
}

void failures_sum(struct failures_sum *sum)
{
	*sum = (struct failures_sum){.count = loss_count(FORMAT_LOSS_FAILURES)};
	for (uint32_t i = 0; i < in_use(); i++) {
		const struct format_failure *item = item_at(i);
		uint32_t id = owner_of(item);

		if (!id)
			continue;
		sum->count = plus(sum->count, get(&item->count));
		sum->bytes = plus(sum->bytes, get(&item->bytes));
		if (sum->first_id && sum->first_ns <= item->first_ns)
			continue;
		sum->first_id = id;
		sum->first_ns = item->first_ns;
		sum->first_bytes = item->first_bytes;
	}
}
