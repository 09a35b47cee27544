/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * read.h - the parts of profile_open(), which it calls in this order.
 *
 * The order matters for a process that goes on: counters first (frees, then allocations), then the call stacks, then
 * nodes, regions, modules, text: each is complete before what refers to it (doc/FORMAT.md, "Reading").
 * Every function returns false if there is no memory, or the file cannot be read any more; damage is reported instead.
 */
#ifndef PMEM_PROFILE_READ_H
#define PMEM_PROFILE_READ_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/image.h"
#include "profile/profile.h"

enum { READER_OWNED = 48 };

struct reader {
	struct profile profile; /* first: a struct profile that was opened is one of these */
	struct image image;
	void *owned[READER_OWNED]; /* freed by profile_close() */
	unsigned owned_count;
	/* Only while it is being opened: */
	/* profile.stacks is by call-stack id until read_tree(): with figures and nothing else, so that these are there once only. */
	uint32_t counts_limit;
	struct profile_counts *thread_counts; /* by thread */
	uint32_t threads_limit;
	struct format_stack *raw_stacks; /* by call-stack id */
	uint32_t *stack_index; /* by call-stack id: index in profile.stacks; UINT32_MAX = not there */
	uint32_t stack_limit; /* of the two */
	struct format_mapping *raw_mappings;
	uint32_t mapping_limit; /* of them */
	uint32_t mapping_count; /* call stacks of theirs, behind the last one in profile.stacks */
	uint32_t *mapping_records;  /* by their order: their numbers in raw_mappings */
	uint64_t *mapping_resident; /* likewise: their resident bytes */
	uint32_t mapping_series;    /* likewise in profile.series */
	struct profile *mapped;	    /* profile.mapped */
	struct format_failure *raw_failures;
	uint32_t failure_limit; /* of them */
};

/* What the profile keeps until it is closed; returns memory (NULL stays NULL). */
void *reader_own(struct reader *reader, void *memory);

/* calloc() that never asks for 0 bytes, kept as above. */
void *reader_alloc(struct reader *reader, size_t count, size_t size);

/* Sums of the call stacks' figures. */
void reader_add_up(const struct profile_stack *stacks, uint32_t count,
		   struct profile_counts *totals);

/* header.losses and so on are atomic for the recorder's sake. */
static inline uint32_t plain32(const _Atomic uint32_t *field)
{
	return atomic_load_explicit(field, memory_order_relaxed);
}

static inline uint64_t plain64(const _Atomic uint64_t *field)
{
	return atomic_load_explicit(field, memory_order_relaxed);
}

/* Never more than INT64_MAX: sums of hostile numbers stay numbers. */
static inline void add_limited(uint64_t *sum, uint64_t value)
{
	*sum = value > INT64_MAX - *sum ? INT64_MAX : *sum + value;
}

/* read_mappings.c: raw_mappings.  Before read_counts(). */
bool read_mappings(struct reader *reader);

/* read_failures.c: raw_failures.  Before read_counts(). */
bool read_failures(struct reader *reader);

/* Adds the figures of an item to those of its call stack, which begin as zeros; and sorts them when all are there. */
void read_failures_add(const struct format_failure *item, struct profile_failure *failure);
void read_failures_sort(struct profile *profile);

/* The figures of a record, made consistent.  False: they were not. */
bool read_mappings_counts(const struct format_mapping *mapping, struct profile_counts *counts);

/* profile.mapped.  After all others; and anew when what it shares with the profile has changed. */
bool read_mapped(struct reader *reader);
void read_mapped_renew(struct reader *reader);

/* read_counts.c: counts of profile.stacks, thread_counts and the header that they belong to. */
bool read_counts(struct reader *reader);

/* read_tree.c: modules, locations, stacks and nodes, and the texts of the header. */
bool read_tree(struct reader *reader);

/* The call stack of an id; NULL: it is not there, or came later.  After read_tree(). */
static inline struct profile_stack *reader_stack(const struct reader *reader, uint32_t id)
{
	uint32_t index = id < reader->stack_limit ? reader->stack_index[id] : UINT32_MAX;

	return index < reader->profile.stack_count ? &reader->profile.stacks[index] : NULL;
}

/* read_histograms.c: sizes and lifetimes of profile.stacks.  After read_tree(). */
bool read_histograms(struct reader *reader);

/* read_given.c: names that were added to the file.  After read_tree(). */
bool read_given(struct reader *reader);

/* read_reallocs.c: reallocs of profile.stacks.  After read_tree(). */
bool read_reallocs(struct reader *reader);

/* read_pins.c: what call stacks pin. */
bool read_pins(struct reader *reader);

/* timeline.c: points, series, marks. */
bool read_timeline(struct reader *reader);

/* As profile_open(), of a file's bytes in memory, which need not stay. */
bool profile_open_memory(const void *bytes, size_t size, struct profile **profile,
			 struct error *err);

#endif
