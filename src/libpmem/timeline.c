/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * timeline.c - when a point is taken, and the walk over all call stacks after it, see timeline.h.
 *
 * A walk reads FORMAT_CHUNK ids a step: all threads' frees first, then all threads' allocations, so that live is never
 * negative.  Its samples have the time of the point that it began with, and when it is complete that point gets the sums.
 *
 * A signal handler that interrupts a slice may fork.  The child then returns into the slice, whose memory in the store is
 * the parent's: is_parent() ends it before the next step.  timeline_fork_child() cannot reset what is in use there and
 * only sets forked.
 */
#include "libpmem/timeline.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "core/format.h"
#include "libpmem/churn.h"
#include "libpmem/counters.h"
#include "libpmem/lock.h"
#include "libpmem/loss.h"
#include "libpmem/mappings.h"
#include "libpmem/peak.h"
#include "libpmem/points.h"
#include "libpmem/process.h"
#include "libpmem/rss.h"
#include "libpmem/series.h"
#include "libpmem/settings.h"
#include "libpmem/store.h"
#include "libpmem/sys.h"
#include "libpmem/thread.h"
#include "libpmem/tree.h"

enum { MS_NS = 1000000 };

static _Atomic uint64_t due_ns = UINT64_MAX; /* of CLOCK_MONOTONIC: when the next point is due */
static _Atomic bool walking;		     /* a walk is in progress: a hint */
static _Atomic uint64_t look_ns; /* of CLOCK_MONOTONIC: the latest timeline_check(); 0 = none yet */
static _Atomic uint64_t spent_ns; /* on all this; written under lock */
static _Atomic bool forked;	  /* this process began inside a slice of its parent */

static struct lock lock = {.rank = LOCK_TIMELINE};

/* The walk in progress.  Under lock. */
static struct {
	struct format_point *point; /* NULL = there is no walk */
	uint64_t time_ns;	    /* of the point */
	uint64_t least;		    /* bytes that are worth a sample */
	uint32_t next_id;
	uint32_t limit;
	uint32_t next_mapping; /* after all ids */
	uint64_t alloc_bytes;  /* sums */
	uint64_t alloc_count;
	uint64_t cost_ns; /* so far; of the last one when there is none */
} walk;

static uint64_t last_live;	      /* bytes, at the latest point; under lock */
static struct timeline_event present; /* not of the moment that is looked back at; under lock */

static _Atomic uint32_t last_epoch; /* of the peak, when it was last looked at */

static struct counter_totals totals[FORMAT_CHUNK]; /* under lock */

static uint64_t get(const _Atomic uint64_t *from)
{
	return atomic_load_explicit(from, memory_order_relaxed);
}

static void set(_Atomic uint64_t *to, uint64_t value)
{
	atomic_store_explicit(to, value, memory_order_relaxed);
}

/* False in a child that was forked by a signal handler inside a slice, before or after its first event. */
static bool is_parent(void)
{
	return process_records() && !atomic_load_explicit(&forked, memory_order_relaxed);
}

static bool is_off(void)
{
	return settings.timeline_ms == 0;
}

/* Time since the start of the process. */
static uint64_t since_start(uint64_t now_ns)
{
	uint64_t start_ns = store_head()->start_monotonic_ns;

	return now_ns > start_ns ? now_ns - start_ns : 0;
}

/* --- budget ---------------------------------------------------------------------------------- */

static bool may_spend(uint64_t more_ns, uint64_t now_ns)
{
	uint64_t share = since_start(now_ns) / TIMELINE_SHARE;

	return get(&spent_ns) + more_ns <= (share > TIMELINE_CREDIT_NS ? share : TIMELINE_CREDIT_NS);
}

static void spend(uint64_t time_ns)
{
	set(&spent_ns, get(&spent_ns) + time_ns);
	set(&store_head()->timeline_ns, get(&spent_ns));
}

/* --- points ---------------------------------------------------------------------------------- */

static void note_peak(uint64_t time_ns)
{
	uint32_t epoch = peak_epoch();

	if (epoch == atomic_load_explicit(&last_epoch, memory_order_relaxed))
		return;
	atomic_store_explicit(&last_epoch, epoch, memory_order_relaxed);
	set(&store_head()->peak_ns, time_ns);
}

static uint64_t live_bytes(void)
{
	uint64_t live = peak_live_bytes();

	return live > present.bytes ? live - present.bytes : 0;
}

/* Takes a point, of now or of a moment since which little happened.  Returns its place, or NULL. */
static struct format_point *take_point(uint64_t now_ns, struct points_values *values)
{
	struct format_header *head = store_head();
	struct format_point *point;
	uint64_t time_ns = since_start(now_ns);
	struct rss_sizes sizes;

	/* The coarse clock may stand still, or not have passed the start yet. */
	values->time_ns = time_ns > points_last_ns() ? time_ns : points_last_ns() + 1;
	values->live_bytes = last_live = live_bytes();
	values->rss_bytes = rss_bytes();
	sizes = rss_sizes();
	values->lost_events = loss_count(FORMAT_LOSS_EVENTS);
	values->mapped_bytes = mappings_bytes();
	/* A signal handler may have forked by now. */
	if (!is_parent())
		return NULL;
	/* What is left out may have made the peak. */
	if (!present.stack_id)
		note_peak(values->time_ns);
	point = points_add(values);
	set(&head->live_bytes_hint, values->live_bytes);
	set(&head->update_ns, values->time_ns);
	set(&head->address_bytes, sizes.address_bytes);
	set(&head->data_bytes, sizes.data_bytes);
	set(&due_ns, head->start_monotonic_ns + points_due_ns());
	return point;
}

/* --- the walk -------------------------------------------------------------------------------- */

static void set_point(struct format_point *point)
{
	walk.point = point;
	atomic_store_explicit(&walking, point != NULL, memory_order_relaxed);
}

static void begin_walk(struct format_point *point, const struct points_values *values)
{
	uint64_t part = values->live_bytes / TIMELINE_PART;

	walk.time_ns = values->time_ns;
	walk.least = part > TIMELINE_LEAST ? part : TIMELINE_LEAST;
	walk.next_id = 0;
	walk.limit = tree_stack_limit();
	walk.next_mapping = 0;
	walk.alloc_bytes = walk.alloc_count = 0;
	walk.cost_ns = 0;
	set_point(point);
}

/* Gives its point the sums, if the point is still there. */
static void end_walk(void)
{
	struct format_point *point = walk.point;

	set_point(NULL);
	if (get(&point->time_ns) != walk.time_ns)
		return;
	/* The count last: readers take it for known when it is not 0. */
	set(&point->alloc_bytes, walk.alloc_bytes);
	atomic_store_explicit(&point->alloc_count, walk.alloc_count, memory_order_release);
}

static void leave_out_present(struct counter_totals *read)
{
	read->alloc_bytes -= present.bytes < read->alloc_bytes ? present.bytes : read->alloc_bytes;
	read->alloc_count -= read->alloc_count > 0;
}

static void note(uint32_t id, const struct counter_totals *read)
{
	/* Freed is more only where a stale block's size was guessed too large. */
	uint64_t freed = read->free_bytes < read->alloc_bytes ? read->free_bytes : read->alloc_bytes;
	const struct series_reading reading = {.time_ns = walk.time_ns,
					       .live_bytes = read->alloc_bytes - freed,
					       .alloc_bytes = read->alloc_bytes};

	walk.alloc_bytes += read->alloc_bytes;
	walk.alloc_count += read->alloc_count;
	/* Without an event it may be one that maps memory: step_mappings(). */
	if (id > 0 && (read->alloc_count | read->free_count))
		series_note(id, &reading, walk.least);
}

/* What the program maps itself.  A fixed id's samples are those of its blocks. */
static void step_mappings(void)
{
	const uint32_t end = walk.next_mapping + FORMAT_CHUNK;
	struct mappings_counts counts;
	struct series_reading reading = {.time_ns = walk.time_ns};

	for (; walk.next_mapping < end && is_parent(); walk.next_mapping++) {
		if (!mappings_read(walk.next_mapping, &counts)) {
			end_walk();
			return;
		}
		reading.live_bytes = counts.mapped_bytes - counts.unmapped_bytes;
		reading.alloc_bytes = counts.mapped_bytes;
		if (counts.stack_id >= TREE_STACK_FIRST)
			series_note(counts.stack_id, &reading, walk.least);
	}
}

static void step(void)
{
	uint32_t first = walk.next_id;
	uint32_t end = walk.limit - first > FORMAT_CHUNK ? first + FORMAT_CHUNK : walk.limit;
	bool any;
	uint32_t id;

	memset(totals, 0, sizeof(totals));
	any = thread_read_counters(first, end, counters_read_frees, totals);
	any |= thread_read_counters(first, end, counters_read_allocs, totals);
	if (present.stack_id >= first && present.stack_id < end && present.stack_id)
		leave_out_present(&totals[present.stack_id - first]);
	for (id = first; any && id < end && is_parent(); id++)
		note(id, &totals[id - first]);
	walk.next_id = end;
	if (end >= walk.limit && is_parent())
		step_mappings();
}

/* Goes on with the walk until it is complete, or the time is deadline_ns.  Returns the time. */
static uint64_t go_on(uint64_t begin_ns, uint64_t deadline_ns)
{
	uint64_t time_ns = begin_ns;

	while (walk.point && time_ns < deadline_ns && is_parent()) {
		if (walk.next_id < walk.limit)
			step();
		else
			step_mappings();
		time_ns = sys_monotonic_ns();
	}
	walk.cost_ns += time_ns - begin_ns;
	return time_ns;
}

/* --- slices ---------------------------------------------------------------------------------- */

static void reset(void)
{
	points_begin(settings.timeline_ms * MS_NS);
	series_forget();
	set_point(NULL);
	walk.cost_ns = 0;
	atomic_store_explicit(&last_epoch, peak_epoch(), memory_order_relaxed);
	set(&spent_ns, 0);
	set(&look_ns, 0);
	present = (struct timeline_event){0};
	set(&due_ns, store_head()->start_monotonic_ns);
	atomic_store_explicit(&forked, false, memory_order_relaxed);
}

/* What process_end() took for the end, in a sandbox, was that of a vfork() child. */
static void still_recording(void)
{
	struct format_header *head = store_head();

	if (atomic_load_explicit(&head->state, memory_order_relaxed) != FORMAT_STATE_ENDED)
		return;
	atomic_store_explicit(&head->end_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&head->state, FORMAT_STATE_RECORDING, memory_order_relaxed);
}

/* What follows a slice, in the process that did it or in a child that was forked inside it. */
static void end_slice(uint64_t begin_ns, uint64_t end_ns)
{
	if (is_parent())
		spend(end_ns - begin_ns);
	if (atomic_load_explicit(&forked, memory_order_relaxed))
		reset();
	lock_drop(&lock);
}

static void slice(uint64_t coarse_ns)
{
	uint64_t begin_ns = sys_monotonic_ns(), end_ns;
	struct points_values values;
	struct format_point *point = NULL;

	if (coarse_ns >= get(&due_ns))
		point = take_point(coarse_ns, &values);
	if (point && !walk.point && may_spend(walk.cost_ns, coarse_ns))
		begin_walk(point, &values);
	/* As often as the timeline has points: what the file has no room for until then. */
	if (point)
		store_flush(64);
	if (point && sys_sandboxed())
		still_recording();
	end_ns = sys_monotonic_ns();
	if (walk.point && may_spend(0, coarse_ns))
		end_ns = go_on(end_ns, end_ns + TIMELINE_SLICE_NS);
	end_slice(begin_ns, end_ns);
}

/* --- silence --------------------------------------------------------------------------------- */

/* How long; 0: there was none. */
static uint64_t silence_ns(void)
{
	uint64_t last_ns = get(&look_ns), now_ns = sys_monotonic_coarse_ns();

	return last_ns && now_ns > last_ns + settings.timeline_ms * MS_NS ? now_ns - last_ns : 0;
}

/* The walk may take what the silence adds to the budget.  It is of no use later: with what happens then. */
static uint64_t walk_back(uint64_t begin_ns, uint64_t silence)
{
	uint64_t share = silence / TIMELINE_SHARE, end_ns;

	if (share < TIMELINE_SLICE_NS)
		share = TIMELINE_SLICE_NS;
	else if (share > TIMELINE_FINAL_NS)
		share = TIMELINE_FINAL_NS;
	end_ns = go_on(begin_ns, begin_ns + share);
	if (is_parent())
		set_point(NULL);
	return end_ns;
}

/* Whether the latest point lacks some of what was before the silence.  Without looks a thread moves more than CHURN_GRANT_MAX only
 * within a tick of the clock: that was when the point was taken. */
static bool lacks_some(void)
{
	uint64_t live = live_bytes();

	return since_start(get(&look_ns)) > points_last_ns() ||
	       (live > last_live ? live - last_live : last_live - live) > CHURN_GRANT_MAX;
}

/* Under lock.  Returns the time. */
static uint64_t look_back(uint64_t begin_ns)
{
	uint64_t silence = silence_ns();
	struct points_values values;
	struct format_point *point;

	if (!silence || !lacks_some())
		return begin_ns;
	point = take_point(get(&look_ns), &values);
	if (!point || !may_spend(walk.cost_ns, begin_ns))
		return begin_ns;
	begin_walk(point, &values);
	return walk_back(begin_ns, silence);
}

bool timeline_was_silent(void)
{
	return silence_ns() != 0;
}

void timeline_look_back(const struct timeline_event *counted)
{
	uint64_t begin_ns, end_ns;

	if (!timeline_was_silent() || !is_parent() || !lock_try(&lock))
		return;
	begin_ns = end_ns = sys_monotonic_ns();
	if (is_parent()) {
		present = *counted;
		end_ns = look_back(begin_ns);
		/* Once: what is counted next is of now. */
		set(&look_ns, sys_monotonic_coarse_ns());
		present = (struct timeline_event){0};
	}
	end_slice(begin_ns, end_ns);
}

static void look(uint64_t now_ns)
{
	timeline_look_back(&(struct timeline_event){0});
	if (!is_off())
		set(&look_ns, now_ns);
}

void timeline_check(void)
{
	uint64_t now_ns = sys_monotonic_coarse_ns();
	bool goes_on;

	look(now_ns);
	goes_on = atomic_load_explicit(&walking, memory_order_relaxed);
	/* Not only with a point: the next one may be hours away, if the program makes no events until then. */
	if (is_parent())
		note_peak(since_start(now_ns));
	if (now_ns < get(&due_ns) && !(goes_on && may_spend(0, now_ns)))
		return;
	if (!lock_try(&lock))
		return;
	/* By now the lock may have been somebody else's: slice() looks at what is due itself. */
	if (is_parent())
		slice(now_ns);
	else
		lock_drop(&lock);
}

/* Returns false if this thread has the lock, or another one keeps it. */
static bool take_lock(void)
{
	uint64_t give_up_ns = sys_monotonic_ns() + TIMELINE_FINAL_NS;
	uint32_t rounds = 0;

	while (!lock_try(&lock)) {
		if (lock_mine(&lock) || sys_monotonic_ns() >= give_up_ns)
			return false;
		lock_pause(&rounds);
	}
	return true;
}

void timeline_final(void)
{
	struct points_values values;
	struct format_point *point;
	uint64_t begin_ns;

	if (is_off() || !is_parent())
		return;
	timeline_look_back(&(struct timeline_event){0});
	if (!take_lock()) {
		loss_add(FORMAT_LOSS_TIMELINE, 1);
		return;
	}
	begin_ns = sys_monotonic_ns();
	point = take_point(begin_ns, &values);
	if (point)
		begin_walk(point, &values);
	end_slice(begin_ns, go_on(begin_ns, begin_ns + TIMELINE_FINAL_NS));
}

/* --- start ----------------------------------------------------------------------------------- */

/* Without a log snapshot.c does not need rss.c and leaves it alone. */
void timeline_init(void)
{
	if (is_off())
		return;
	if (!settings.log)
		rss_init();
	reset();
}

void timeline_fork_child(void)
{
	if (is_off())
		return;
	if (!settings.log)
		rss_fork_child();
	if (lock_mine(&lock)) {
		/* Nothing is due before the slice has ended. */
		set(&due_ns, UINT64_MAX);
		set(&look_ns, 0);
		atomic_store_explicit(&forked, true, memory_order_relaxed);
		return;
	}
	lock_reset(&lock);
	reset();
}
