/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * read_counts.c - the sums of all threads' counters.
 *
 * Two passes over the counters: the free fields of all, then the alloc fields of all.  A block is counted as
 * allocated before it can be counted as freed, by whichever thread, so that no call stack comes out with more
 * freed than allocated while the process goes on.  Each pass looks anew at which chunks there are: an
 * allocation in a new chunk may be what an old chunk counted as freed.
 *
 * A counter's share of the peak is what it saved when the peak's epoch began, if it changed since; otherwise what is live
 * there now.  If a new epoch begins between the passes they are done again, a few times; the shares of a
 * program that grows all the time may be those of a moment just before its latest peak.
 */
#include <stdlib.h>
#include <string.h>

#include "profile/read.h"

enum {
	TRIES = 5,
	CHUNK_SIZE = FORMAT_CHUNK * sizeof(struct format_counter),
	CHUNKS_PER_BLOCK = FORMAT_BLOCK_SIZE / CHUNK_SIZE,
};

/* No counter gets there: at 100 GB/s it would take 700 years. */
#define LARGEST (UINT64_C(1) << 61)

/* Of what changes no more one pass has the same result. */
enum step { READ_FREES, READ_ALLOCS, READ_BOTH };

struct pass {
	struct reader *reader;
	enum step step;
	uint32_t peak_epoch;
	uint32_t wrong_chunks;
	uint32_t wrong_counters;
};

/* A counter, or what it goes on with, with 64 bits for each number. */
struct numbers {
	uint64_t alloc_count, alloc_bytes, free_count, free_bytes, temporary_count;
	int64_t peak_bytes, peak_count;
	uint32_t epoch;
};

static const struct image_array chunks_array = {FORMAT_CHUNKS, sizeof(struct format_chunk),
						"chunks", 0};
static const struct image_array wide_array = {FORMAT_WIDE, sizeof(struct format_counter_wide),
					      "wide counters", 0};
static const struct image_array stacks_array = {FORMAT_STACKS, sizeof(struct format_stack),
						"call stacks", FORMAT_STACK_FIRST};
static const struct image_array threads_array = {FORMAT_THREADS, sizeof(struct format_thread),
						 "threads", 0};

static void take_narrow(const struct format_counter *counter, struct numbers *numbers)
{
	*numbers = (struct numbers){
		.alloc_count = plain32(&counter->alloc_count),
		.alloc_bytes = plain32(&counter->alloc_bytes),
		.free_count = plain32(&counter->free_count),
		.free_bytes = plain32(&counter->free_bytes),
		.temporary_count = plain32(&counter->temporary_count),
		.peak_bytes = atomic_load_explicit(&counter->peak_bytes, memory_order_relaxed),
		.peak_count = atomic_load_explicit(&counter->peak_count, memory_order_relaxed),
		.epoch = plain32(&counter->epoch),
	};
}

static bool fits(int64_t share)
{
	return share < (int64_t)LARGEST && share > -(int64_t)LARGEST;
}

/* The record of a counter that became wide.  False: it is not there, or impossible. */
static bool take_wide(struct pass *pass, uint32_t index, struct numbers *numbers)
{
	struct format_counter_wide wide;
	struct image *image = &pass->reader->image;

	if (!image_item(image, &wide_array, index, &wide) &&
	    !(pass->reader->profile.is_live && image_refresh(image) &&
	      image_item(image, &wide_array, index, &wide)))
		return false;
	*numbers = (struct numbers){
		.alloc_count = plain64(&wide.alloc_count),
		.alloc_bytes = plain64(&wide.alloc_bytes),
		.free_count = plain64(&wide.free_count),
		.free_bytes = plain64(&wide.free_bytes),
		.temporary_count = plain64(&wide.temporary_count),
		.peak_bytes = atomic_load_explicit(&wide.peak_bytes, memory_order_relaxed),
		.peak_count = atomic_load_explicit(&wide.peak_count, memory_order_relaxed),
		.epoch = plain32(&wide.epoch),
	};
	return (numbers->alloc_count | numbers->alloc_bytes | numbers->free_count |
		numbers->free_bytes | numbers->temporary_count) < LARGEST &&
	       fits(numbers->peak_bytes) && fits(numbers->peak_count);
}

static int64_t add_signed(int64_t sum, int64_t value)
{
	int64_t result;

	return __builtin_add_overflow(sum, value, &result) ? sum : result;
}

/* Counters that did not change since the peak's epoch began hold its share still. */
static void add_share(const struct pass *pass, const struct numbers *numbers,
		      struct profile_counts *counts)
{
	bool saved = numbers->epoch == pass->peak_epoch && numbers->epoch != FORMAT_EPOCH_CHANGING;
	int64_t bytes = (int64_t)numbers->alloc_bytes - (int64_t)numbers->free_bytes;
	int64_t count = (int64_t)numbers->alloc_count - (int64_t)numbers->free_count;

	counts->peak_bytes = add_signed(counts->peak_bytes, saved ? numbers->peak_bytes : bytes);
	counts->peak_count = add_signed(counts->peak_count, saved ? numbers->peak_count : count);
}

static void add_numbers(const struct pass *pass, const struct numbers *numbers,
			struct profile_counts *counts)
{
	if (pass->step != READ_ALLOCS) {
		add_limited(&counts->free_count, numbers->free_count);
		add_limited(&counts->free_bytes, numbers->free_bytes);
		add_limited(&counts->temporary_count, numbers->temporary_count);
	}
	if (pass->step == READ_FREES)
		return;
	add_limited(&counts->alloc_count, numbers->alloc_count);
	add_limited(&counts->alloc_bytes, numbers->alloc_bytes);
	add_share(pass, numbers, counts);
	/* One thread cannot have freed more of its own. */
	if (numbers->free_count > numbers->alloc_count)
		add_limited(&counts->foreign_count, numbers->free_count - numbers->alloc_count);
}

static void read_counter(struct pass *pass, const struct format_counter *counter,
			 struct profile_counts *stack, struct profile_counts *thread)
{
	struct numbers numbers;

	take_narrow(counter, &numbers);
	if (numbers.epoch == FORMAT_EPOCH_WIDE &&
	    !take_wide(pass, (uint32_t)numbers.peak_bytes, &numbers)) {
		pass->wrong_counters++;
		return;
	}
	add_numbers(pass, &numbers, stack);
	add_numbers(pass, &numbers, thread);
}

static bool is_used(const struct format_counter *counter)
{
	return (plain32(&counter->alloc_count) | plain32(&counter->free_count) |
		plain32(&counter->epoch)) != 0;
}

/* The number is the last member, and written first: so a page of new memory is written before it is read, which costs one page fault
 * in place of two. */
static struct profile_counts *stack_at(struct reader *reader, uint64_t id)
{
	struct profile_stack *stack = &reader->profile.stacks[id];

	stack->number = (uint32_t)id;
	return &stack->counts;
}

static void read_chunk(struct pass *pass, const struct format_counter *counters, uint64_t owner)
{
	struct reader *reader = pass->reader;
	uint64_t thread = (owner >> 32) - 1;
	uint64_t first = (uint64_t)(uint32_t)owner * FORMAT_CHUNK;

	if (owner >> 32 == 0)
		return;
	if (thread >= reader->threads_limit) {
		pass->wrong_chunks++;
		return;
	}
	for (unsigned i = 0; i < FORMAT_CHUNK; i++) {
		if (!is_used(&counters[i]))
			continue;
		if (first + i < reader->counts_limit)
			read_counter(pass, &counters[i], stack_at(reader, first + i),
				     &reader->thread_counts[thread]);
		else
			pass->wrong_counters++;
	}
}

static void read_chunks(struct pass *pass, const struct format_chunk *chunks, uint32_t count)
{
	struct format_counter counters[CHUNKS_PER_BLOCK * FORMAT_CHUNK];
	struct reader *reader = pass->reader;

	for (uint32_t i = 0; i < count; i++) {
		if (i % CHUNKS_PER_BLOCK == 0 &&
		    !image_block(&reader->image, FORMAT_COUNTERS, i / CHUNKS_PER_BLOCK, counters,
				 sizeof(counters))) {
			memset(counters, 0, sizeof(counters));
			pass->wrong_chunks++;
		}
		read_chunk(pass, &counters[i % CHUNKS_PER_BLOCK * FORMAT_CHUNK],
			   plain64(&chunks[i].owner));
	}
}

/* An array with room for wanted items in place of limit; what is new is zero.  NULL: no memory, and items is as it was. */
static void *grow(void *items, size_t size, uint32_t limit, uint32_t wanted)
{
	char *grown;

	/* A zero page that nobody writes to is no memory. */
	if (!items)
		return calloc((size_t)wanted + 1, size);
	grown = realloc(items, ((size_t)wanted + 1) * size);
	if (grown)
		memset(grown + limit * size, 0, (size_t)(wanted - limit) * size);
	return grown;
}

static bool make_room_for_stacks(struct reader *reader, uint32_t wanted)
{
	struct profile_stack *grown;

	if (reader->profile.stacks && wanted <= reader->counts_limit)
		return true;
	grown = grow(reader->profile.stacks, sizeof(*grown), reader->counts_limit, wanted);
	if (!grown)
		return false;
	reader->profile.stacks = grown;
	reader->counts_limit = wanted;
	return true;
}

static bool make_room_for_threads(struct reader *reader, uint32_t wanted)
{
	struct profile_counts *grown;

	if (reader->thread_counts && wanted <= reader->threads_limit)
		return true;
	grown = grow(reader->thread_counts, sizeof(*grown), reader->threads_limit, wanted);
	if (!grown)
		return false;
	reader->thread_counts = grown;
	reader->threads_limit = wanted;
	return true;
}

static bool make_room(struct reader *reader)
{
	const struct format_header *header = &reader->image.first->header;
	uint32_t stacks = image_limit(&reader->image, &stacks_array, plain32(&header->stack_limit));

	return make_room_for_stacks(reader, stacks) &&
	       make_room_for_threads(reader, image_limit(&reader->image, &threads_array,
							 plain32(&header->thread_count)));
}

static bool run_pass(struct pass *pass)
{
	struct reader *reader = pass->reader;
	struct format_chunk *chunks;
	uint32_t count;

	/* Of a running process the second pass may find more than the first. */
	reader->image.quiet = reader->profile.is_live || pass->step == READ_FREES;
	pass->wrong_chunks = 0;
	pass->wrong_counters = 0;
	if (!image_refresh(&reader->image) || !make_room(reader))
		return false;
	if (pass->step != READ_ALLOCS)
		pass->peak_epoch = plain32(&reader->image.first->header.peak_epoch);
	count = image_limit(&reader->image, &chunks_array,
			    plain32(&reader->image.first->header.chunk_count));
	chunks = image_items(&reader->image, &chunks_array, count);
	if (!chunks)
		return false;
	read_chunks(pass, chunks, count);
	free(chunks);
	reader->image.quiet = false;
	return true;
}

static void clear(struct reader *reader)
{
	memset(reader->profile.stacks, 0, reader->counts_limit * sizeof(*reader->profile.stacks));
	memset(reader->thread_counts, 0, reader->threads_limit * sizeof(*reader->thread_counts));
}

static void report(const struct pass *pass)
{
	const struct damage *damage = &pass->reader->image.damage;

	if (pass->reader->profile.is_live)
		return;
	if (pass->wrong_chunks > 0)
		damage_add(damage, "%u parts of the counters are missing or nobody's",
			   pass->wrong_chunks);
	if (pass->wrong_counters > 0)
		damage_add(damage, "%u counters are impossible", pass->wrong_counters);
}

static bool run_step(struct pass *pass, enum step step)
{
	pass->step = step;
	return run_pass(pass);
}

/* Of a process that may run: again if a new epoch began meanwhile. */
static bool run_steps(struct pass *pass)
{
	struct reader *reader = pass->reader;

	for (int tries = 0; tries < TRIES; tries++) {
		if (tries > 0)
			clear(reader);
		if (!run_step(pass, READ_FREES) || !run_step(pass, READ_ALLOCS) ||
		    !image_refresh(&reader->image))
			return false;
		if (plain32(&reader->image.first->header.peak_epoch) == pass->peak_epoch)
			break;
	}
	return true;
}

/* True of a process that ended, and of a copy in memory.  Not of one that /proc does not show: it may record elsewhere. */
static bool is_final(const struct reader *reader)
{
	return reader->image.fd < 0 ||
	       plain32(&reader->image.first->header.state) != FORMAT_STATE_RECORDING;
}

bool read_counts(struct reader *reader)
{
	struct pass pass = {.reader = reader};
	bool done = is_final(reader) ? run_step(&pass, READ_BOTH) : run_steps(&pass);

	if (!done)
		return false;
	report(&pass);
	memcpy(&reader->profile.header, &reader->image.first->header,
	       sizeof(reader->profile.header));
	return true;
}
