/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * last_words.c - see last_words.h.
 *
 * A look costs some system calls, so it is taken every LOOK_NS, and sooner if the heap has grown by a part of what was left: a small
 * limit may be reached within a millisecond.
 *
 * The base is what call stacks held when half of the threshold was used.  It is filled in slices, like a walk of the timeline.
 */
#include "libpmem/last_words.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "core/format.h"
#include "libpmem/call_line.h"
#include "libpmem/counters.h"
#include "libpmem/error_output.h"
#include "libpmem/headroom.h"
#include "libpmem/lock.h"
#include "libpmem/log.h"
#include "libpmem/mark.h"
#include "libpmem/modules.h"
#include "libpmem/names.h"
#include "libpmem/peak.h"
#include "libpmem/process.h"
#include "libpmem/settings.h"
#include "libpmem/snapshot_entry.h"
#include "libpmem/symbols.h"
#include "libpmem/sys.h"
#include "libpmem/thread.h"
#include "libpmem/tree.h"

enum {
	LINES = LAST_WORDS_GROWERS + 2,
	PREFIX_MAX = 32,
	PART = 4, /* of what is left: the growth after which another look is due */
	PAGE = 4096,
};

#define LOOK_NS UINT64_C(100000000)
#define SLICE_NS UINT64_C(2000000)
#define LEAST_GROWTH (UINT64_C(64) << 10)
#define SECOND_NS UINT64_C(1000000000)

enum state { OFF, WATCHING, DUE, SAID };

static _Atomic uint32_t state;	   /* enum state */
static _Atomic uint64_t next_ns;   /* of CLOCK_MONOTONIC_COARSE */
static _Atomic uint64_t next_peak; /* or when the heap has grown to that */
static _Atomic bool filling;	   /* a hint */
static struct lock lock = {.rank = LOCK_LAST_WORDS};

/* Under lock: what call stacks held at a time. */
static struct {
	uint64_t *live; /* by id, of those below limit; NULL = there is none */
	uint32_t limit;
	uint32_t next; /* those below it are known */
	uint64_t time_ns;
} base;

static struct headroom reached; /* written once, before DUE is */

struct grower {
	uint32_t id;
	uint64_t live;
	int64_t growth;
};

static struct counter_totals totals[FORMAT_CHUNK]; /* under lock */

/* Under LOCK_SNAPSHOT: */
static struct grower growers[LAST_WORDS_GROWERS];
static char line_bytes[LAST_WORDS_LINE_MAX];
static char log_bytes[LINES * (LAST_WORDS_LINE_MAX + PREFIX_MAX)];
static struct text log_text;

static uint64_t get(const _Atomic uint64_t *from)
{
	return atomic_load_explicit(from, memory_order_relaxed);
}

static void set(_Atomic uint64_t *to, uint64_t value)
{
	atomic_store_explicit(to, value, memory_order_relaxed);
}

static void set_state(enum state now)
{
	/* Release: reached; pairs with the acquire in is_state(). */
	atomic_store_explicit(&state, now, memory_order_release);
}

static bool is_state(enum state expected)
{
	return atomic_load_explicit(&state, memory_order_acquire) == expected;
}

/* --- what call stacks hold ------------------------------------------------------------------- */

/* Reads the counters of a chunk of ids from first on, below limit, into totals.  Returns where it ends. */
static uint32_t read_chunk(uint32_t first, uint32_t limit)
{
	uint32_t end = limit - first > FORMAT_CHUNK ? first + FORMAT_CHUNK : limit;

	memset(totals, 0, sizeof(totals));
	thread_read_counters(first, end, counters_read_frees, totals);
	thread_read_counters(first, end, counters_read_allocs, totals);
	return end;
}

static uint64_t live_of(const struct counter_totals *read)
{
	return read->free_bytes < read->alloc_bytes ? read->alloc_bytes - read->free_bytes : 0;
}

static size_t base_size(void)
{
	return (base.limit * sizeof(*base.live) + PAGE - 1) & ~(size_t)(PAGE - 1);
}

static void drop_base(void)
{
	if (base.live)
		sys_unmap(base.live, base_size());
	base.live = NULL;
	base.limit = base.next = 0;
	atomic_store_explicit(&filling, false, memory_order_relaxed);
}

static void begin_base(void)
{
	base.limit = tree_stack_limit();
	base.next = 0;
	base.time_ns = sys_monotonic_ns();
	base.live = sys_map(base_size());
	atomic_store_explicit(&filling, base.live != NULL, memory_order_relaxed);
}

static void fill_base(void)
{
	uint64_t deadline_ns = sys_monotonic_ns() + SLICE_NS;

	while (base.next < base.limit && sys_monotonic_ns() < deadline_ns) {
		uint32_t end = read_chunk(base.next, base.limit);

		for (uint32_t id = base.next; id < end; id++)
			base.live[id] = live_of(&totals[id - base.next]);
		base.next = end;
	}
	if (base.next >= base.limit)
		atomic_store_explicit(&filling, false, memory_order_relaxed);
}

/* --- a look ---------------------------------------------------------------------------------- */

static uint64_t part(uint64_t whole, uint64_t percent)
{
	return whole / 100 * percent + whole % 100 * percent / 100;
}

static void plan(uint64_t now_ns, uint64_t left)
{
	uint64_t growth = left / PART > LEAST_GROWTH ? left / PART : LEAST_GROWTH;

	set(&next_ns, now_ns + LOOK_NS);
	set(&next_peak, peak_bytes() + growth);
}

static void look(uint64_t now_ns)
{
	struct headroom at = {.limit = 0};
	uint64_t threshold;

	if (!headroom_find(settings.last_words, &at)) {
		plan(now_ns, UINT64_MAX / 2);
		return;
	}
	threshold = part(at.limit, settings.last_words);
	if (at.used >= threshold) {
		reached = at;
		set_state(DUE);
		return;
	}
	plan(now_ns, threshold - at.used);
	if (at.used >= threshold / 2 && !base.live)
		begin_base();
}

static bool is_time(uint64_t now_ns)
{
	return now_ns >= get(&next_ns) || peak_bytes() >= get(&next_peak);
}

bool last_words_check(void)
{
	uint64_t now_ns;

	if (sys_sandboxed())
		return false;
	if (!is_state(WATCHING))
		return is_state(DUE);
	now_ns = sys_monotonic_coarse_ns();
	if (!is_time(now_ns) && !atomic_load_explicit(&filling, memory_order_relaxed))
		return false;
	if (!process_records() || !lock_try(&lock))
		return false;
	if (base.next < base.limit)
		fill_base();
	if (is_state(WATCHING) && is_time(now_ns))
		look(now_ns);
	lock_drop(&lock);
	return is_state(DUE);
}

/* --- who grew -------------------------------------------------------------------------------- */

static bool is_before(const struct grower *a, const struct grower *b)
{
	return a->growth != b->growth ? a->growth > b->growth : a->live > b->live;
}

static void consider(const struct grower *grower)
{
	unsigned at = LAST_WORDS_GROWERS;

	while (at > 0 && is_before(grower, &growers[at - 1]))
		at--;
	if (at == LAST_WORDS_GROWERS)
		return;
	memmove(&growers[at + 1], &growers[at], (LAST_WORDS_GROWERS - at - 1) * sizeof(*growers));
	growers[at] = *grower;
}

static void consider_chunk(uint32_t first, uint32_t end)
{
	for (uint32_t id = first; id < end; id++) {
		struct grower grower = {.id = id, .live = live_of(&totals[id - first])};
		uint64_t before = id < base.next ? base.live[id] : 0;

		grower.growth = (int64_t)(grower.live - before);
		if (id > 0 && grower.growth > 0)
			consider(&grower);
	}
}

/* A base that is not complete tells nothing of the others. */
static void find_growers(void)
{
	uint32_t limit = tree_stack_limit(), first, end;

	if (base.next < base.limit)
		drop_base();
	memset(growers, 0, sizeof(growers));
	for (first = 0; first < limit; first = end) {
		end = read_chunk(first, limit);
		consider_chunk(first, end);
	}
}

/* --- words ----------------------------------------------------------------------------------- */

/* "461.2 MiB". */
static void put_bytes(struct text *text, uint64_t bytes)
{
	static const char *const units[] = {" KiB", " MiB", " GiB"};
	unsigned shift = 10, unit = 0;
	uint64_t tenths;

	while (unit < 2 && bytes >> shift >= 1024) {
		shift += 10;
		unit++;
	}
	tenths = (bytes >> shift) * 10 + ((bytes & ((UINT64_C(1) << shift) - 1)) * 10 >> shift);
	text_uint(text, tenths / 10, 0);
	text_char(text, '.');
	text_char(text, (char)('0' + tenths % 10));
	text_string(text, units[unit]);
}

/* "memory reached 90 % of the cgroup's limit: 461.2 of 512.0 MiB used, 410.0 MiB of it in live blocks". */
static void put_reached(struct text *text)
{
	text_string(text, "memory reached ");
	text_uint(text, settings.last_words, 0);
	text_string(text, " % of ");
	text_string(text, headroom_words(reached.kind));
	text_string(text, ": ");
	put_bytes(text, reached.used);
	text_string(text, " of ");
	put_bytes(text, reached.limit);
	text_string(text, ", live blocks are ");
	put_bytes(text, peak_live_bytes());
	if (growers[0].id == 0)
		text_string(text, "; no call stack's blocks grew");
	else if (!base.live)
		text_string(text, "; most since the start:");
	else
		text_string(text, "; grown most in the last ");
	if (growers[0].id && base.live) {
		text_uint(text, (sys_monotonic_ns() - base.time_ns + SECOND_NS - 1) / SECOND_NS, 0);
		text_string(text, " s:");
	}
}

static void put_grower(struct text *text, const struct grower *grower)
{
	text_string(text, "  +");
	put_bytes(text, (uint64_t)grower->growth);
	text_string(text, ", live ");
	put_bytes(text, grower->live);
	text_string(text, " {");
	text_hex(text, snapshot_entry_hash(grower->id), 16);
	text_char(text, '}');
	call_line_put(text, grower->id);
}

/* A line to stderr, and to the log's text.  One that is too long ends where it must. */
static void say(const struct text *line)
{
	static char whole[PREFIX_MAX + LAST_WORDS_LINE_MAX]; /* under LOCK_SNAPSHOT */
	struct text text = {.bytes = whole, .room = sizeof(whole)};

	text_string(&text, "pmem[");
	text_uint(&text, (uint64_t)sys_getpid(), 0);
	text_string(&text, "]: ");
	text_bytes(&text, line->bytes, line->size);
	text_char(&text, '\n');
	error_output_line(text.bytes, text.size);
	text_string(&log_text, "# last words: ");
	text_bytes(&log_text, line->bytes, line->size);
	text_char(&log_text, '\n');
}

static struct text new_line(void)
{
	return (struct text){.bytes = line_bytes, .room = sizeof(line_bytes) - 1};
}

static void say_all(void)
{
	struct text line = new_line();

	put_reached(&line);
	say(&line);
	for (unsigned i = 0; i < LAST_WORDS_GROWERS && growers[i].id; i++) {
		line = new_line();
		put_grower(&line, &growers[i]);
		say(&line);
	}
	if (!log_path()[0])
		return;
	line = new_line();
	text_string(&line, "all of them: ");
	text_safe(&line, log_path());
	say(&line);
}

static void mark(void)
{
	struct text line = {.bytes = line_bytes, .room = sizeof(line_bytes) - 1};

	text_string(&line, "last words: ");
	put_bytes(&line, reached.used);
	text_string(&line, " of ");
	put_bytes(&line, reached.limit);
	line.bytes[line.size] = '\0';
	mark_put(line.bytes);
}

const struct text *last_words_say(void)
{
	if (!is_state(DUE) || !lock_try(&lock))
		return NULL;
	set_state(SAID);
	log_text = (struct text){.bytes = log_bytes, .room = sizeof(log_bytes)};
	find_growers();
	say_all();
	mark();
	drop_base();
	lock_drop(&lock);
	return &log_text;
}

/* --- start ----------------------------------------------------------------------------------- */

static void begin(void)
{
	set(&next_ns, 0);
	set(&next_peak, 0);
	set_state(settings.last_words ? WATCHING : OFF);
}

void last_words_init(void)
{
	if (!settings.last_words)
		return;
	/* Without a log snapshot.c does not need names. */
	if (!settings.log)
		symbols_init();
	error_output_init();
	headroom_init();
	begin();
}

void last_words_fork_child(void)
{
	if (!settings.last_words)
		return;
	/* Forked by a signal handler in the midst of it: what it uses must stay. */
	if (lock_mine(&lock)) {
		set_state(OFF);
		return;
	}
	/* Of another thread that is not here: what it was about to unmap may be somebody else's by now. */
	if (!lock_try(&lock))
		base.live = NULL;
	lock_reset(&lock);
	drop_base();
	headroom_fork_child();
	begin();
}
