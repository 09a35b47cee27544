/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * snapshot.c - writes the state of all call stacks to the log, when churn says so and at the end.
 *
 * A snapshot is a state machine: step() can be followed by the next step in any thread, at any
 * later time.  A step takes microseconds, but for two that cannot be divided: the first name of a
 * module makes the index of its symbols, and HEAD asks for the live table's resident pages
 * (mincore(2)).
 *
 *   COLLECT  reads the counters of all call stacks, FORMAT_CHUNK ids a step: all threads' frees
 *            first, then all threads' allocations
 *   SELECT   puts the call stacks that are live or changed into a heap
 *   ORDER    orders the heap
 *   HEAD     writes the lines above the entries
 *   ENTRY    takes the next call stack from the heap
 *   FRAME    writes some of its frames
 *   TAIL     sums up what was left out
 *
 * All state is under LOCK_SNAPSHOT but for the atomics at its top.  Text goes through one buffer;
 * what is written to the log at the end of a slice are whole entries, so that a snapshot can end
 * early only between two of them, and an entry that goes beyond the limit can still be taken
 * back.
 *
 * When the log refuses text, or there is no memory for the numbers of a call stack, the snapshot is
 * cut: what remains of it is dropped.  The next one is complete, has the same number, and its
 * differences are those since the last one that was not cut.
 *
 * A signal handler that interrupts a slice may fork.  The child then returns into the slice:
 * snapshot_fork_child() cannot reset what is in use there and only sets forked.
 */
#include "libpmem/snapshot.h"

#include <stdatomic.h>
#include <string.h>

#include "arch/arch.h"
#include "libpmem/churn.h"
#include "libpmem/last_words.h"
#include "libpmem/lock.h"
#include "libpmem/log.h"
#include "libpmem/loss.h"
#include "libpmem/names.h"
#include "libpmem/process.h"
#include "libpmem/rss.h"
#include "libpmem/settings.h"
#include "libpmem/snapshot_budget.h"
#include "libpmem/snapshot_entry.h"
#include "libpmem/snapshot_heap.h"
#include "libpmem/snapshot_lines.h"
#include "libpmem/snapshot_records.h"
#include "libpmem/store.h"
#include "libpmem/symbols.h"
#include "libpmem/sys.h"
#include "libpmem/timeline.h"
#include "libpmem/tree.h"

enum {
	TEXT_SIZE = 256 * 1024,
	TAIL_SIZE = 256,  /* "# rest" and "# end" */
	SELECT_STEP = 64, /* ids in a step */
	FRAMES_STEP = 16, /* frames in a step */
};

enum phase { IDLE, COLLECT, SELECT, ORDER, HEAD, ENTRY, FRAME, TAIL }; /* in this order */

static _Atomic bool running;	/* a snapshot is in progress: a hint */
static _Atomic bool over;	/* the final snapshot was begun: no other one begins or goes on */
static _Atomic bool unwritable; /* there is no place for a log */
static _Atomic bool wanted;	/* a snapshot is due whatever churn says: after last words */
static _Atomic bool forked;	/* this process began inside a slice of its parent */
static uint64_t start_ns;	/* immutable after init */

static struct lock lock = {.rank = LOCK_SNAPSHOT};

/* The snapshot in progress, and what the next one needs to know.  Under lock. */
static struct {
	enum phase phase;
	uint32_t sequence; /* of the next snapshot */
	uint32_t limit;	   /* ids below it are part of this one */
	uint32_t next_id;
	bool complete;	   /* counts every call stack as changed */
	bool cut;	   /* nothing more is written of it */
	bool lacks_memory; /* for the numbers of a call stack: counted */
	enum snapshot_since since;
	bool final;
	bool last_words; /* it follows them */
	bool any_event;
	uint64_t churn;	      /* since the last one that was not cut */
	uint64_t size_max;    /* of its text; 0 = no limit */
	uint64_t size_before; /* of its text that is no longer in the buffer */
	struct snapshot_sums total, shown;
	uint32_t id; /* of the entry being written */
	struct snapshot_entry entry;
	size_t entry_start; /* where it begins in the buffer */
	bool entry_cut;	    /* its beginning is no longer there */
	struct text text;
} now;

static struct counter_totals sums[FORMAT_CHUNK]; /* under lock */

/* False in a child that was forked by a signal handler inside a slice, before or after its first
 * event. */
static bool is_parent(void)
{
	return process_records() && !atomic_load_explicit(&forked, memory_order_relaxed);
}

/* --- text ------------------------------------------------------------------------------------ */

static bool have_buffer(void)
{
	if (!now.text.bytes) {
		now.text.bytes = sys_map(TEXT_SIZE);
		now.text.room = now.text.bytes ? TEXT_SIZE : 0;
	}
	return now.text.bytes;
}

/* Writes the first size bytes of the buffer, or drops them if the snapshot is cut. */
static void flush(size_t size)
{
	bool whole = size == now.text.size;

	if (size == 0 || !is_parent())
		return;
	if (!now.cut && !log_write(now.text.bytes, size))
		now.cut = true;
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
	if (!now.entry_cut)
		snapshot_entry_put_hash(&now.entry, now.text.bytes + now.entry_start);
	flush(now.text.size);
	now.entry_cut = true;
}

static uint64_t text_total(void)
{
	return now.size_before + now.text.size;
}

/* --- steps ----------------------------------------------------------------------------------- */

/* Without memory it goes on to the end of COLLECT, so that all records are of one moment, and is cut then. */
static void note_counts(uint32_t id, const struct counter_totals *counts)
{
	struct snapshot_sums noted = {.stacks = 1, .alloc = counts->alloc_bytes};

	/* More only where a stale block's size was guessed too large. */
	noted.free = counts->free_bytes < noted.alloc ? counts->free_bytes : noted.alloc;
	noted.live = noted.alloc - noted.free;
	if (!snapshot_records_update(id, now.since, &noted))
		now.lacks_memory = true;
	if ((counts->alloc_count | counts->free_count) == 0)
		return;
	now.any_event = true;
	/* The first time even if all its blocks have 0 bytes. */
	if (now.complete || (noted.alloc_new | noted.free_new) != 0 ||
	    !snapshot_records_has(id, SNAPSHOT_SEEN))
		snapshot_records_mark(id, SNAPSHOT_SEEN | SNAPSHOT_CHANGED);
	snapshot_sums_add(&now.total, &noted);
}

/* A program all of whose events were lost, or that only maps memory itself, must not pass for one that had none. */
static bool has_other_events(void)
{
	return loss_count(FORMAT_LOSS_EVENTS) > 0 ||
	       atomic_load_explicit(&store_head()->mapping_count, memory_order_relaxed) > 0;
}

static void collect(void)
{
	uint32_t first = now.next_id;
	uint32_t end = first + FORMAT_CHUNK < now.limit ? first + FORMAT_CHUNK : now.limit;
	bool any;
	uint32_t id;

	memset(sums, 0, sizeof(sums));
	any = thread_read_counters(first, end, counters_read_frees, sums);
	any |= thread_read_counters(first, end, counters_read_allocs, sums);
	for (id = first; any && id < end; id++)
		note_counts(id, &sums[id - first]);
	now.next_id = end;
	if (end < now.limit)
		return;
	now.next_id = 0;
	now.cut = now.lacks_memory;
	now.phase = now.any_event || has_other_events() ? SELECT : IDLE;
}

static void select_changed(void)
{
	uint32_t left = now.limit - now.next_id;
	uint32_t end = left > SELECT_STEP ? now.next_id + SELECT_STEP : now.limit;

	for (; now.next_id < end; now.next_id++) {
		if (snapshot_records_has(now.next_id, SNAPSHOT_SEEN) &&
		    (snapshot_records_has(now.next_id, SNAPSHOT_CHANGED) ||
		     snapshot_records_get(now.next_id).live > 0))
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
					.spent_ns = snapshot_budget_spent(),
					.final = now.final,
					.last_words = now.last_words};
	snapshot_lines_head(&now.text, &facts);
	now.phase = ENTRY;
}

static void begin_entry(void)
{
	struct snapshot_sums numbers;

	now.id = snapshot_heap_pop();
	if (now.id == 0) {
		now.phase = TAIL;
		return;
	}
	/* Before what may write: a handler that forks there leaves the child without this call stack. */
	now.entry = snapshot_entry_begin(now.id);
	numbers = snapshot_records_get(now.id);
	make_room();
	now.entry_start = now.text.size;
	now.entry_cut = false;
	now.phase = FRAME;
	snapshot_entry_head(&now.text, &numbers);
}

/* The entry is complete.  If it takes the snapshot beyond its limit it is taken back, and the
 * snapshot ends. */
static void end_entry(void)
{
	struct snapshot_sums numbers = snapshot_records_get(now.id);
	bool beyond = now.size_max != 0 && text_total() + TAIL_SIZE > now.size_max;

	now.phase = beyond ? TAIL : ENTRY;
	if (beyond && !now.entry_cut) {
		now.text.size = now.entry_start;
		return;
	}
	if (!now.entry_cut)
		snapshot_entry_put_hash(&now.entry, now.text.bytes + now.entry_start);
	snapshot_records_unmark(now.id, SNAPSHOT_CHANGED);
	snapshot_sums_add(&now.shown, &numbers);
}

static void put_frame(void)
{
	make_room();
	if (snapshot_entry_frame(&now.entry, &now.text))
		return;
	text_char(&now.text, '\n');
	end_entry();
}

/* The clock is looked at after a step, which costs more than a frame. */
static void put_frames(void)
{
	for (int i = 0; i < FRAMES_STEP && now.phase == FRAME; i++)
		put_frame();
}

static void tail(void)
{
	make_room();
	snapshot_lines_tail(&now.text, now.sequence, &now.total, &now.shown);
	flush(now.text.size);
	if (!now.cut)
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
		put_frames();
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
	snapshot_records_fork_child();
	snapshot_entry_fork_child();
	snapshot_lines_fork_child();
	now.text.size = 0;
	now.sequence = 0;
	now.cut = now.final = false;
	atomic_store_explicit(&wanted, false, memory_order_relaxed);
	set_phase(IDLE);
	atomic_store_explicit(&forked, false, memory_order_relaxed);
}

/* Goes on with the snapshot until it is done or cut, or the time is deadline_ns. */
static void run(uint64_t deadline_ns)
{
	uint64_t begin_ns = sys_monotonic_ns(), time = begin_ns;
	uint64_t size_before = now.size_before;

	while (now.phase != IDLE && !now.cut && is_parent()) {
		step();
		time = sys_monotonic_ns();
		if (time >= deadline_ns)
			break;
	}
	flush_entries();
	if (now.cut) {
		now.text.size = 0;
		now.phase = IDLE;
	}
	/* In a child that came back into its parent's slice time and text are the parent's. */
	if (atomic_load_explicit(&forked, memory_order_relaxed)) {
		reset_child();
	} else {
		snapshot_budget_spend(time - begin_ns);
		snapshot_budget_write(now.size_before - size_before);
	}
	set_phase(now.phase);
}

/* Begins a snapshot.  Returns false, and nothing begins, when memory is exhausted. */
static bool begin(void)
{
	churn_count_threads();
	now.limit = tree_stack_limit();
	if (!have_buffer() || !snapshot_records_grow(now.limit))
		return false;
	snapshot_heap_clear();
	now.size_max = snapshot_budget_text();
	log_make_room(now.size_max ? now.size_max : settings.log_max / 2);
	now.since = now.cut ? SNAPSHOT_SINCE_ONE_NOT_CUT : SNAPSHOT_SINCE_LAST;
	now.complete = log_begun_anew() || now.cut;
	now.churn = churn_take() + (now.cut ? now.churn : 0);
	now.cut = now.lacks_memory = false;
	now.last_words = atomic_exchange_explicit(&wanted, false, memory_order_relaxed);
	now.next_id = 0;
	snapshot_budget_begin(now.limit);
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
	return atomic_load_explicit(&wanted, memory_order_relaxed) ||
	       (churn_told() >= settings.churn_thresh &&
		snapshot_budget_allows(sys_monotonic_ns() - start_ns, tree_stack_limit()));
}

static void slice(void)
{
	if (!lock_try(&lock))
		return;
	if (!is_off() && (now.phase != IDLE || (is_due() && begin())))
		run(sys_monotonic_ns() + SNAPSHOT_SLICE_NS);
	lock_drop(&lock);
}

static void log_last_words(void)
{
	const struct text *said = last_words_say();

	if (!said || is_off() || !is_parent())
		return;
	atomic_store_explicit(&wanted, true, memory_order_relaxed);
	if (log_open() && !log_write(said->bytes, said->size) && now.phase > HEAD)
		now.cut = true;
	if (now.phase != IDLE || begin())
		run(sys_monotonic_ns() + SNAPSHOT_SLICE_NS);
}

void snapshot_look(void)
{
	timeline_check();
	if (!last_words_check() || !lock_try(&lock))
		return;
	if (is_parent())
		log_last_words();
	lock_drop(&lock);
}

void snapshot_check(struct thread *thread)
{
	if (churn_more(thread))
		return;
	churn_tell(thread);
	snapshot_look();
	if (is_off()) {
		churn_grant_all(thread);
		return;
	}
	if (atomic_load_explicit(&running, memory_order_relaxed) || is_due())
		slice();
	if (atomic_load_explicit(&running, memory_order_relaxed))
		churn_grant_least(thread);
	else
		churn_grant_next(thread);
}

/* --- the end --------------------------------------------------------------------------------- */

/* For what cannot come later.  Returns false if this thread has the lock, or another one keeps
 * it. */
static bool take_lock(void)
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

	if (take_lock()) {
		run(UINT64_MAX);
		churn_tell_all();
		now.final = true;
		names_program();
		done = begin();
		run(UINT64_MAX);
		done = done && !now.lacks_memory;
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
	static const char
		line[] = "# sandbox: no more files are opened; children forked from here on "
			 "are not recorded\n";

	if (is_off())
		return;
	if (!take_lock()) {
		log_note(line, sizeof(line) - 1);
		return;
	}
	/* Its own loss cuts a snapshot that has text already. */
	if (log_open() && !log_write(line, sizeof(line) - 1) && now.phase > HEAD)
		now.cut = true;
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
	/* While there is memory: the program may set limits (RLIMIT_AS) that leave none. */
	have_buffer();
	snapshot_records_grow(1);
}

void snapshot_fork_child(void)
{
	churn_fork_child();
	snapshot_budget_fork_child();
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
