/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * snapshot_fakes.c - a program and a log of known content, for the tests of snapshot.c.
 */
#include "snapshot_fakes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "libpmem/counters.h"
#include "libpmem/hook.h"
#include "libpmem/call_line.h"
#include "libpmem/last_words.h"
#include "libpmem/live_table.h"
#include "libpmem/log.h"
#include "libpmem/loss.h"
#include "libpmem/names.h"
#include "libpmem/process.h"
#include "libpmem/record.h"
#include "libpmem/rss.h"
#include "libpmem/settings.h"
#include "libpmem/side_table.h"
#include "libpmem/snapshot.h"
#include "libpmem/snapshot_entry.h"
#include "libpmem/store.h"
#include "libpmem/symbols.h"
#include "libpmem/sys.h"
#include "libpmem/tree.h"
#include "libpmem/timeline.h"
#include "tests/unit/store_reset.h"

/* --- fakes ----------------------------------------------------------------------------------- */

struct settings settings;
_Atomic bool sys_sandbox;
struct fakes fakes;
union process_page process_page = {.mark = 1};

struct thread *thread_first(void)
{
	return fakes.thread_count ? &fakes.threads[0] : NULL;
}

static unsigned number_of(const struct counters *counters)
{
	return (unsigned)(((const char *)counters - (const char *)fakes.threads) /
			  sizeof(*fakes.threads));
}

void fakes_event(unsigned thread, uint32_t id, uint64_t allocated, uint64_t freed_size)
{
	fakes.has_chunk[thread][id / FORMAT_CHUNK] = true;
	fakes.alloc[thread][id] += allocated;
	fakes.freed[thread][id] += freed_size;
}

bool counters_has_chunk(const struct counters *counters, uint32_t id)
{
	return fakes.has_chunk[number_of(counters)][id / FORMAT_CHUNK];
}

void counters_read_frees(const struct counters *counters, uint32_t id, struct counter_totals *totals)
{
	unsigned t = number_of(counters);

	assert_true(fakes.has_chunk[t][id / FORMAT_CHUNK]);
	totals->free_bytes += fakes.freed[t][id];
	totals->free_count += fakes.freed[t][id] != 0;
	/* A block of another thread's comes and goes. */
	if (fakes.busy_program && id && id % 3 == 0)
		fakes_event((t + 1) % fakes.thread_count, id, 64, 64);
}

void counters_read_allocs(const struct counters *counters, uint32_t id,
			  struct counter_totals *totals)
{
	unsigned t = number_of(counters);

	assert_true(fakes.has_chunk[t][id / FORMAT_CHUNK]);
	totals->alloc_bytes += fakes.alloc[t][id];
	totals->alloc_count += fakes.alloc[t][id] != 0 || (id && id == fakes.zero_id);
	if (fakes.busy_program && id % 3 == 1)
		fakes_event((t + 1) % fakes.thread_count, id, 64, 64);
}

enum { STACK_BLOCKS = IDS / TREE_STACKS_PER_BLOCK + 1 };

static struct format_stack records[STACK_BLOCKS * TREE_STACKS_PER_BLOCK];
_Atomic(struct format_stack *) tree_stack_blocks[FORMAT_BLOCKS_MAX];

/* Node of an id: its number; its callers: id / 8 and so on, then the root.  DEEP_ID: deep_frames of
 * them, nodes IDS + 1, IDS + 2 ... from the leaf. */
static void make_stacks(void)
{
	uint32_t i;

	for (i = 0; i < STACK_BLOCKS; i++)
		tree_stack_blocks[i] = records + i * TREE_STACKS_PER_BLOCK;
	for (i = 0; i < IDS; i++)
		records[i].node = i;
}

void fakes_make_deep(uint32_t frames)
{
	fakes.deep_frames = frames;
	records[DEEP_ID].node = frames ? IDS + 1 : DEEP_ID;
}

uint32_t tree_parent(uint32_t node)
{
	if (node > IDS)
		return node < IDS + fakes.deep_frames ? node + 1 : TREE_ROOT;
	return node / 8;
}

uint32_t tree_pc32(uint32_t node)
{
	return node;
}

uint32_t tree_stack_limit(void)
{
	return fakes.id_limit;
}

uint32_t tree_stack_hook(uint32_t id)
{
	return id < TREE_STACK_FIRST ? (uint32_t)FORMAT_NO_HOOK
	       : id % 2		     ? FORMAT_HOOK_CALLOC
				     : FORMAT_HOOK_MALLOC;
}

static const struct module program = {.path = "./prog\nram", .build_id = {2, {1, 2}}};
static const struct module anonymous = {.path = ""};

const char *modules_library_path(void)
{
	return "/lib/libpmem.so";
}

void modules_locate(uint32_t pc32, struct modules_location *location)
{
	if (pc32 == 1 || pc32 == 2) {
		*location = (struct modules_location){.offset = pc32};
		return;
	}
	location->module = pc32 == 7 ? &anonymous : &program;
	location->offset = pc32 * 16;
	location->address = 0x10000 + pc32 * 16;
}

const char *modules_special_name(uint32_t number)
{
	return number == 1 ? "[signal handler]" : NULL;
}

void names_find(const struct modules_location *location, struct name *name)
{
	*name = (struct name){.symbol = location->offset % 32 ? "odd" : NULL, .offset = 4};
}

void names_program(void)
{
}

void names_preload(void)
{
}

void symbols_init(void)
{
}

void mappings_sum(struct mappings_counts *sum)
{
	*sum = fakes.mapped;
}

void failures_sum(struct failures_sum *sum)
{
	*sum = fakes.failed;
}

void call_line_put(struct text *text, uint32_t id)
{
	(void)id;
	text_string(text, " parse < main");
}

size_t mappings_size(void)
{
	return 0;
}

const char *hook_name(enum format_hook hook)
{
	return hook == FORMAT_HOOK_MALLOC ? "malloc" : "calloc";
}

uintptr_t hook_address(enum format_hook hook)
{
	return 0x7000 + (uintptr_t)hook * 0x10;
}

uint64_t peak_bytes(void)
{
	return 5;
}

size_t store_size(void)
{
	return 1000;
}

size_t side_table_size(void)
{
	return 200;
}

size_t live_table_resident(void)
{
	return 30;
}

void rss_init(void)
{
}

void rss_fork_child(void)
{
}

uint64_t rss_bytes(void)
{
	return 4096;
}

uint64_t sys_monotonic_coarse_ns(void)
{
	return fakes.clock_ns / FAKES_TICK_NS * FAKES_TICK_NS;
}

uint64_t sys_monotonic_ns(void)
{
	fakes.clock_ns += fakes.clock_step_ns;
	return fakes.clock_ns;
}

uint64_t sys_realtime_ns(void)
{
	return 1000000000;
}

bool log_open(void)
{
	return !fakes.log_refuses;
}

bool log_write(const char *bytes, size_t size)
{
	fakes.write_count++;
	assert_true(bytes[size - 1] == '\n');
	if (fakes.fork_in_write) {
		fakes.fork_in_write = false;
		snapshot_fork_child();
	}
	if (fakes.final_in_write) {
		fakes.final_in_write = false;
		snapshot_final();
	}
	if (fakes.log_fails)
		return false;
	assert_true(fakes.log_size + size < LOG_SIZE);
	memcpy(fakes.log_text + fakes.log_size, bytes, size);
	fakes.log_size += size;
	fakes.log_text[fakes.log_size] = '\0';
	return true;
}

void log_note(const char *line, size_t size)
{
	assert_memory_equal(line, "# final snapshot missing, see profile\n", size);
	fakes.note_size = size;
}

void log_make_room(uint64_t size)
{
	(void)size;
}

bool log_begun_anew(void)
{
	bool was = fakes.rotated;

	fakes.rotated = false;
	return was;
}

/* --- the model ------------------------------------------------------------------------------- */

static uint64_t hashes[IDS];
static uint64_t random_state = 1;

static uint64_t next_random(void)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return random_state >> 33;
}

uint64_t fakes_sum(_Atomic uint64_t side[THREADS][IDS], uint32_t id)
{
	return side[0][id] + side[1][id] + side[2][id] + side[3][id];
}

uint64_t fakes_work(unsigned events)
{
	uint64_t bytes = 0;

	while (events-- > 0) {
		uint32_t id = (uint32_t)(1 + next_random() % (fakes.id_limit - 1));
		uint64_t live = fakes_sum(fakes.alloc, id) - fakes_sum(fakes.freed, id);
		uint64_t size = next_random() % 3 ? 1 + next_random() % 1000 : live;
		bool frees = live >= size && size > 0 && next_random() % 2;

		fakes_event((unsigned)(next_random() % fakes.thread_count), id, frees ? 0 : size,
			    frees ? size : 0);
		bytes += size;
	}
	return bytes;
}

static uint16_t ids_by_hash[1 << 16]; /* open addressing */

void fakes_hash(uint32_t id)
{
	uint16_t slot;

	hashes[id] = snapshot_entry_hash(id);
	for (slot = (uint16_t)hashes[id]; ids_by_hash[slot]; slot++)
		;
	ids_by_hash[slot] = (uint16_t)id;
}

static uint32_t id_of(uint64_t hash)
{
	uint16_t slot;

	for (slot = (uint16_t)hash; ids_by_hash[slot]; slot++)
		if (hashes[ids_by_hash[slot]] == hash)
			return ids_by_hash[slot];
	fail_msg("unknown hash %llx", (unsigned long long)hash);
	return 0;
}

int fakes_begin(void **state)
{
	unsigned i;

	(void)state;
	settings = (struct settings){.log = true, .churn_thresh = 1000, .snapshot_share = 1000};
	memset((void *)fakes.alloc, 0, sizeof(fakes.alloc));
	memset((void *)fakes.freed, 0, sizeof(fakes.freed));
	memset((void *)fakes.has_chunk, 0, sizeof(fakes.has_chunk));
	memset(fakes.threads, 0, sizeof(fakes.threads));
	memset(fakes.shown_alloc, 0, sizeof(fakes.shown_alloc));
	memset(fakes.shown_free, 0, sizeof(fakes.shown_free));
	fakes.thread_count = THREADS;
	for (i = 0; i < THREADS; i++)
		fakes.threads[i].next = i + 1 < THREADS ? &fakes.threads[i + 1] : NULL;
	fakes.threads[0].tid = 1;
	fakes.id_limit = IDS;
	make_stacks();
	fakes_make_deep(0);
	fakes.zero_id = 0;
	fakes.mapped = (struct mappings_counts){0};
	fakes.failed = (struct failures_sum){0};
	fakes.busy_program = fakes.fork_in_write = fakes.rotated = false;
	fakes.log_fails = fakes.log_refuses = false;
	fakes.clock_step_ns = 0;
	fakes.clock_ns = 1000000000;
	fakes.log_text = fakes.log_text ? fakes.log_text : malloc(LOG_SIZE);
	fakes.log_size = fakes.note_size = fakes.write_count = 0;
	store_reset();
	snapshot_init();
	snapshot_fork_child();
	memset(ids_by_hash, 0, sizeof(ids_by_hash));
	for (i = 1; i < IDS; i++)
		fakes_hash(i);
	return 0;
}

static const char *next_line(const char *at)
{
	return strchr(at, '\n') + 1;
}

typedef unsigned long long number;

/* Reads one entry with its frames at *at, and adds it up. */
static void read_entry(const char **at, struct reading *reading, uint64_t *last_live)
{
	number hash, live, a, all_a, f, all_f;
	uint32_t id, node;
	unsigned frame = 0;
	int end = 0;

	assert_int_equal(sscanf(*at, "{%16llx} live:%llu, alloc:%llu/%llu, free:%llu/%llu%n", &hash,
				&live, &a, &all_a, &f, &all_f, &end),
			 6);
	assert_int_equal((*at)[end], '\n');
	assert_int_equal(live, all_a - all_f);
	assert_true(live <= *last_live);
	*last_live = live;
	id = id_of(hash);
	assert_false(fakes.shown[id]);
	fakes.shown[id] = true;
	assert_true(live > 0 || all_a != fakes.shown_alloc[id] || all_f != fakes.shown_free[id] ||
		    id == fakes.zero_id);
	fakes.shown_alloc[id] = all_a;
	fakes.shown_free[id] = all_f;
	reading->entries++;
	reading->entry_sums.live += live;
	reading->entry_sums.alloc_new += a;
	reading->entry_sums.alloc += all_a;
	reading->entry_sums.free_new += f;
	reading->entry_sums.free += all_f;
	node = tree_stack(id)->node;
	frame = tree_stack_hook(id) != FORMAT_NO_HOOK;
	for (; node; node = tree_parent(node))
		frame++;
	for (*at = next_line(*at); **at == ' '; *at = next_line(*at))
		frame--;
	assert_int_equal(frame, 0);
	assert_int_equal(**at, '\n');
	*at = next_line(*at);
}

const char *fakes_read(const char *text, struct reading *reading)
{
	const char *at = text;
	number live, churn, threshold;
	uint64_t last_live = UINT64_MAX;
	int end = 0;

	*reading = (struct reading){0};
	memset(fakes.shown, 0, sizeof(fakes.shown));
	assert_int_equal(
		sscanf(at,
		       "# time=1970-01-01T00:00:01.000Z uptime_s=%*u.%*3u live=%llu peak=", &live),
		1);
	at = next_line(at);
	assert_int_equal(sscanf(at, "[%3u]===", &reading->sequence), 1);
	at = next_line(at);
	assert_int_equal(sscanf(at, "churn=%llu/%llu%n", &churn, &threshold, &end), 2);
	assert_memory_equal(at + end, "\n\n", 2);
	at += end + 2;
	while (*at == '{')
		read_entry(&at, reading, &last_live);
	end = 0;
	if (sscanf(at, "# rest: %u call stacks, live %llu, alloc %llu/%llu, free %llu/%llu\n%n",
		   &reading->rest_stacks, (number *)&reading->rest.live,
		   (number *)&reading->rest.alloc_new, (number *)&reading->rest.alloc,
		   (number *)&reading->rest.free_new, (number *)&reading->rest.free, &end) == 6)
		at += end;
	reading->live = live;
	reading->churn = churn;
	reading->threshold = threshold;
	assert_int_equal(live, reading->entry_sums.live + reading->rest.live);
	end = 0;
	assert_int_equal(sscanf(at, "# end [%3u]%n", &reading->rest.stacks, &end), 1);
	assert_int_equal(reading->rest.stacks, reading->sequence);
	assert_int_equal(at[end], '\n');
	at = next_line(at);
	reading->size = (size_t)(at - text);
	return at;
}

struct reading fakes_read_one(void)
{
	struct reading reading;

	assert_true(fakes.log_size > 0);
	assert_ptr_equal(fakes_read(fakes.log_text, &reading), fakes.log_text + fakes.log_size);
	fakes.log_size = 0;
	return reading;
}

void fakes_check(uint64_t churn)
{
	fakes.threads[0].churn_left = fakes.threads[0].churn_grant - (int64_t)churn;
	fakes.threads[0].churn_reserve = 0;
	snapshot_check(&fakes.threads[0]);
	assert_int_equal(fakes.threads[0].churn_left, fakes.threads[0].churn_grant);
}

void fakes_expect_totals(const struct reading *reading, uint64_t *all_alloc, uint64_t *all_free)
{
	uint64_t sum_alloc = 0, sum_free = 0;
	uint32_t id, stacks = 0;

	for (id = 1; id < fakes.id_limit; id++) {
		sum_alloc += fakes_sum(fakes.alloc, id);
		sum_free += fakes_sum(fakes.freed, id);
		stacks += fakes_sum(fakes.alloc, id) != 0;
	}
	assert_int_equal(reading->entries + reading->rest_stacks, stacks);
	assert_int_equal(reading->live, sum_alloc - sum_free);
	assert_int_equal(reading->entry_sums.alloc + reading->rest.alloc, sum_alloc);
	assert_int_equal(reading->entry_sums.free + reading->rest.free, sum_free);
	assert_int_equal(reading->entry_sums.alloc_new + reading->rest.alloc_new,
			 sum_alloc - *all_alloc);
	assert_int_equal(reading->entry_sums.free_new + reading->rest.free_new,
			 sum_free - *all_free);
	*all_alloc = sum_alloc;
	*all_free = sum_free;
}

void timeline_check(void)
{
}

bool last_words_check(void)
{
	return fakes.last_words != NULL;
}

const struct text *last_words_say(void)
{
	const struct text *words = fakes.last_words;

	fakes.last_words = NULL;
	return words;
}
