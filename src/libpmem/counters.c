/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * counters.c - the cold half of counters.h: new chunks, the peak's shares, wide counters, reading.
 *
 * A counter has one writer, its owner; a handler that interrupts the owner has a struct counters of
 * its own.  The writer's order is what lets readers do without locks:
 *   share     epoch = FORMAT_EPOCH_CHANGING, peak fields, epoch = new (release); then the event's fields.
 *   widening  the record, epoch = FORMAT_EPOCH_CHANGING, peak_bytes = index, epoch = FORMAT_EPOCH_WIDE (release).
 * Where the record has no memory the narrow fields stop at their largest value and each event that
 * did not fit is a FORMAT_LOSS_EVENTS.
 */
#include "libpmem/counters.h"

#include <assert.h>
#include <stdatomic.h>

#include "libpmem/loss.h"
#include "libpmem/store.h"
#include "libpmem/sys.h"

#define COLD __attribute__((noinline, cold))

enum { CHUNK_SIZE = FORMAT_CHUNK * sizeof(struct format_counter), PAGE = 4096 };

static_assert(sizeof(struct format_counter) == 32, "a chunk is 2 KiB");
static_assert(sizeof(struct format_counter_wide) == 64, "a cache line");
static_assert(CHUNK_SIZE *COUNTERS_CHUNKS_PER_BLOCK == FORMAT_BLOCK_SIZE, "chunks fill a block");

static uint32_t get32(const _Atomic uint32_t *field)
{
	return atomic_load_explicit(field, memory_order_relaxed);
}

static uint64_t get64(const _Atomic uint64_t *field)
{
	return atomic_load_explicit(field, memory_order_relaxed);
}

static void add64(_Atomic uint64_t *field, uint64_t value)
{
	/* Release: counters_read_frees(). */
	atomic_store_explicit(field, get64(field) + value, memory_order_release);
}

static void set32(_Atomic uint32_t *field, uint64_t value)
{
	/* Release: counters_read_frees(). */
	atomic_store_explicit(field, (uint32_t)value, memory_order_release);
}

static void set32_saturated(_Atomic uint32_t *field, uint64_t value)
{
	set32(field, value < UINT32_MAX ? value : UINT32_MAX);
}

static int64_t live_bytes(const struct format_counter *counter)
{
	return (int64_t)get32(&counter->alloc_bytes) - (int64_t)get32(&counter->free_bytes);
}

static int64_t live_count(const struct format_counter *counter)
{
	return (int64_t)get32(&counter->alloc_count) - (int64_t)get32(&counter->free_count);
}

static int32_t clamp32(int64_t value)
{
	return (int32_t)(value < INT32_MIN ? INT32_MIN : value > INT32_MAX ? INT32_MAX : value);
}

/* The counter's record, or NULL if it is narrow. */
static struct format_counter_wide *wide_of(const struct format_counter *counter)
{
	/* Acquire: pairs with the release in widen(). */
	if (atomic_load_explicit(&counter->epoch, memory_order_acquire) != FORMAT_EPOCH_WIDE)
		return NULL;
	return store_item(FORMAT_WIDE, sizeof(struct format_counter_wide),
			  (uint32_t)atomic_load_explicit(&counter->peak_bytes, memory_order_relaxed));
}

static void fill_wide(struct format_counter_wide *wide, const struct format_counter *counter)
{
	atomic_store_explicit(&wide->alloc_count, get32(&counter->alloc_count),
			      memory_order_relaxed);
	atomic_store_explicit(&wide->free_count, get32(&counter->free_count), memory_order_relaxed);
	atomic_store_explicit(&wide->alloc_bytes, get32(&counter->alloc_bytes),
			      memory_order_relaxed);
	atomic_store_explicit(&wide->free_bytes, get32(&counter->free_bytes), memory_order_relaxed);
	atomic_store_explicit(&wide->temporary_count, get32(&counter->temporary_count),
			      memory_order_relaxed);
	atomic_store_explicit(&wide->peak_bytes,
			      atomic_load_explicit(&counter->peak_bytes, memory_order_relaxed),
			      memory_order_relaxed);
	atomic_store_explicit(&wide->peak_count,
			      atomic_load_explicit(&counter->peak_count, memory_order_relaxed),
			      memory_order_relaxed);
	atomic_store_explicit(&wide->epoch, get32(&counter->epoch), memory_order_relaxed);
}

/* Marks the peak fields that belong to epoch as being written; goes with end_change(). */
static void begin_change(_Atomic uint32_t *epoch)
{
	atomic_store_explicit(epoch, FORMAT_EPOCH_CHANGING, memory_order_relaxed);
	/* Who reads a new field reads this mark, or a later one, afterwards: read_shares(). */
	atomic_thread_fence(memory_order_release);
}

static void end_change(_Atomic uint32_t *epoch, uint32_t value)
{
	/* Release: pairs with the acquire in wide_of() and read_shares(). */
	atomic_store_explicit(epoch, value, memory_order_release);
}

static struct format_counter_wide *widen(struct format_counter *counter)
{
	uint32_t index;
	struct format_counter_wide *wide = store_take(FORMAT_WIDE, sizeof(*wide),
						      &store_head()->wide_count, &index);

	if (!wide) {
		loss_add(FORMAT_LOSS_EVENTS, 1);
		return NULL;
	}
	fill_wide(wide, counter);
	begin_change(&counter->epoch);
	atomic_store_explicit(&counter->peak_bytes, (int32_t)index, memory_order_relaxed);
	end_change(&counter->epoch, FORMAT_EPOCH_WIDE);
	return wide;
}

static void save_share(struct format_counter *counter, uint32_t epoch)
{
	begin_change(&counter->epoch);
	atomic_store_explicit(&counter->peak_bytes, clamp32(live_bytes(counter)),
			      memory_order_relaxed);
	atomic_store_explicit(&counter->peak_count, clamp32(live_count(counter)),
			      memory_order_relaxed);
	end_change(&counter->epoch, epoch);
}

static void save_share_wide(struct format_counter_wide *wide, uint32_t epoch)
{
	begin_change(&wide->epoch);
	atomic_store_explicit(&wide->peak_bytes,
			      (int64_t)(get64(&wide->alloc_bytes) - get64(&wide->free_bytes)),
			      memory_order_relaxed);
	atomic_store_explicit(&wide->peak_count,
			      (int64_t)(get64(&wide->alloc_count) - get64(&wide->free_count)),
			      memory_order_relaxed);
	end_change(&wide->epoch, epoch);
}

static bool shares_fit(const struct format_counter *counter)
{
	return clamp32(live_bytes(counter)) == live_bytes(counter) &&
	       clamp32(live_count(counter)) == live_count(counter);
}

/* Readies the counter for an event in epoch that sets no field to more than largest.  Returns the
 * record, or NULL if the counter is (for lack of memory: must remain) narrow. */
static struct format_counter_wide *prepare(struct format_counter *counter, uint32_t epoch,
					   uint64_t largest)
{
	struct format_counter_wide *wide = wide_of(counter);

	if (!wide && (largest > UINT32_MAX || !shares_fit(counter)))
		wide = widen(counter);
	if (wide && get32(&wide->epoch) != epoch)
		save_share_wide(wide, epoch);
	if (!wide && get32(&counter->epoch) != epoch)
		save_share(counter, epoch);
	return wide;
}

/* The common case: the counter is narrow, fits and only its epoch is old.  Returns false if not so. */
static inline bool renew(struct format_counter *counter, uint32_t epoch)
{
	int64_t bytes = live_bytes(counter), count = live_count(counter);

	/* Both from INT32_MIN to INT32_MAX. */
	if ((((uint64_t)bytes + (1u << 31)) | ((uint64_t)count + (1u << 31))) >> 32 != 0)
		return false;
	begin_change(&counter->epoch);
	atomic_store_explicit(&counter->peak_bytes, (int32_t)bytes, memory_order_relaxed);
	atomic_store_explicit(&counter->peak_count, (int32_t)count, memory_order_relaxed);
	end_change(&counter->epoch, epoch);
	return true;
}

/* A busy program's counters are wide for the rest of its life: the record of one that is, with its shares of the latest
 * peak saved. */
static inline struct format_counter_wide *ready_wide(const struct format_counter *counter,
						     uint32_t epoch)
{
	struct format_counter_wide *wide = store_item(
		FORMAT_WIDE, sizeof(*wide),
		(uint32_t)atomic_load_explicit(&counter->peak_bytes, memory_order_relaxed));

	if (__builtin_expect(get32(&wide->epoch) != epoch, 0))
		save_share_wide(wide, epoch);
	return wide;
}

COLD void counter_alloc_many(struct format_counter *counter, size_t size, uint64_t blocks,
			     uint32_t epoch)
{
	uint64_t bytes = get32(&counter->alloc_bytes) + (uint64_t)size;
	uint64_t count = get32(&counter->alloc_count) + blocks;
	struct format_counter_wide *wide = prepare(counter, epoch, bytes | count);

	if (wide) {
		add64(&wide->alloc_bytes, size);
		add64(&wide->alloc_count, blocks);
		return;
	}
	set32_saturated(&counter->alloc_bytes, bytes);
	set32_saturated(&counter->alloc_count, count);
}

COLD void counter_free_many(struct format_counter *counter, size_t size, uint64_t blocks,
			    uint32_t epoch)
{
	uint64_t bytes = get32(&counter->free_bytes) + (uint64_t)size;
	uint64_t count = get32(&counter->free_count) + blocks;
	struct format_counter_wide *wide = prepare(counter, epoch, bytes | count);

	if (wide) {
		add64(&wide->free_bytes, size);
		add64(&wide->free_count, blocks);
		return;
	}
	set32_saturated(&counter->free_bytes, bytes);
	set32_saturated(&counter->free_count, count);
}

__attribute__((noinline)) void counter_alloc_slow(struct format_counter *counter, size_t size,
						  uint32_t epoch)
{
	uint64_t bytes = get32(&counter->alloc_bytes) + (uint64_t)size;
	uint64_t count = get32(&counter->alloc_count) + (uint64_t)1;
	struct format_counter_wide *wide;

	if (get32(&counter->epoch) == FORMAT_EPOCH_WIDE) {
		wide = ready_wide(counter, epoch);
		add64(&wide->alloc_bytes, size);
		add64(&wide->alloc_count, 1);
		return;
	}
	if ((bytes | count) > UINT32_MAX || !renew(counter, epoch)) {
		counter_alloc_many(counter, size, 1, epoch);
		return;
	}
	set32(&counter->alloc_bytes, bytes);
	set32(&counter->alloc_count, count);
}

__attribute__((noinline)) void counter_free_slow(struct format_counter *counter, size_t size,
						 uint32_t epoch)
{
	uint64_t bytes = get32(&counter->free_bytes) + (uint64_t)size;
	uint64_t count = get32(&counter->free_count) + (uint64_t)1;
	struct format_counter_wide *wide;

	if (get32(&counter->epoch) == FORMAT_EPOCH_WIDE) {
		wide = ready_wide(counter, epoch);
		add64(&wide->free_bytes, size);
		add64(&wide->free_count, 1);
		return;
	}
	if ((bytes | count) > UINT32_MAX || !renew(counter, epoch)) {
		counter_free_many(counter, size, 1, epoch);
		return;
	}
	set32(&counter->free_bytes, bytes);
	set32(&counter->free_count, count);
}

COLD void counter_temporary_slow(struct format_counter *counter)
{
	counter_temporary_many(counter, 1);
}

COLD void counter_temporary_many(struct format_counter *counter, uint64_t blocks)
{
	struct format_counter_wide *wide = wide_of(counter);

	if (wide)
		add64(&wide->temporary_count, blocks);
	else
		set32_saturated(&counter->temporary_count,
				get32(&counter->temporary_count) + blocks);
}

bool counters_init(struct counters *counters, uint32_t thread, uint32_t max_id)
{
	uint32_t chunks_size = max_id / FORMAT_CHUNK + 1;
	size_t size = (chunks_size * sizeof(*counters->chunks) + PAGE - 1) / PAGE * PAGE;

	counters->chunks = sys_map(size);
	if (!counters->chunks) {
		loss_add(FORMAT_LOSS_MEMORY, 1);
		return false;
	}
	counters->chunks_size = chunks_size;
	counters->thread = thread;
	if (!counters_get(counters, 0)) {
		sys_unmap(counters->chunks, size);
		counters->chunks = NULL;
		counters->chunks_size = 0;
		return false;
	}
	return true;
}

void counters_drop(struct counters *counters)
{
	size_t size = (counters->chunks_size * sizeof(*counters->chunks) + PAGE - 1) / PAGE * PAGE;

	if (counters->chunks)
		sys_unmap(counters->chunks, size);
	counters->chunks = NULL;
}

/* Tells readers of the profile whose counters the chunk holds.  False: no memory. */
static bool name_chunk(const struct counters *counters, uint32_t number, uint32_t slot)
{
	uint32_t per_block = FORMAT_BLOCK_SIZE / sizeof(struct format_chunk);
	struct format_chunk *chunks = store_block(FORMAT_CHUNKS, number / per_block);

	if (!chunks)
		return false;
	/* Release: the chunk's zeros; a reader takes what it finds there for counters. */
	atomic_store_explicit(&chunks[number % per_block].owner,
			      (uint64_t)(counters->thread + 1) << 32 | slot, memory_order_release);
	return true;
}

COLD struct format_counter *counters_get_slow(struct counters *counters, uint32_t stack_id)
{
	uint32_t slot = stack_id / FORMAT_CHUNK;
	uint32_t number;
	struct format_counter *chunk = store_take(FORMAT_COUNTERS, CHUNK_SIZE,
						  &store_head()->chunk_count, &number);

	if (!chunk || !name_chunk(counters, number, slot))
		return NULL;
	/* Release: pairs with the acquire in find(). */
	atomic_store_explicit(&counters->chunks[slot], chunk, memory_order_release);
	return &chunk[stack_id % FORMAT_CHUNK];
}

/* The counter if it exists, else NULL. */
static const struct format_counter *find(const struct counters *counters, uint32_t stack_id)
{
	uint32_t slot = stack_id / FORMAT_CHUNK;
	const struct format_counter *chunk;

	if (slot >= counters->chunks_size)
		return NULL;
	/* Acquire: pairs with the release in counters_get_slow(). */
	chunk = atomic_load_explicit(&counters->chunks[slot], memory_order_acquire);
	return chunk ? &chunk[stack_id % FORMAT_CHUNK] : NULL;
}

bool counters_has_chunk(const struct counters *counters, uint32_t stack_id)
{
	return find(counters, stack_id) != NULL;
}

/* A counter that becomes wide while it is read here, or in counters_read_allocs(), is no trouble: its
 * narrow fields keep the values it had at that moment. */
void counters_read_frees(const struct counters *counters, uint32_t stack_id,
			 struct counter_totals *totals)
{
	const struct format_counter *counter = find(counters, stack_id);
	const struct format_counter_wide *wide;

	if (!counter)
		return;
	wide = wide_of(counter);
	totals->free_count += wide ? get64(&wide->free_count) : get32(&counter->free_count);
	totals->free_bytes += wide ? get64(&wide->free_bytes) : get32(&counter->free_bytes);
	totals->temporary_count += wide ? get64(&wide->temporary_count)
					: get32(&counter->temporary_count);
	/* A free that was read here comes after its allocation, whichever thread counted that:
	 * counters_read_allocs() will read it, for frees are stored with release order. */
	atomic_thread_fence(memory_order_acquire);
}

void counters_read_allocs(const struct counters *counters, uint32_t stack_id,
			  struct counter_totals *totals)
{
	const struct format_counter *counter = find(counters, stack_id);
	const struct format_counter_wide *wide;

	if (!counter)
		return;
	wide = wide_of(counter);
	totals->alloc_count += wide ? get64(&wide->alloc_count) : get32(&counter->alloc_count);
	totals->alloc_bytes += wide ? get64(&wide->alloc_bytes) : get32(&counter->alloc_bytes);
}

/* What one counter saved when an epoch began. */
struct shares {
	uint32_t epoch;
	int64_t bytes;
	int64_t count;
};

static struct shares read_shares(const struct format_counter *counter)
{
	struct shares shares;

	do {
		shares.epoch = atomic_load_explicit(&counter->epoch, memory_order_acquire);
		shares.bytes = atomic_load_explicit(&counter->peak_bytes, memory_order_relaxed);
		shares.count = atomic_load_explicit(&counter->peak_count, memory_order_relaxed);
		/* Pairs with the release fence in begin_change(). */
		atomic_thread_fence(memory_order_acquire);
	} while (get32(&counter->epoch) != shares.epoch);
	return shares;
}

static struct shares read_shares_wide(const struct format_counter_wide *wide)
{
	struct shares shares;

	do {
		shares.epoch = atomic_load_explicit(&wide->epoch, memory_order_acquire);
		shares.bytes = atomic_load_explicit(&wide->peak_bytes, memory_order_relaxed);
		shares.count = atomic_load_explicit(&wide->peak_count, memory_order_relaxed);
		/* Pairs with the release fence in begin_change(). */
		atomic_thread_fence(memory_order_acquire);
	} while (get32(&wide->epoch) != shares.epoch);
	return shares;
}

/* No change since the epoch began (or the share is being saved right now: then live is still it). */
static void read_live(const struct counters *counters, uint32_t stack_id,
		      struct counter_totals *totals)
{
	struct counter_totals now = {0};

	counters_read_frees(counters, stack_id, &now);
	counters_read_allocs(counters, stack_id, &now);
	totals->peak_bytes += (int64_t)(now.alloc_bytes - now.free_bytes);
	totals->peak_count += (int64_t)(now.alloc_count - now.free_count);
}

void counters_read_peak(const struct counters *counters, uint32_t stack_id, uint32_t epoch,
			struct counter_totals *totals)
{
	const struct format_counter *counter = find(counters, stack_id);
	const struct format_counter_wide *wide;
	struct shares shares;

	if (!counter)
		return;
	shares = read_shares(counter);
	if (shares.epoch == FORMAT_EPOCH_WIDE) {
		wide = wide_of(counter);
		if (!wide)
			return;
		shares = read_shares_wide(wide);
	}
	if (shares.epoch != epoch) {
		read_live(counters, stack_id, totals);
		return;
	}
	totals->peak_bytes += shares.bytes;
	totals->peak_count += shares.count;
}
