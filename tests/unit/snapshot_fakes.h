/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * snapshot_fakes.h - a program and a log of known content, for the tests of snapshot.c.
 *
 * Tree, counters, modules, clock and log are fakes; the text that reaches the log is read back and
 * checked by itself while it is read.
 */
#ifndef PMEM_TESTS_SNAPSHOT_FAKES_H
#define PMEM_TESTS_SNAPSHOT_FAKES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libpmem/settings.h"
#include "libpmem/failures.h"
#include "libpmem/mappings.h"
#include "libpmem/snapshot_entry.h"
#include "libpmem/text.h"
#include "libpmem/thread.h"

enum { FAKES_TICK_NS = 4000000 };

enum { IDS = 5000, THREADS = 4, LOG_SIZE = 64 << 20, DEEP_ID = 5 };

struct fakes {
	struct thread threads[THREADS];
	unsigned thread_count;
	_Atomic uint64_t alloc[THREADS][IDS];
	_Atomic uint64_t freed[THREADS][IDS];
	_Atomic bool has_chunk[THREADS][IDS / FORMAT_CHUNK + 1];
	uint32_t id_limit;
	uint32_t deep_frames; /* see fakes_make_deep() */
	uint32_t zero_id;     /* blocks of 0 bytes were allocated there; 0 = nowhere */
	struct mappings_counts mapped;
	struct failures_sum failed;
	bool busy_program; /* each read of a counter finds the program at work */

	_Atomic uint64_t clock_ns;
	uint64_t clock_step_ns; /* it grows by this much at each look */

	char *log_text; /* all that was written */
	size_t log_size;
	size_t note_size;
	unsigned write_count;
	bool rotated, log_fails, log_refuses;
	const struct text *last_words;	    /* to be said; NULL = none */
	bool fork_in_write, final_in_write; /* a signal handler does, in the next write */

	uint64_t shown_alloc[IDS], shown_free[IDS]; /* at the id's last entry that was read */
	bool shown[IDS];			    /* in the snapshot read last */
};

extern struct fakes fakes;

/* What one snapshot in the log says. */
struct reading {
	unsigned sequence;
	uint64_t churn, threshold, live;
	unsigned entries, rest_stacks;
	struct snapshot_sums entry_sums, rest;
	size_t size;
};

/* Everything empty; a setup function. */
int fakes_begin(void **state);

/* Tells the reader the hash of an id whose frames have changed. */
void fakes_hash(uint32_t id);

void fakes_event(unsigned thread, uint32_t id, uint64_t allocated, uint64_t freed_size);

/* Random events of random threads: a block may be freed by another thread than its own.  Returns
 * the bytes. */
uint64_t fakes_work(unsigned events);

/* DEEP_ID's call stack gets so many frames; 0: as many as the others. */
void fakes_make_deep(uint32_t frames);

/* The sum of fakes.alloc or fakes.freed over all threads. */
uint64_t fakes_sum(_Atomic uint64_t side[THREADS][IDS], uint32_t id);

/* The first thread passes its byte check with this much churn. */
void fakes_check(uint64_t churn);

/* Reads the snapshot at text, and fails the test if it breaks its format or if entries and rest
 * do not give the totals.  Returns where it ends. */
const char *fakes_read(const char *text, struct reading *reading);

/* Reads the only snapshot in the log, which is emptied. */
struct reading fakes_read_one(void);

/* entries + rest against the counters, nobody being at work; *all_alloc and *all_free are those
 * of the snapshot before. */
void fakes_expect_totals(const struct reading *reading, uint64_t *all_alloc, uint64_t *all_free);

#endif
