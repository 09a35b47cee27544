/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pins.c - see pins.h.
 */
#include "core/pins.h"

enum { PAGE = 4096 };

#define HASH 0x9e3779b1u

/* --- the table ------------------------------------------------------------------------------- */

uint32_t pins_log2(uint32_t limit, uint32_t most_log2)
{
	uint32_t log2 = PINS_LOG2_MIN;

	while (log2 < most_log2 && UINT64_C(1) << log2 < 2 * (uint64_t)limit)
		log2++;
	return log2;
}

/* The slot of a key, or the free one where it belongs.  A quarter of them stays free. */
static struct pin *find(struct pins *pins, uint32_t key)
{
	uint32_t mask = (1u << pins->log2) - 1, at = key * HASH >> (32 - pins->log2);

	while (pins->slots[at].key && pins->slots[at].key != key)
		at = (at + 1) & mask;
	return &pins->slots[at];
}

static struct pin *take(struct pins *pins, uint32_t stack_id)
{
	struct pin *pin = find(pins, stack_id + 1);

	if (pin->key)
		return pin;
	if (pins->used >= (3u << pins->log2) / 4) {
		stack_id = FORMAT_PIN_OTHERS;
		pin = find(pins, stack_id + 1);
	}
	pins->used += pin->key == 0;
	pin->key = stack_id + 1;
	return pin;
}

/* The call stack's slot, listed as one of this mapping. */
static struct pin *list(struct pins *pins, uint32_t stack_id)
{
	struct pin *pin = take(pins, stack_id);

	if (pin->is_listed)
		return pin;
	pin->next = pins->first;
	pins->first = (uint32_t)(pin - pins->slots) + 1;
	pin->is_listed = 1;
	pin->page = 0;
	return pin;
}

static void add(struct pins *pins, uint32_t stack_id, uint64_t bytes)
{
	struct pin *pin = list(pins, stack_id);

	pin->some_bytes += bytes;
	pin->some_pages += pin->page != pins->page;
	pin->page = pins->page;
}

/* --- pages ----------------------------------------------------------------------------------- */

void pins_begin_window(struct pins *pins, uint32_t resident)
{
	pins->resident = resident;
	pins->block_count = pins->low = 0;
}

/* Of a block behind what was requested, in resident pages of the window. */
static void add_slack(struct pins *pins, uint64_t window, const struct live_cells_block *block)
{
	uint64_t from = block->addr + block->size, end = block->end, to, slack = 0;

	from = from > window ? from - window : 0;
	end = end - window < LIVE_CELLS_WINDOW ? end - window : LIVE_CELLS_WINDOW;
	for (; from < end; from = to) {
		to = (from / PAGE + 1) * PAGE < end ? (from / PAGE + 1) * PAGE : end;
		slack += pins->resident >> (from / PAGE) & 1 ? to - from : 0;
	}
	if (slack)
		list(pins, block->stack_id)->some_slack += slack;
}

void pins_block(struct pins *pins, uint64_t window, const struct live_cells_block *block)
{
	uint64_t from = block->start > window ? block->start - window : 0;
	uint64_t to = block->end > window ? block->end - window : 0;

	if (!pins->slots || from >= to || from >= LIVE_CELLS_WINDOW ||
	    pins->block_count == PINS_BLOCKS)
		return;
	pins->blocks[pins->block_count++] = (struct pins_block){
		.stack_id = block->stack_id,
		.from = (uint16_t)from,
		.to = (uint16_t)(to < LIVE_CELLS_WINDOW ? to : LIVE_CELLS_WINDOW),
	};
	add_slack(pins, window, block);
}

static uint32_t bytes_in(const struct pins_block *block, uint32_t page)
{
	uint32_t begin = page * PAGE, end = begin + PAGE;
	uint32_t from = block->from > begin ? block->from : begin;
	uint32_t to = block->to < end ? block->to : end;

	return from < to ? to - from : 0;
}

/* The blocks that may lie in the page: from pins->low up to the one returned. */
static uint32_t find_blocks(struct pins *pins, uint32_t page)
{
	uint32_t high;

	while (pins->low < pins->block_count && pins->blocks[pins->low].to <= page * PAGE)
		pins->low++;
	high = pins->low;
	while (high < pins->block_count && pins->blocks[high].from < (page + 1) * PAGE)
		high++;
	return high;
}

/* Bytes in the page of the blocks from *at on that have its call stack; moves *at behind them. */
static uint32_t add_run(const struct pins *pins, uint32_t page, uint32_t high, uint32_t *at)
{
	uint32_t stack_id = pins->blocks[*at].stack_id, bytes = 0;

	for (; *at < high && pins->blocks[*at].stack_id == stack_id; ++*at)
		bytes += bytes_in(&pins->blocks[*at], page);
	return bytes;
}

/* What is shared out, and how far that is. */
struct sharing {
	uint64_t free;
	uint64_t whole; /* bytes of blocks */
	uint64_t seen;	/* of them */
	uint64_t given; /* of free */
};

/* Parts of sums, not sums of parts: the last one gets what rounding left. */
static uint64_t share(struct sharing *sharing, uint64_t bytes)
{
	uint64_t before = sharing->given;

	sharing->seen += bytes;
	sharing->given = sharing->free * sharing->seen / sharing->whole;
	return sharing->given - before;
}

void pins_page(struct pins *pins, uint32_t page, uint32_t free, uint32_t inherited)
{
	struct sharing sharing = {.free = free, .whole = inherited};
	uint32_t high, bytes;

	if (!pins->slots || !free)
		return;
	high = find_blocks(pins, page);
	for (uint32_t i = pins->low; i < high; i++)
		sharing.whole += bytes_in(&pins->blocks[i], page);
	pins->page++;
	if (!sharing.whole)
		add(pins, FORMAT_PIN_OTHERS, free);
	/* Neighbours are often of one call stack. */
	for (uint32_t i = pins->low, run; i < high; i = run) {
		run = i;
		bytes = add_run(pins, page, high, &run);
		if (bytes)
			add(pins, pins->blocks[i].stack_id, share(&sharing, bytes));
	}
	if (inherited)
		add(pins, FORMAT_PIN_INHERITED, share(&sharing, inherited));
}

/* --- mappings -------------------------------------------------------------------------------- */

/* part * by / whole, without a product of two large numbers. */
static uint64_t scale(uint64_t part, uint64_t by, uint64_t whole)
{
	return part / whole * by + part % whole * by / whole;
}

void pins_end_mapping(struct pins *pins, const struct pins_mapping *mapping)
{
	uint64_t whole = 0, seen = 0, given = 0, next;
	struct pin *pin;

	for (uint32_t at = pins->first; at; at = pins->slots[at - 1].next)
		whole += pins->slots[at - 1].some_bytes;
	for (uint32_t at = pins->first; at; at = pin->next) {
		pin = &pins->slots[at - 1];
		seen += pin->some_bytes;
		next = whole ? scale(mapping->bytes, seen, whole) : 0;
		pin->bytes += next - given;
		given = next;
		pin->pages += scale(mapping->pages, pin->some_pages, mapping->examined);
		pin->slack += scale(pin->some_slack, mapping->pages, mapping->examined);
		pin->some_bytes = pin->some_slack = 0;
		pin->some_pages = pin->is_listed = 0;
	}
	pins->first = 0;
}
