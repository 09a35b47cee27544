/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * heaptrack_plan.c - single blocks that add up to a call stack's counts.
 *
 * At most as many blocks are kept as there were at the peak, and as there are in the end.  It is one less where that many could not hold
 * the bytes of both moments: if either has more bytes than the other, it needs a block that the other does not have.
 */
#include "export/heaptrack_plan.h"

#include <stdbool.h>

static uint64_t min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t without(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* Negative: counts of several threads, taken at slightly different moments. */
static struct plan_blocks blocks_of(int64_t count, int64_t bytes)
{
	struct plan_blocks blocks = {count > 0 ? (uint64_t)count : 0,
				     bytes > 0 ? (uint64_t)bytes : 0};

	if (blocks.bytes && !blocks.count)
		blocks.count = 1;
	return blocks;
}

static struct plan_blocks remaining(const struct plan_blocks *all, const struct plan_blocks *some)
{
	return (struct plan_blocks){without(all->count, some->count),
				    without(all->bytes, some->bytes)};
}

static struct plan_blocks kept_of(const struct plan_blocks *peak, const struct plan_blocks *live)
{
	uint64_t count = min(peak->count, live->count);
	bool too_few = (peak->bytes > live->bytes && peak->count == count) ||
		       (live->bytes > peak->bytes && live->count == count);

	if (count > 0 && too_few)
		count--;
	return (struct plan_blocks){count, count ? min(peak->bytes, live->bytes) : 0};
}

static uint64_t reduced(uint64_t count, double share)
{
	uint64_t some = share < 1 ? (uint64_t)((double)count * share) : count;

	return some ? some : count > 0;
}

/* What is live at the peak or in the end keeps its bytes; other blocks keep their size: they must not exceed the peak. */
static void reduce(enum plan_part part, double share, struct plan_blocks *blocks)
{
	uint64_t count = reduced(blocks->count, share);

	if (count < blocks->count && (part == PLAN_TEMPORARY || part == PLAN_FREED))
		blocks->bytes = plan_size(blocks) * count;
	blocks->count = count;
	if (count == 0)
		blocks->bytes = 0; /* what rounding left */
}

/* Those that neither the peak nor the end has; of these some are temporary ones. */
static void share_rest(const struct plan_blocks *rest, uint64_t temporary, struct plan *plan)
{
	struct plan_blocks *first = &plan->parts[PLAN_TEMPORARY];

	first->count = min(temporary, rest->count);
	first->bytes = rest->count ? rest->bytes / rest->count * first->count : 0;
	plan->parts[PLAN_FREED] = remaining(rest, first);
}

void plan_make(const struct profile_counts *counts, double share, struct plan *plan)
{
	struct plan_blocks all = {counts->alloc_count, counts->alloc_bytes};
	struct plan_blocks peak = blocks_of(counts->peak_count, counts->peak_bytes);
	struct plan_blocks live = blocks_of((int64_t)profile_live_count(counts),
					    (int64_t)profile_live_bytes(counts));
	unsigned part;

	*plan = (struct plan){0};
	plan->parts[PLAN_KEPT] = kept_of(&peak, &live);
	plan->parts[PLAN_PEAK_ONLY] = remaining(&peak, &plan->parts[PLAN_KEPT]);
	plan->parts[PLAN_LIVE_ONLY] = remaining(&live, &plan->parts[PLAN_KEPT]);
	for (part = PLAN_KEPT; part <= PLAN_LIVE_ONLY; part++)
		all = remaining(&all, &plan->parts[part]);
	share_rest(&all, counts->temporary_count, plan);
	for (part = 0; part < PLAN_PARTS; part++)
		reduce(part, share, &plan->parts[part]);
}

uint64_t plan_size(const struct plan_blocks *blocks)
{
	return blocks->bytes / blocks->count;
}

uint64_t plan_large_count(const struct plan_blocks *blocks)
{
	return blocks->bytes % blocks->count;
}
