/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * timeline_fixture.h - a program and clocks of known content, for the tests of the timeline.
 */
#ifndef PMEM_TESTS_UNIT_TIMELINE_FIXTURE_H
#define PMEM_TESTS_UNIT_TIMELINE_FIXTURE_H
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "libpmem/counters.h"
#include "libpmem/loss.h"
#include "libpmem/peak.h"
#include "libpmem/process.h"
#include "libpmem/rss.h"
#include "libpmem/settings.h"
#include "libpmem/store.h"
#include "libpmem/sys.h"
#include "libpmem/thread.h"
#include "libpmem/timeline.h"
#include "libpmem/tree.h"
#include "timeline_fakes.h"

#define MS UINT64_C(1000000)
#define START (UINT64_C(1000) * MS)

enum { THREADS = 3, IDS = 1000, ROOM = 80 };

struct settings settings;
union process_page process_page = {.mark = 1};
_Atomic uint32_t peak_epoch_now = 1;

/* The program. */
static struct thread threads[THREADS];
static uint64_t allocated[THREADS][IDS], freed[THREADS][IDS];
static bool has_chunk[THREADS][IDS / FORMAT_CHUNK + 1];
static uint32_t id_limit;

/* The clock, and what happens when it is read or the counters are. */
static uint64_t clock_ns, clock_step_ns, coarse_ns;
static uint32_t read_count;
static void (*interrupt)(void); /* a signal handler in the midst of a walk */
static uint32_t rss_begun;

/* --- fakes ----------------------------------------------------------------------------------- */

struct thread *thread_first(void)
{
	return &threads[0];
}

static inline unsigned number_of(const struct counters *counters)
{
	return (unsigned)(((const char *)counters - (const char *)threads) / sizeof(*threads));
}

bool counters_has_chunk(const struct counters *counters, uint32_t id)
{
	return has_chunk[number_of(counters)][id / FORMAT_CHUNK];
}

void counters_read_frees(const struct counters *counters, uint32_t id, struct counter_totals *totals)
{
	void (*handler)(void) = interrupt;

	totals->free_bytes += freed[number_of(counters)][id];
	totals->free_count += freed[number_of(counters)][id] != 0;
	interrupt = NULL;
	if (handler)
		handler();
}

void counters_read_allocs(const struct counters *counters, uint32_t id,
			  struct counter_totals *totals)
{
	totals->alloc_bytes += allocated[number_of(counters)][id];
	totals->alloc_count += allocated[number_of(counters)][id] != 0;
	read_count++;
}

uint32_t tree_stack_limit(void)
{
	return id_limit;
}

static inline uint64_t live_of(uint32_t id)
{
	uint64_t sum = 0;

	for (int t = 0; t < THREADS; t++)
		sum += allocated[t][id] - freed[t][id];
	return sum;
}

uint64_t peak_live_bytes(void)
{
	uint64_t sum = 0;

	for (uint32_t id = 1; id < IDS; id++)
		sum += live_of(id);
	return sum;
}

void rss_init(void)
{
	rss_begun++;
}

void rss_fork_child(void)
{
	rss_begun += 100;
}

struct rss_sizes rss_sizes(void)
{
	return (struct rss_sizes){16384, 12288};
}

uint64_t rss_bytes(void)
{
	return 8192;
}

uint64_t sys_monotonic_ns(void)
{
	clock_ns += clock_step_ns;
	return clock_ns;
}

uint64_t sys_monotonic_coarse_ns(void)
{
	return coarse_ns;
}

static inline void event(unsigned thread, uint32_t id, uint64_t bytes, uint64_t free_bytes)
{
	has_chunk[thread][id / FORMAT_CHUNK] = true;
	allocated[thread][id] += bytes;
	freed[thread][id] += free_bytes;
}

static inline void pass(uint64_t time_ns)
{
	clock_ns += time_ns;
	coarse_ns = clock_ns / (4 * MS) * (4 * MS);
}

static inline void check_after(uint64_t time_ns)
{
	pass(time_ns);
	timeline_check();
}

static inline void start_process(void)
{
	fakes_clear_store();
	store_head()->start_monotonic_ns = START;
	clock_ns = START;
	coarse_ns = START - 3 * MS; /* behind */
}

static inline int begin(void **state)
{
	(void)state;
	settings = (struct settings){.timeline_ms = 250, .max_nodes = 100000, .log = true};
	memset(allocated, 0, sizeof(allocated));
	memset(freed, 0, sizeof(freed));
	memset(has_chunk, 0, sizeof(has_chunk));
	memset(fakes_mapped, 0, sizeof(fakes_mapped));
	for (int i = 0; i + 1 < THREADS; i++)
		threads[i].next = &threads[i + 1];
	id_limit = IDS;
	clock_step_ns = 0;
	read_count = rss_begun = 0;
	interrupt = NULL;
	process_page.mark = 1;
	peak_epoch_now = 1;
	start_process();
	timeline_init();
	return 0;
}

/* --- what must be there ---------------------------------------------------------------------- */

static inline uint32_t point_count(void)
{
	return store_head()->point_count;
}

static inline const struct format_point *last_point(void)
{
	return fakes_point(point_count() - 1);
}

static struct format_sample samples[ROOM];

/* What a reader takes for the live bytes of a call stack now. */
static inline uint64_t shown_live(uint32_t id)
{
	uint32_t count = fakes_samples(id, samples, ROOM);

	return count ? samples[count - 1].live_bytes : 0;
}

static inline void expect_shown(void)
{
	uint64_t part = peak_live_bytes() / TIMELINE_PART;
	uint64_t least = part > TIMELINE_LEAST ? part : TIMELINE_LEAST;

	for (uint32_t id = 1; id < IDS; id++) {
		uint64_t shown = shown_live(id), live = live_of(id);

		assert_true(shown == live || (shown < least && live < least));
	}
}

static inline void expect_sums(const struct format_point *point)
{
	uint64_t bytes = 0, count = 0;

	for (int t = 0; t < THREADS; t++) {
		for (uint32_t id = 0; id < IDS; id++) {
			bytes += allocated[t][id];
			count += allocated[t][id] != 0;
		}
	}
	assert_int_equal(point->alloc_bytes, bytes);
	assert_int_equal(point->alloc_count, count);
}

#endif
