/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_snapshot.c - what snapshots say of thousands of call stacks, in one go and in slices of one step.
 *
 * Tree, counters, clock and log are fakes with a known content; the text that reaches the log is read
 * back and compared with them.
 */
#include <pthread.h>
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
#include "libpmem/live_table.h"
#include "libpmem/log.h"
#include "libpmem/loss.h"
#include "libpmem/names.h"
#include "libpmem/rss.h"
#include "libpmem/settings.h"
#include "libpmem/side_table.h"
#include "libpmem/snapshot.h"
#include "libpmem/snapshot_entry.h"
#include "libpmem/snapshot_heap.h"
#include "libpmem/store.h"
#include "libpmem/sys.h"
#include "libpmem/tree.h"

enum { IDS = 10000, THREADS = 4, LOG_SIZE = 64 << 20, DEEP_ID = 5 };

/* --- fakes ----------------------------------------------------------------------------------- */

struct settings settings;
static struct thread threads[THREADS];
static unsigned thread_count;
static _Atomic uint64_t alloc[THREADS][IDS], freed[THREADS][IDS];
static _Atomic bool has_chunk[THREADS][IDS / COUNTERS_CHUNK + 1];
static uint32_t id_limit;
static uint32_t deep_frames; /* of DEEP_ID */
static bool busy_program;    /* each read of a counter finds the program at work */
static bool fork_in_write;
static _Atomic uint64_t clock_ns;
static uint64_t clock_step_ns;

static char *log_text; /* all that was written */
static size_t log_size;
static size_t note_size;
static unsigned write_count;
static bool rotated, log_fails, log_refuses;

struct thread *thread_first(void)
{
	return thread_count ? &threads[0] : NULL;
}

static unsigned number_of(const struct counters *counters)
{
	return (unsigned)(((const char *)counters - (const char *)threads) / sizeof(*threads));
}

static void event(unsigned thread, uint32_t id, uint64_t allocated, uint64_t freed_size)
{
	has_chunk[thread][id / COUNTERS_CHUNK] = true;
	alloc[thread][id] += allocated;
	freed[thread][id] += freed_size;
}

bool counters_has_chunk(const struct counters *counters, uint32_t id)
{
	return has_chunk[number_of(counters)][id / COUNTERS_CHUNK];
}

void counters_read_frees(const struct counters *counters, uint32_t id, struct counter_totals *totals)
{
	unsigned t = number_of(counters);

	assert_true(has_chunk[t][id / COUNTERS_CHUNK]);
	totals->free_bytes += freed[t][id];
	totals->free_count += freed[t][id] != 0;
	if (busy_program && id % 3 == 0) /* a block of another thread's comes and goes */
		event((t + 1) % thread_count, id, 64, 64);
}

void counters_read_allocs(const struct counters *counters, uint32_t id, struct counter_totals *totals)
{
	unsigned t = number_of(counters);

	assert_true(has_chunk[t][id / COUNTERS_CHUNK]);
	totals->alloc_bytes += alloc[t][id];
	totals->alloc_count += alloc[t][id] != 0;
	if (busy_program && id % 3 == 1)
		event((t + 1) % thread_count, id, 64, 64);
}

/* Node of an id: its number; its callers: id / 8 and so on, then the root.  DEEP_ID: deep_frames of
 * them, nodes IDS + 1, IDS + 2 ... from the leaf. */
struct tree_stack *tree_stack(uint32_t id)
{
	static __thread struct tree_stack stack;

	stack.node = id == DEEP_ID && deep_frames ? IDS + 1 : id;
	return &stack;
}

uint32_t tree_parent(uint32_t node)
{
	if (node > IDS)
		return node < IDS + deep_frames ? node + 1 : TREE_ROOT;
	return node / 8;
}

uint32_t tree_pc32(uint32_t node)
{
	return node;
}

uint32_t tree_stack_limit(void)
{
	return id_limit;
}

uint32_t tree_stack_hook(uint32_t id)
{
	return id < TREE_STACK_FIRST ? (uint32_t)TREE_STACK_NO_HOOK : id % 2 ? HOOK_CALLOC : HOOK_MALLOC;
}

static const struct module program = {.path = "./prog\nram", .build_id = {2, {1, 2}}};
static const struct module library = {.path = "/lib/libpmem.so"};
static const struct module anonymous = {.path = ""};

uint32_t modules_encode(uintptr_t ra)
{
	assert_int_equal(ra, 0x7001);
	return UINT32_MAX;
}

void modules_locate(uint32_t pc32, struct modules_location *location)
{
	if (pc32 == 1 || pc32 == 2) {
		*location = (struct modules_location){.offset = pc32};
		return;
	}
	location->module = pc32 == UINT32_MAX ? &library : pc32 == 7 ? &anonymous : &program;
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

const char *hook_name(enum hook hook)
{
	return hook == HOOK_MALLOC ? "malloc" : "calloc";
}

uintptr_t hook_address(enum hook hook)
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

uint64_t sys_monotonic_ns(void)
{
	return clock_ns += clock_step_ns;
}

uint64_t sys_realtime_ns(void)
{
	return 1000000000;
}

bool log_open(void)
{
	return !log_refuses;
}

bool log_write(const char *bytes, size_t size)
{
	write_count++;
	assert_true(bytes[size - 1] == '\n');
	if (fork_in_write) {
		fork_in_write = false;
		snapshot_fork_child();
	}
	if (log_fails)
		return false;
	assert_true(log_size + size < LOG_SIZE);
	memcpy(log_text + log_size, bytes, size);
	log_size += size;
	log_text[log_size] = '\0';
	return true;
}

void log_note(const char *line, size_t size)
{
	assert_memory_equal(line, "# final snapshot missing, see profile\n", size);
	note_size = size;
}

void log_make_room(uint64_t size)
{
	(void)size;
}

bool log_rotated(void)
{
	bool was = rotated;

	rotated = false;
	return was;
}

/* --- the model ------------------------------------------------------------------------------- */

static uint64_t shown_alloc[IDS], shown_free[IDS]; /* at the id's last entry */
static bool shown[IDS];				   /* in the snapshot read last */
static uint64_t hashes[IDS];
static uint64_t random_state = 1;

static uint64_t next_random(void)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return random_state >> 33;
}

static uint64_t sum_of(_Atomic uint64_t side[THREADS][IDS], uint32_t id)
{
	return side[0][id] + side[1][id] + side[2][id] + side[3][id];
}

/* Random events of random threads; blocks may be freed by another thread than their own. */
static uint64_t work(unsigned events)
{
	uint64_t bytes = 0;

	while (events-- > 0) {
		uint32_t id = (uint32_t)(1 + next_random() % (id_limit - 1));
		uint64_t live = sum_of(alloc, id) - sum_of(freed, id);
		uint64_t size = next_random() % 3 ? 1 + next_random() % 1000 : live;
		bool frees = live >= size && size > 0 && next_random() % 2;

		event((unsigned)(next_random() % thread_count), id, frees ? 0 : size, frees ? size : 0);
		bytes += size;
	}
	return bytes;
}

static int begin(void **state)
{
	unsigned i;

	(void)state;
	settings = (struct settings){.log = true, .churn_thresh = 1000, .snapshot_share = 1000};
	memset((void *)alloc, 0, sizeof(alloc));
	memset((void *)freed, 0, sizeof(freed));
	memset((void *)has_chunk, 0, sizeof(has_chunk));
	memset(threads, 0, sizeof(threads));
	memset(shown_alloc, 0, sizeof(shown_alloc));
	memset(shown_free, 0, sizeof(shown_free));
	thread_count = THREADS;
	for (i = 0; i < THREADS; i++)
		threads[i].next = i + 1 < THREADS ? &threads[i + 1] : NULL;
	threads[0].tid = 1;
	id_limit = IDS;
	deep_frames = 0;
	busy_program = fork_in_write = rotated = log_fails = log_refuses = false;
	clock_step_ns = 0;
	clock_ns = 1000000000;
	log_text = log_text ? log_text : malloc(LOG_SIZE);
	log_size = note_size = write_count = 0;
	loss_fork_child();
	snapshot_init();
	snapshot_fork_child();
	for (i = 1; i < IDS; i++)
		hashes[i] = snapshot_entry_hash(i);
	return 0;
}

/* What one snapshot in the log says. */
struct reading {
	unsigned sequence;
	uint64_t churn, threshold, live;
	unsigned entries, rest_stacks;
	struct snapshot_sums entry_sums, rest;
	bool complete;
	size_t size;
};

/* Entries come in the order of the ids' figures: finds the one of that hash. */
static uint32_t id_of(uint64_t hash)
{
	uint32_t id;

	for (id = 1; id < IDS; id++)
		if (hashes[id] == hash)
			return id;
	fail_msg("unknown hash %llx", (unsigned long long)hash);
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

	assert_int_equal(sscanf(*at, "{%16llx} live:%llu, alloc:%llu/%llu, free:%llu/%llu%n", &hash, &live,
				&a, &all_a, &f, &all_f, &end), 6);
	assert_int_equal((*at)[end], '\n');
	assert_int_equal(live, all_a - all_f);
	assert_true(live <= *last_live);
	*last_live = live;
	id = id_of(hash);
	assert_false(shown[id]);
	shown[id] = true;
	assert_true(live > 0 || all_a != shown_alloc[id] || all_f != shown_free[id]);
	shown_alloc[id] = all_a;
	shown_free[id] = all_f;
	reading->entries++;
	reading->entry_sums.live += live;
	reading->entry_sums.alloc_new += a;
	reading->entry_sums.alloc += all_a;
	reading->entry_sums.free_new += f;
	reading->entry_sums.free += all_f;
	node = tree_stack(id)->node;
	frame = tree_stack_hook(id) != TREE_STACK_NO_HOOK;
	for (; node; node = tree_parent(node))
		frame++;
	for (*at = next_line(*at); **at == ' '; *at = next_line(*at))
		frame--;
	assert_int_equal(frame, 0);
	assert_int_equal(**at, '\n');
	*at = next_line(*at);
}

/* Reads the snapshot at text.  Returns where it ends. */
static const char *read_snapshot(const char *text, struct reading *reading)
{
	const char *at = text;
	number live, churn, threshold;
	uint64_t last_live = UINT64_MAX;
	int end = 0;

	*reading = (struct reading){0};
	memset(shown, 0, sizeof(shown));
	assert_int_equal(sscanf(at, "# time=1970-01-01T00:00:01.000Z uptime_s=%*u.%*3u live=%llu peak=", &live), 1);
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
		   &reading->rest_stacks, (number *)&reading->rest.live, (number *)&reading->rest.alloc_new,
		   (number *)&reading->rest.alloc, (number *)&reading->rest.free_new,
		   (number *)&reading->rest.free, &end) == 6)
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

/* The only snapshot in the log, which is emptied. */
static struct reading read_one(void)
{
	struct reading reading;

	assert_true(log_size > 0);
	assert_ptr_equal(read_snapshot(log_text, &reading), log_text + log_size);
	log_size = 0;
	return reading;
}

static void check(uint64_t churn)
{
	threads[0].churn = churn;
	snapshot_check(&threads[0]);
	assert_int_equal(threads[0].churn, 0);
}

/* entries + rest against the counters, nobody being at work. */
static void expect_totals(const struct reading *reading, uint64_t *all_alloc, uint64_t *all_free)
{
	uint64_t sum_alloc = 0, sum_free = 0;
	uint32_t id, stacks = 0;

	for (id = 1; id < id_limit; id++) {
		sum_alloc += sum_of(alloc, id);
		sum_free += sum_of(freed, id);
		stacks += sum_of(alloc, id) != 0;
	}
	assert_int_equal(reading->entries + reading->rest_stacks, stacks);
	assert_int_equal(reading->live, sum_alloc - sum_free);
	assert_int_equal(reading->entry_sums.alloc + reading->rest.alloc, sum_alloc);
	assert_int_equal(reading->entry_sums.free + reading->rest.free, sum_free);
	assert_int_equal(reading->entry_sums.alloc_new + reading->rest.alloc_new, sum_alloc - *all_alloc);
	assert_int_equal(reading->entry_sums.free_new + reading->rest.free_new, sum_free - *all_free);
	*all_alloc = sum_alloc;
	*all_free = sum_free;
}

/* --- tests ----------------------------------------------------------------------------------- */

static void test_exact_text(void **state)
{
	(void)state;
	event(0, 4, 12000, 6564);
	event(1, 7, 100, 100);
	event(0, 1, 7, 0);
	event(0, 63, 50, 43);
	loss_add(LOSS_EVENTS, 2);
	loss_add(LOSS_TRUNCATED, 3);
	clock_ns += 12345678901;
	check(1049);
	assert_string_equal(
		log_text,
		"# time=1970-01-01T00:00:01.000Z uptime_s=12.345 live=5450 peak=5450 rss=4096 own=1230 "
		"lost=2 events=2 truncated=3\n"
		"[  0]=========================================================\n"
		"churn=1049/1000\n\n"
		"{b73339be235ec440} live:5436, alloc:12000/12000, free:6564/6564\n"
		"  {0} /lib/libpmem.so(malloc+0x0) [0x7000]\n"
		"  {1} ./prog?ram(+0x40) [0x10040]\n\n"
		"{8aa5e2c603b0a159} live:7, alloc:50/50, free:43/43\n"
		"  {0} /lib/libpmem.so(calloc+0x0) [0x7010]\n"
		"  {1} ./prog?ram(odd+0x4) [0x103f0]\n"
		"  {2} [anonymous](+0x70) [0x10070]\n\n"
		"{5d42172d4ced023b} live:7, alloc:7/7, free:0/0\n"
		"  {0} [signal handler]\n\n"
		"{b4c125f332bb508b} live:0, alloc:100/100, free:100/100\n"
		"  {0} /lib/libpmem.so(calloc+0x0) [0x7010]\n"
		"  {1} [anonymous](+0x70) [0x10070]\n\n"
		"# end [  0]\n");
}

static void test_thousands_without_limit(void **state)
{
	uint64_t all_alloc = 0, all_free = 0;
	unsigned round;

	(void)state;
	for (round = 0; round < 6; round++) {
		uint64_t churn = 1000 + work(round == 4 ? 0 : 3000);
		struct reading reading;
		uint32_t id;

		clock_ns += 1000000000;
		check(churn);
		reading = read_one();
		assert_int_equal(reading.sequence, round);
		assert_int_equal(reading.churn, churn);
		assert_int_equal(reading.threshold, 1000);
		assert_int_equal(reading.rest.live, 0);
		expect_totals(&reading, &all_alloc, &all_free);
		for (id = 1; id < id_limit; id++) {
			assert_true(shown[id] || sum_of(alloc, id) == sum_of(freed, id));
			assert_int_equal(shown_alloc[id], sum_of(alloc, id));
			assert_int_equal(shown_free[id], sum_of(freed, id));
		}
	}
	assert_int_equal(loss_total(), 0);
}

static void test_thousands_with_limit(void **state)
{
	uint64_t all_alloc = 0, all_free = 0;
	unsigned round;

	(void)state;
	settings.log_snapshot_max = 50000;
	for (round = 0; round < 20; round++) {
		struct reading reading;
		uint64_t least = UINT64_MAX;
		uint32_t id;

		check(1000 + work(500));
		reading = read_one();
		assert_true(reading.size <= settings.log_snapshot_max);
		assert_true(reading.entries > 100);
		expect_totals(&reading, &all_alloc, &all_free);
		for (id = 1; id < id_limit; id++)
			if (shown[id] && sum_of(alloc, id) - sum_of(freed, id) < least)
				least = sum_of(alloc, id) - sum_of(freed, id);
		for (id = 1; id < id_limit; id++)
			assert_true(shown[id] || sum_of(alloc, id) - sum_of(freed, id) <= least);
	}
	assert_true(all_alloc > 0);
	settings.log_snapshot_max = 0;
	check(1000);
	read_one();
	for (id_limit = 1; id_limit < IDS; id_limit++) /* what waited in the rest comes with its final state */
		assert_int_equal(shown_free[id_limit], sum_of(freed, id_limit));
	settings.log_snapshot_max = 1;
	check(1000);
	assert_int_equal(read_one().entries, 0);
	settings = (struct settings){.log = true, .churn_thresh = 1000, .snapshot_share = 1000,
				     .log_snapshot_max = 1 << 20, .log_max = 20000};
	check(1000);
	assert_true(read_one().size <= 10000);
}

/* A dead, unchanged call stack has no entry, until the log begins anew or lost something. */
static void test_complete_after_rotation_and_loss(void **state)
{
	(void)state;
	event(0, 9, 10, 10);
	event(0, 10, 10, 0);
	check(1000);
	assert_int_equal(read_one().entries, 2);
	check(1000);
	assert_int_equal(read_one().entries, 1);
	memset(shown_alloc, 0, sizeof(shown_alloc)); /* of the new file */
	rotated = true;
	check(1000);
	assert_int_equal(read_one().entries, 2);
	log_fails = true;
	check(1000);
	assert_int_equal(log_size, 0);
	log_fails = false;
	memset(shown_alloc, 0, sizeof(shown_alloc));
	check(1000);
	assert_int_equal(read_one().entries, 2);
	check(1000);
	assert_int_equal(read_one().entries, 1);
}

/* The clock runs so fast that each slice is one step, and the program works between them and inside. */
static void test_slices_of_one_step(void **state)
{
	struct reading reading;
	uint64_t last_alloc = 0, last_free = 0;
	const char *at;
	unsigned round;

	(void)state;
	busy_program = true;
	deep_frames = 300;
	event(0, DEEP_ID, 1 << 20, 0);
	clock_step_ns = SNAPSHOT_SLICE_NS + 1;
	for (round = 0; round < 60000; round++) {
		clock_ns += 1000000000; /* never short of time */
		check(work(1));
	}
	busy_program = false;
	snapshot_final();
	assert_true(write_count > 3000); /* little by little */
	for (at = log_text, round = 0; *at; round++) {
		at = read_snapshot(at, &reading);
		assert_int_equal(reading.sequence, round);
		assert_int_equal(reading.entry_sums.alloc - reading.entry_sums.alloc_new, last_alloc);
		assert_int_equal(reading.entry_sums.free - reading.entry_sums.free_new, last_free);
		last_alloc = 0;
		last_free = 0;
		for (uint32_t id = 1; id < id_limit; id++) {
			last_alloc += shown[id] ? shown_alloc[id] : 0;
			last_free += shown[id] ? shown_free[id] : 0;
		}
		(void)last_alloc;
	}
	assert_true(round >= 3);
}
