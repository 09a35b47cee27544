/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * series.h - live bytes of single call stacks over time, in the store: a bounded number of samples.
 *
 * Samples lie in chunks (struct format_series).  A call stack has at most SERIES_STACK_CHUNKS of them; when they are full
 * an eighth of the samples is dropped (thinning.h), but never the first or the latest ones, and those behind what was dropped are marked:
 * what a call stack held in such a gap is not known.  All together have SERIES_CHUNKS_MAX; when those are
 * used, the chunks of a call stack that never held as much as is worth a sample now are taken over.  Where none
 * is found a call stack must do with the chunks it has, and one without loses the sample (FORMAT_LOSS_TIMELINE).
 *
 * A sample is moved by writing it a second time before its old place is written over: a kill at any moment loses
 * at most the one being added, and the one whose place it takes.  All under LOCK_TIMELINE.
 */
#ifndef PMEM_LIBPMEM_SERIES_H
#define PMEM_LIBPMEM_SERIES_H
#include <stdint.h>

enum { SERIES_STACK_CHUNKS = 24, SERIES_CHUNKS_MAX = 128 * 1024 };

struct series_reading {
	uint64_t time_ns; /* > 0, never earlier than in a reading before */
	uint64_t live_bytes;
	uint64_t alloc_bytes;
};

/* What a call stack holds now.  It becomes a sample if live_bytes differs from its last sample (at first: 0) and one of
 * the two is least (> 0) or more. */
void series_note(uint32_t stack_id, const struct series_reading *reading, uint64_t least);

/* Begins without samples, in an empty store: in a forked child. */
void series_forget(void);

#endif
