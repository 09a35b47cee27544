/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * snapshot.c - writes the state of all call stacks to the log, when churn says so and at the end.
 *
 * A snapshot is a state machine: step() does a few microseconds of work and can be followed by the next
 * step in any thread, at any later time.
 *
 *   COLLECT  reads the counters of all call stacks, COUNTERS_CHUNK ids a step: all threads' frees
 *            first, then all threads' allocations
 *   SELECT   puts the call stacks that are live or changed into a heap
 *   ORDER    orders the heap
 *   HEAD     writes the lines above the entries
 *   ENTRY    takes the next call stack from the heap
 *   FRAME    writes one of its frames
 *   TAIL     sums up what was left out
 *
 * All state is under LOCK_SNAPSHOT but for the atomics at its top.  Text goes through one buffer; what is
 * written to the log at the end of a slice are whole entries, so that a snapshot can end early only
 * between two of them, and an entry that goes beyond the limit can still be taken back.
 *
 * A signal handler that interrupts a slice may fork.  The child then returns into the slice:
 * snapshot_fork_child() cannot reset what is in use there and only sets forked.
 */
#include "libpmem/snapshot.h"

#include <stdatomic.h>
#include <string.h>

#include "arch/arch.h"
#include "libpmem/lock.h"
#include "libpmem/log.h"
#include "libpmem/names.h"
#include "libpmem/process.h"
#include "libpmem/rss.h"
#include "libpmem/settings.h"
#include "libpmem/snapshot_entry.h"
#include "libpmem/snapshot_heap.h"
#include "libpmem/snapshot_lines.h"
#include "libpmem/symbols.h"
#include "libpmem/sys.h"
#include "libpmem/tree.h"

enum {
	TEXT_SIZE = 256 * 1024,
	TAIL_SIZE = 256,  /* "# rest" and "# end" */
	SELECT_STEP = 64, /* ids in a step */
	LIMIT_MIN = 4096, /* least churn of a thread between two calls, while more than one has a part in it */
	LIMIT_WAIT = 65536,    /* the same while a snapshot is due but may not be taken */
	RECOUNT_CHECKS = 16,   /* calls between two counts of the threads */
	CREDIT_NS = 100000000, /* time that snapshots may take before their share counts */
};

#define CHURN_GRANT_MAX ((int64_t)1 << 62)

enum phase { IDLE, COLLECT, SELECT, ORDER, HEAD, ENTRY, FRAME, TAIL };

static _Atomic uint64_t churn;	  /* bytes since the last snapshot began, as told so far */
static _Atomic uint64_t spent_ns; /* in all snapshots */
static _Atomic uint32_t threads = 1;
static _Atomic uint32_t checks;
static _Atomic bool running;	/* a snapshot is in progress: a hint */
static _Atomic bool over;	/* the final snapshot was begun: no other one begins or goes on */
static _Atomic bool unwritable; /* there is no place for a log */
static _Atomic bool forked;	/* this process began inside a slice of its parent */
static uint64_t start_ns;	/* immutable after init */

static struct lock lock = {.rank = LOCK_SNAPSHOT};

/* The snapshot in progress, and what the next one needs to know.  Under lock. */
static struct {
	enum phase phase;
	uint32_t sequence; /* of the next snapshot */
	uint32_t limit;	   /* ids below it are part of this one */
	uint32_t next_id;
	bool complete;	 /* counts every call stack as changed */
	bool incomplete; /* some text was lost: the next one is complete */
	bool final;
	bool any_event;
	uint64_t churn;
	uint64_t size_max;    /* of its text; 0 = no limit */
	uint64_t size_before; /* of its text that is no longer in the buffer */
	struct snapshot_sums total, shown;
	uint32_t id;	    /* the entry being written */
	uint32_t node;	    /* its next frame */
	uint32_t number;    /* of that frame */
	size_t entry_start; /* where it begins in the buffer */
	bool entry_cut;	    /* its beginning is no longer there */
	struct text text;
} now;

static struct counter_totals sums[COUNTERS_CHUNK]; /* under lock */

/* False in a child that was forked by a signal handler inside a slice, before or after its first event. */
static bool is_parent(void)
{
	return process_records() && !atomic_load_explicit(&forked, memory_order_relaxed);
}

/* --- text ------------------------------------------------------------------------------------ */

/* Writes the first size bytes of the buffer. */
static void flush(size_t size)
{
	bool whole = size == now.text.size;

	if (size == 0 || !is_parent())
		return;
	if (!log_write(now.text.bytes, size))
		now.incomplete = true;
	if (!whole)
		memmove(now.text.bytes, now.text.bytes + size, now.text.size - size);
	now.text.size -= size;
	now.size_before += size;
}

static bool in_entry(void)
{
	return now.phase == FRAME;
}

/* Writes what is complete. */
static void flush_entries(void)
{
	if (!in_entry()) {
		flush(now.text.size);
		return;
	}
	flush(now.entry_start);
	now.entry_start = 0;
}

/* Makes room for one more line. */
static void make_room(void)
{
	if (now.text.room - now.text.size >= SNAPSHOT_ENTRY_LINE_MAX)
		return;
	flush_entries();
	if (now.text.room - now.text.size >= SNAPSHOT_ENTRY_LINE_MAX)
		return;
	flush(now.text.size);
	now.entry_cut = true;
}

static uint64_t text_total(void)
{
	return now.size_before + now.text.size;
}

/* --- steps ----------------------------------------------------------------------------------- */

static struct snapshot_sums sums_of(const struct snapshot_record *record)
{
	return (struct snapshot_sums){.live = snapshot_live(record),
				      .alloc = record->alloc,
				      .alloc_new = record->alloc_new,
				      .free = record->free,
				      .free_new = record->free_new};
}

static void add_sums(struct snapshot_sums *to, const struct snapshot_record *record)
{
	struct snapshot_sums more = sums_of(record);

	to->stacks++;
	to->live += more.live;
	to->alloc += more.alloc;
	to->alloc_new += more.alloc_new;
	to->free += more.free;
	to->free_new += more.free_new;
}

/* Reads one side of the counters [first, end) of all threads into sums[].  Returns true if any thread has them. */
static bool read_counters(uint32_t first, uint32_t end,
			  void (*read)(const struct counters *, uint32_t, struct counter_totals *))
{
	const struct thread *thread;
	bool any = false;
	uint32_t id;

	for (thread = thread_first(); thread; thread = thread->next) {
		if (!counters_has_chunk(&thread->counters, first))
			continue;
		for (id = first; id < end; id++)
			read(&thread->counters, id, &sums[id - first]);
		any = true;
	}
	return any;
}

static void note_counts(uint32_t id, const struct counter_totals *counts)
{
	struct snapshot_record *record = snapshot_heap_record(id);

	record->alloc_new = counts->alloc_bytes - record->alloc;
	record->free_new = counts->free_bytes - record->free;
	record->alloc = counts->alloc_bytes;
	record->free = counts->free_bytes;
	if ((counts->alloc_count | counts->free_count) == 0)
		return;
	now.any_event = true;
	/* The first time even if all its blocks have 0 bytes. */
	if (!(record->flags & SNAPSHOT_SEEN))
		record->flags |= SNAPSHOT_SEEN | SNAPSHOT_CHANGED;
	if (now.complete || (record->alloc_new | record->free_new) != 0)
		record->flags |= SNAPSHOT_CHANGED;
	add_sums(&now.total, record);
}

static void collect(void)
{
	uint32_t first = now.next_id;
	uint32_t end = first + COUNTERS_CHUNK < now.limit ? first + COUNTERS_CHUNK : now.limit;
	bool any;
	uint32_t id;

	memset(sums, 0, sizeof(sums));
	any = read_counters(first, end, counters_read_frees);
	any |= read_counters(first, end, counters_read_allocs);
	for (id = first; any && id < end; id++)
		note_counts(id, &sums[id - first]);
	now.next_id = end;
	if (end < now.limit)
		return;
	now.next_id = 0;
	now.phase = now.any_event ? SELECT : IDLE;
}

static void select_changed(void)
{
	uint32_t end = now.limit - now.next_id > SELECT_STEP ? now.next_id + SELECT_STEP : now.limit;

	for (; now.next_id < end; now.next_id++) {
		const struct snapshot_record *record = snapshot_heap_record(now.next_id);

		if ((record->flags & SNAPSHOT_SEEN) &&
		    (snapshot_live(record) > 0 || (record->flags & SNAPSHOT_CHANGED)))
			snapshot_heap_add(now.next_id);
	}
	if (end == now.limit)
		now.phase = ORDER;
}

static void head(void)
{
	struct snapshot_facts facts;

	if (!log_open()) {
		atomic_store_explicit(&unwritable, true, memory_order_relaxed);
		now.phase = IDLE;
		return;
	}
	facts = (struct snapshot_facts){.sequence = now.sequence,
					.churn = now.churn,
					.live = now.total.live,
					.uptime_ns = sys_monotonic_ns() - start_ns,
					.final = now.final};
	snapshot_lines_head(&now.text, &facts);
	now.phase = ENTRY;
}

static void begin_entry(void)
{
	struct snapshot_record *record;
	struct snapshot_sums numbers;
	uint32_t hook;

	now.id = snapshot_heap_pop();
	if (now.id == 0) {
		now.phase = TAIL;
		return;
	}
	make_room();
	record = snapshot_heap_record(now.id);
	numbers = sums_of(record);
	hook = tree_stack_hook(now.id);
	now.node = tree_stack(now.id)->node;
	now.number = 0;
	now.entry_start = now.text.size;
	now.entry_cut = false;
	now.phase = FRAME;
	if (!(record->flags & SNAPSHOT_HASHED)) {
		record->hash = snapshot_entry_hash(now.id);
		record->flags |= SNAPSHOT_HASHED;
	}
	snapshot_entry_head(&now.text, record->hash, &numbers);
	if (hook == TREE_STACK_NO_HOOK)
		return;
	make_room();
	snapshot_entry_hook(&now.text, (enum hook)hook);
	now.number++;
}

/* The entry is complete.  If it takes the snapshot beyond its limit it is taken back, and the
 * snapshot ends. */
static void end_entry(void)
{
	struct snapshot_record *record = snapshot_heap_record(now.id);
	bool beyond = now.size_max != 0 && text_total() + TAIL_SIZE > now.size_max;

	now.phase = beyond ? TAIL : ENTRY;
	if (beyond && !now.entry_cut) {
		now.text.size = now.entry_start;
		return;
	}
	record->flags &= ~(uint32_t)SNAPSHOT_CHANGED;
	add_sums(&now.shown, record);
}

static void put_frame(void)
{
	make_room();
	if (now.node != TREE_ROOT) {
		snapshot_entry_frame(&now.text, now.node, now.number++);
		now.node = tree_parent(now.node);
		return;
	}
	text_char(&now.text, '\n');
	end_entry();
}

static void tail(void)
{
	make_room();
	snapshot_lines_tail(&now.text, now.sequence, &now.total, &now.shown);
	now.sequence++;
	now.phase = IDLE;
}

static void step(void)
{
	switch (now.phase) {
	case IDLE:
		break;
	case COLLECT:
		collect();
		break;
	case SELECT:
		select_changed();
		break;
	case ORDER:
		if (snapshot_heap_order())
			now.phase = HEAD;
		break;
	case HEAD:
		head();
		break;
	case ENTRY:
		begin_entry();
		break;
	case FRAME:
		put_frame();
		break;
	case TAIL:
		tail();
		break;
	}
}

/* --- slices ---------------------------------------------------------------------------------- */

static void set_phase(enum phase phase)
{
	now.phase = phase;
	atomic_store_explicit(&running, phase != IDLE, memory_order_relaxed);
}

static void reset_child(void)
{
	snapshot_heap_fork_child();
	snapshot_entry_fork_child();
	snapshot_lines_fork_child();
	now.text.size = 0;
	now.sequence = 0;
	now.incomplete = false;
	now.final = false;
	set_phase(IDLE);
	atomic_store_explicit(&forked, false, memory_order_relaxed);
}

/* Goes on with the snapshot until it is done or the time is deadline_ns. */
static void run(uint64_t deadline_ns)
{
	uint64_t begin_ns = sys_monotonic_ns(), time = begin_ns;

	while (now.phase != IDLE && is_parent()) {
		step();
		time = sys_monotonic_ns();
		if (time >= deadline_ns)
			break;
	}
	flush_entries();
	atomic_fetch_add_explicit(&spent_ns, time - begin_ns, memory_order_relaxed);
	if (atomic_load_explicit(&forked, memory_order_relaxed))
		reset_child();
	set_phase(now.phase);
}

/* Bytes of text that a snapshot may take: two of the largest fit into one generation of the log. */
static uint64_t text_limit(void)
{
	uint64_t half = settings.log_max / 2;

	if (settings.log_max == 0 || settings.log_snapshot_max == 0)
		return settings.log_snapshot_max;
	return settings.log_snapshot_max < half ? settings.log_snapshot_max : half;
}

static uint64_t untold_by(const struct thread *thread)
{
	int64_t grant = __atomic_load_n(&thread->churn_grant, __ATOMIC_RELAXED);

	return (uint64_t)(grant - __atomic_load_n(&thread->churn_left, __ATOMIC_RELAXED));
}

/* What the threads have not told yet. */
static uint64_t untold_churn(void)
{
	const struct thread *thread;
	uint64_t sum = 0;

	for (thread = thread_first(); thread; thread = thread->next)
		sum += untold_by(thread);
	return sum;
}

static void count_threads(void)
{
	const struct thread *thread;
	uint32_t count = 0;

	for (thread = thread_first(); thread; thread = thread->next)
		if (atomic_load_explicit(&thread->tid, memory_order_relaxed) != 0)
			count++;
	atomic_store_explicit(&threads, count ? count : 1, memory_order_relaxed);
}

/* Begins a snapshot.  Returns false, and nothing begins, when memory is exhausted. */
static bool begin(void)
{
	if (!now.text.bytes) {
		now.text.bytes = sys_map(TEXT_SIZE);
		now.text.room = now.text.bytes ? TEXT_SIZE : 0;
	}
	count_threads();
	now.limit = tree_stack_limit();
	if (!now.text.bytes || !snapshot_heap_grow(now.limit))
		return false;
	snapshot_heap_clear();
	now.size_max = text_limit();
	log_make_room(now.size_max ? now.size_max : settings.log_max / 2);
	now.complete = log_rotated() || now.incomplete;
	now.incomplete = false;
	now.churn = atomic_exchange_explicit(&churn, 0, memory_order_relaxed);
	now.next_id = 0;
	now.any_event = false;
	now.size_before = 0;
	now.total = now.shown = (struct snapshot_sums){0};
	set_phase(COLLECT);
	return true;
}

static bool is_off(void)
{
	return !settings.log || atomic_load_explicit(&over, memory_order_relaxed) ||
	       atomic_load_explicit(&unwritable, memory_order_relaxed);
}

static bool is_due(void)
{
	uint64_t spent = atomic_load_explicit(&spent_ns, memory_order_relaxed);

	if (atomic_load_explicit(&churn, memory_order_relaxed) < settings.churn_thresh)
		return false;
	return spent <= CREDIT_NS || spent - CREDIT_NS <= (sys_monotonic_ns() - start_ns) / 1000 *
								  settings.snapshot_share;
}

static void slice(void)
{
	if (!lock_try(&lock))
		return;
	if (!is_off() && (now.phase != IDLE || (is_due() && begin())))
		run(sys_monotonic_ns() + SNAPSHOT_SLICE_NS);
	lock_drop(&lock);
}

/* The thread's next call is due after size bytes. */
static void grant_churn(struct thread *thread, uint64_t size)
{
	thread->churn_grant = thread->churn_left = size < CHURN_GRANT_MAX ? (int64_t)size
									  : CHURN_GRANT_MAX;
}

static void set_limit(struct thread *thread)
{
	uint64_t told = atomic_load_explicit(&churn, memory_order_relaxed);
	uint32_t count = atomic_load_explicit(&threads, memory_order_relaxed);
	uint64_t left = told < settings.churn_thresh ? settings.churn_thresh - told : 0;
	uint64_t least = LIMIT_MIN;

	if (atomic_load_explicit(&running, memory_order_relaxed)) {
		left = 0;
	} else if (left == 0) {
		left = settings.churn_thresh / (2 * (uint64_t)count);
		least = LIMIT_WAIT;
	} else if (count > 1) {
		left /= 2 * (uint64_t)count;
	} else {
		least = 0;
	}
	grant_churn(thread, left > least ? left : least);
}

void snapshot_check(struct thread *thread)
{
	uint32_t count;

	atomic_fetch_add_explicit(&churn, untold_by(thread), memory_order_relaxed);
	if (is_off()) {
		grant_churn(thread, CHURN_GRANT_MAX);
		return;
	}
	count = atomic_fetch_add_explicit(&checks, 1, memory_order_relaxed);
	if (thread->churn_grant == 0 || count % RECOUNT_CHECKS == 0)
		count_threads();
	if (atomic_load_explicit(&running, memory_order_relaxed) || is_due())
		slice();
	set_limit(thread);
}

/* --- the end --------------------------------------------------------------------------------- */

static bool take_lock_at_end(void)
{
	uint64_t give_up_ns = sys_monotonic_ns() + SNAPSHOT_FINAL_WAIT_NS;

	while (!lock_try(&lock)) {
		if (lock_mine(&lock) || sys_monotonic_ns() >= give_up_ns)
			return false;
		arch_pause();
		if (!sys_sandboxed())
			sys_call(SYS_sched_yield, 0, 0, 0, 0);
	}
	return true;
}

/* A snapshot of all that was recorded, whatever is due; what is in progress is ended first. */
static void write_all(void)
{
	static const char missing[] = "# final snapshot missing, see profile\n";
	bool done = false;

	if (take_lock_at_end()) {
		run(UINT64_MAX);
		atomic_fetch_add_explicit(&churn, untold_churn(), memory_order_relaxed);
		now.final = true;
		done = begin();
		run(UINT64_MAX);
		lock_drop(&lock);
	}
	if (!done)
		log_note(missing, sizeof(missing) - 1);
}

void snapshot_now(void)
{
	if (!is_off())
		write_all();
}

void snapshot_final(void)
{
	if (!is_off() && !atomic_exchange_explicit(&over, true, memory_order_relaxed))
		write_all();
}

void snapshot_open_log(void)
{
	if (is_off() || !lock_try(&lock))
		return;
	log_open();
	lock_drop(&lock);
}

void snapshot_enter_sandbox(void)
{
	if (is_off() || !lock_try(&lock))
		return;
	log_open();
	names_preload();
	lock_drop(&lock);
}

/* --- start ----------------------------------------------------------------------------------- */

void snapshot_init(void)
{
	start_ns = sys_monotonic_ns();
	if (!settings.log)
		return;
	rss_init();
	symbols_init();
}

void snapshot_fork_child(void)
{
	atomic_store_explicit(&churn, 0, memory_order_relaxed);
	atomic_store_explicit(&spent_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&threads, 1, memory_order_relaxed);
	atomic_store_explicit(&over, false, memory_order_relaxed);
	atomic_store_explicit(&unwritable, false, memory_order_relaxed);
	start_ns = sys_monotonic_ns();
	if (settings.log)
		rss_fork_child();
	if (lock_mine(&lock)) {
		atomic_store_explicit(&forked, true, memory_order_relaxed);
		return;
	}
	lock_reset(&lock);
	reset_child();
}
