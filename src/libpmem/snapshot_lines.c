/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * snapshot_lines.c - the lines of a snapshot above and below its entries.
 */
#include "libpmem/snapshot_lines.h"

#include <stdatomic.h>

#include "libpmem/call_line.h"
#include "libpmem/failures.h"
#include "libpmem/live_table.h"
#include "libpmem/loss.h"
#include "libpmem/mappings.h"
#include "libpmem/peak.h"
#include "libpmem/rss.h"
#include "libpmem/settings.h"
#include "libpmem/side_table.h"
#include "libpmem/snapshot_entry.h"
#include "libpmem/store.h"
#include "libpmem/sys.h"

enum { RULER = 57 };

#define RESIDENT_NS UINT64_C(10000000000) /* between two calls of live_table_resident() */

/* Under LOCK_SNAPSHOT. */
static size_t resident;
static uint64_t resident_ns; /* when it was asked for; 0 = never */

static void put_count(struct text *text, const char *name, uint64_t value)
{
	text_string(text, name);
	text_uint(text, value, 0);
}

static void put_sequence(struct text *text, uint32_t sequence)
{
	text_char(text, '[');
	text_uint(text, sequence, 3);
	text_char(text, ']');
}

/* Seconds with three digits after the point. */
static void put_seconds(struct text *text, const char *name, uint64_t time_ns)
{
	uint64_t ms = time_ns / 1000000;

	put_count(text, name, ms / 1000);
	text_char(text, '.');
	text_char(text, (char)('0' + ms / 100 % 10));
	text_char(text, (char)('0' + ms / 10 % 10));
	text_char(text, (char)('0' + ms % 10));
}

static void put_losses(struct text *text)
{
	enum format_loss kind;

	put_count(text, " lost=", loss_total());
	for (kind = 0; kind < FORMAT_LOSS_KINDS; kind++) {
		if (loss_count(kind) == 0)
			continue;
		text_char(text, ' ');
		text_string(text, loss_name(kind));
		put_count(text, "=", loss_count(kind));
	}
}

static void put_if_any(struct text *text, const char *name, uint64_t count)
{
	if (count)
		put_count(text, name, count);
}

/* What grows with the program: the tree, the counters, histograms and modules; the side table;
 * the map of mappings; what is resident of the live table.  Caches and the snapshot's own memory are not counted. */
static uint64_t own_bytes(bool final)
{
	uint64_t own;
	uint64_t time_ns = sys_monotonic_ns();
	bool due = final || resident_ns == 0 || time_ns - resident_ns >= RESIDENT_NS;

	if (due && !sys_sandboxed()) {
		resident = live_table_resident();
		resident_ns = time_ns;
	}
	own = store_size() + side_table_size() + mappings_size() + resident;
	atomic_store_explicit(&store_head()->own_bytes, own, memory_order_relaxed);
	return own;
}

/* The counters are read one after the other while threads go on: their sum can be above any total
 * that there ever was, but the peak must not be below what is listed. */
static uint64_t peak_for(uint64_t live)
{
	uint64_t peak = peak_bytes();

	return peak > live ? peak : live;
}

/* What the program maps itself is in no entry. */
static void put_mappings(struct text *text)
{
	struct mappings_counts sum;

	mappings_sum(&sum);
	if (!sum.call_count)
		return;
	put_count(text, "# mappings: ", sum.mapped_bytes - sum.unmapped_bytes);
	put_count(text, " mapped now, ", sum.mapped_bytes);
	put_count(text, " in all, ", sum.unmapped_bytes);
	put_count(text, " unmapped, calls ", sum.call_count);
	text_char(text, '\n');
}

/* What the program asked for and did not get. */
static void put_failures(struct text *text)
{
	struct failures_sum sum;

	failures_sum(&sum);
	if (!sum.count)
		return;
	put_count(text, "# failed: ", sum.count);
	put_count(text, " allocations, bytes ", sum.bytes);
	if (sum.first_id) {
		put_count(text, ", first ", sum.first_bytes);
		put_seconds(text, " at uptime_s=", sum.first_ns);
		text_string(text, " {");
		text_hex(text, snapshot_entry_hash(sum.first_id), 16);
		text_char(text, '}');
		call_line_put(text, sum.first_id);
	}
	text_char(text, '\n');
}

static uint64_t counted(const _Atomic uint64_t *field)
{
	return atomic_load_explicit(field, memory_order_relaxed);
}

void snapshot_lines_head(struct text *text, const struct snapshot_facts *facts)
{
	unsigned i;

	text_string(text, "# time=");
	text_time(text, sys_realtime_ns());
	put_seconds(text, " uptime_s=", facts->uptime_ns);
	put_count(text, " live=", facts->live);
	put_count(text, " peak=", peak_for(facts->live));
	put_count(text, " rss=", rss_bytes());
	put_count(text, " own=", own_bytes(facts->final));
	put_losses(text);
	put_if_any(text, " snapshots_ms=", facts->spent_ns / 1000000);
	put_if_any(text, " inherited_freed=", counted(&store_head()->inherited_freed));
	put_if_any(text, " unknown_freed=", counted(&store_head()->unknown_freed));
	put_if_any(text, " last_words=", facts->last_words);
	text_char(text, '\n');
	put_mappings(text);
	put_failures(text);
	put_sequence(text, facts->sequence);
	for (i = 0; i < RULER; i++)
		text_char(text, '=');
	put_count(text, "\nchurn=", facts->churn);
	put_count(text, "/", settings.churn_thresh);
	text_string(text, "\n\n");
}

static void put_rest(struct text *text, const struct snapshot_sums *total,
		     const struct snapshot_sums *shown)
{
	put_count(text, "# rest: ", total->stacks - shown->stacks);
	put_count(text, " call stacks, live ", total->live - shown->live);
	put_count(text, ", alloc ", total->alloc_new - shown->alloc_new);
	put_count(text, "/", total->alloc - shown->alloc);
	put_count(text, ", free ", total->free_new - shown->free_new);
	put_count(text, "/", total->free - shown->free);
	text_char(text, '\n');
}

void snapshot_lines_tail(struct text *text, uint32_t sequence, const struct snapshot_sums *total,
			 const struct snapshot_sums *shown)
{
	if (shown->stacks < total->stacks)
		put_rest(text, total, shown);
	text_string(text, "# end ");
	put_sequence(text, sequence);
	text_char(text, '\n');
	atomic_store_explicit(&store_head()->update_ns, store_time(), memory_order_relaxed);
	atomic_store_explicit(&store_head()->snapshot_count, sequence + 1, memory_order_relaxed);
}

void snapshot_lines_fork_child(void)
{
	resident_ns = 0;
}
