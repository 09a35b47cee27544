/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * counters.h - what each thread allocated and freed at each call stack.
 *
 * One counter per (thread, call-stack id), written by its owner only, with plain increments; readers
 * sum over all threads.  An allocation is counted (release) before its pointer is returned, a free
 * (release) before the real free(); readers sum all threads' free fields first, then (acquire) the
 * alloc fields: live is never negative.
 *
 * A counter (struct format_counter) is 32 bytes.  The one that would overflow 32 bits becomes wide: its epoch is
 * FORMAT_EPOCH_WIDE for good, its other fields stay as they were, and its numbers go on in a 64-bit
 * record (index in peak_bytes), on the slow path that a foreign epoch takes anyway.
 *
 * Peak: when the process reaches a new peak only the global epoch grows (peak.h).  A counter whose
 * epoch is old first saves its live value, which is its share of that peak, before it changes.
 */
#ifndef PMEM_LIBPMEM_COUNTERS_H
#define PMEM_LIBPMEM_COUNTERS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/format.h"

enum { COUNTERS_CHUNKS_PER_BLOCK = 8 };

/* All counters of one thread. */
struct counters {
	_Atomic(struct format_counter *) *chunks; /* by stack id / FORMAT_CHUNK; NULL = none */
	uint32_t chunks_size;			  /* entries in chunks; immutable */
	uint32_t thread;			  /* index of its struct format_thread; immutable */
};

/* Sums over threads. Live = alloc - free; the differences of one thread alone may be negative. */
struct counter_totals {
	uint64_t alloc_count;
	uint64_t alloc_bytes;
	uint64_t free_count;
	uint64_t free_bytes;
	uint64_t temporary_count;
	int64_t peak_count; /* share of the process's peak */
	int64_t peak_bytes;
};

/* Makes an empty set of thread's (index in FORMAT_THREADS) for ids up to max_id, with the chunk of the fixed ids (TREE_STACK_SIGNAL ...)
 * in place.  Returns false when memory is exhausted. */
bool counters_init(struct counters *counters, uint32_t thread, uint32_t max_id);

/* Gives the set's own memory back, before it was ever used. */
void counters_drop(struct counters *counters);

/* The slow paths of the functions below: the chunk is missing; the epoch differs, or a number would
 * not fit into 32 bits. */
struct format_counter *counters_get_slow(struct counters *counters, uint32_t stack_id);
void counter_alloc_slow(struct format_counter *counter, size_t size, uint32_t epoch);
void counter_free_slow(struct format_counter *counter, size_t size, uint32_t epoch);
void counter_temporary_slow(struct format_counter *counter);

/* As counter_alloc(), counter_free() and counter_temporary(), for so many blocks of size bytes together. */
void counter_alloc_many(struct format_counter *counter, size_t size, uint64_t blocks,
			uint32_t epoch);
void counter_free_many(struct format_counter *counter, size_t size, uint64_t blocks, uint32_t epoch);
void counter_temporary_many(struct format_counter *counter, uint64_t blocks);

/* The counter of a call stack (stack_id <= max_id), made at its first use; NULL when memory is
 * exhausted (counted as FORMAT_LOSS_MEMORY).  Owner only. */
static inline struct format_counter *counters_get(struct counters *counters, uint32_t stack_id)
{
	struct format_counter **slot = (struct format_counter **)&counters
					       ->chunks[stack_id / FORMAT_CHUNK];
	struct format_counter *chunk = __atomic_load_n(slot, __ATOMIC_RELAXED);

	if (__builtin_expect(!chunk, 0))
		return counters_get_slow(counters, stack_id);
	return &chunk[stack_id % FORMAT_CHUNK];
}

/* The fast halves of the two below: false: nothing was done, as the counter needs the slow one. */
static inline bool counter_alloc_fast(struct format_counter *counter, size_t size, uint32_t epoch)
{
	uint64_t bytes = __atomic_load_n((uint32_t *)&counter->alloc_bytes, __ATOMIC_RELAXED) +
			 (uint64_t)size;
	uint64_t count = __atomic_load_n((uint32_t *)&counter->alloc_count, __ATOMIC_RELAXED) +
			 (uint64_t)1;
	uint32_t differs = __atomic_load_n((uint32_t *)&counter->epoch, __ATOMIC_RELAXED) ^ epoch;

	if (__builtin_expect(((bytes | count) >> 32 | differs) != 0, 0))
		return false;
	__atomic_store_n((uint32_t *)&counter->alloc_bytes, (uint32_t)bytes, __ATOMIC_RELEASE);
	__atomic_store_n((uint32_t *)&counter->alloc_count, (uint32_t)count, __ATOMIC_RELEASE);
	return true;
}

static inline bool counter_free_fast(struct format_counter *counter, size_t size, uint32_t epoch)
{
	uint64_t bytes = __atomic_load_n((uint32_t *)&counter->free_bytes, __ATOMIC_RELAXED) +
			 (uint64_t)size;
	uint64_t count = __atomic_load_n((uint32_t *)&counter->free_count, __ATOMIC_RELAXED) +
			 (uint64_t)1;
	uint32_t differs = __atomic_load_n((uint32_t *)&counter->epoch, __ATOMIC_RELAXED) ^ epoch;

	if (__builtin_expect(((bytes | count) >> 32 | differs) != 0, 0))
		return false;
	__atomic_store_n((uint32_t *)&counter->free_bytes, (uint32_t)bytes, __ATOMIC_RELEASE);
	__atomic_store_n((uint32_t *)&counter->free_count, (uint32_t)count, __ATOMIC_RELEASE);
	return true;
}

/* Counts a block of size bytes (< 2^63).  Owner only.  epoch is peak_epoch() read before. */
static inline void counter_alloc(struct format_counter *counter, size_t size, uint32_t epoch)
{
	if (!counter_alloc_fast(counter, size, epoch))
		counter_alloc_slow(counter, size, epoch);
}

static inline void counter_free(struct format_counter *counter, size_t size, uint32_t epoch)
{
	if (!counter_free_fast(counter, size, epoch))
		counter_free_slow(counter, size, epoch);
}

/* The counter of a call stack if it exists, else NULL.  Owner only. */
static inline struct format_counter *counters_find(const struct counters *counters,
						   uint32_t stack_id)
{
	struct format_counter **slot = (struct format_counter **)&counters
					       ->chunks[stack_id / FORMAT_CHUNK];
	struct format_counter *chunk = __atomic_load_n(slot, __ATOMIC_RELAXED);

	return __builtin_expect(chunk != NULL, 1) ? &chunk[stack_id % FORMAT_CHUNK] : NULL;
}

/* As counter_temporary(), right after counter_free_fast() returned true. */
static inline void counter_temporary_fast(struct format_counter *counter)
{
	uint32_t count = __atomic_load_n((uint32_t *)&counter->temporary_count, __ATOMIC_RELAXED);

	__atomic_store_n((uint32_t *)&counter->temporary_count, count + 1, __ATOMIC_RELAXED);
}

/* The block that is being freed is a temporary one.  Cannot overflow before alloc_count does. */
static inline void counter_temporary(struct format_counter *counter)
{
	uint32_t count = __atomic_load_n((uint32_t *)&counter->temporary_count, __ATOMIC_RELAXED);

	if (__builtin_expect(__atomic_load_n((uint32_t *)&counter->epoch, __ATOMIC_RELAXED) ==
				     FORMAT_EPOCH_WIDE,
			     0))
		counter_temporary_slow(counter);
	else
		__atomic_store_n((uint32_t *)&counter->temporary_count, count + 1, __ATOMIC_RELAXED);
}

/* Any thread.  Add this thread's fields of stack_id to *totals.  Call _frees for all threads before
 * _allocs for any.  _peak adds the shares of the peak that epoch, peak_epoch() read before, belongs to:
 * they are of one moment if peak_epoch() is still the same after the last call. */
void counters_read_frees(const struct counters *counters, uint32_t stack_id,
			 struct counter_totals *totals);
void counters_read_allocs(const struct counters *counters, uint32_t stack_id,
			  struct counter_totals *totals);
void counters_read_peak(const struct counters *counters, uint32_t stack_id, uint32_t epoch,
			struct counter_totals *totals);

/* True if this thread has a chunk that contains stack_id: lets readers skip FORMAT_CHUNK ids at once. */
bool counters_has_chunk(const struct counters *counters, uint32_t stack_id);

#endif
