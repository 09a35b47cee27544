/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * waterfall_heap.c - see waterfall_heap.h.
 *
 * All resident pages are counted; of their windows one of `stride` is looked into, at random places at equal distances, and the
 * mapping's resident set is divided as those are.
 */
#include "core/waterfall_heap.h"

#include <string.h>

enum {
	WINDOWS_MIN = 16, /* of a mapping, that are examined if it has so many */
	SPARSE = 64, /* so many times the resident set is a mapping that is looked at in any case, */
	PATIENCE = 4, /* for the sake of WINDOWS_MIN so many times source.examine is examined */
};

/* or up to so many bytes, which takes some milliseconds. */
#define SPARSE_MAX (UINT64_C(1) << 32)

/* Entries of pagemap (Documentation/admin-guide/mm/pagemap.rst). */
#define PRESENT (UINT64_C(1) << 63)
#define EXCLUSIVE (UINT64_C(1) << 56)

struct page_sum {
	uint32_t live;
	uint32_t used;
	uint32_t inherited;
};

bool waterfall_heap_begin(struct waterfall *w)
{
	const struct format_memory *memory = w->source.memory;
	uint64_t inherited[2 * WATERFALL_TABLES];
	uint32_t count = memory->inherited_count;

	w->cells.program = w->source.program;
	w->cells.recorder = w->source.recorder;
	w->cells.context = w->source.context;
	w->cells.memory = memory;
	w->tables[w->table_count++].top = memory->table;
	if (count >= WATERFALL_TABLES)
		count = WATERFALL_TABLES - 1;
	if (!count)
		return true;
	/* Of each the upper level, and something else. */
	if (!w->source.recorder(w->source.context, memory->inherited, inherited,
				count * 2 * sizeof(*inherited)))
		return false;
	for (uint32_t i = 0; i < count; i++)
		w->tables[w->table_count++].top = inherited[2 * i];
	return true;
}

/* --- a window -------------------------------------------------------------------------------- */

static void add_range(struct page_sum *pages, uint64_t window, const uint64_t range[2], size_t field)
{
	for (uint32_t i = 0; i < WATERFALL_WINDOW_PAGES; i++) {
		uint64_t page = window + i * (uint64_t)WATERFALL_PAGE;
		uint64_t from = range[0] > page ? range[0] : page;
		uint64_t to = range[1] < page + WATERFALL_PAGE ? range[1] : page + WATERFALL_PAGE;

		if (from < to)
			*(uint32_t *)((char *)&pages[i] + field) += (uint32_t)(to - from);
	}
}

static void add_block(struct waterfall *w, const struct waterfall_table *table, uint64_t window,
		      struct page_sum *pages)
{
	const struct live_cells_block *block = &table->block;
	const uint64_t used[2] = {block->start, block->end};
	const uint64_t live[2] = {block->addr, block->addr + block->size};

	if (table != w->tables) {
		add_range(pages, window, used, offsetof(struct page_sum, inherited));
		return;
	}
	add_range(pages, window, used, offsetof(struct page_sum, used));
	add_range(pages, window, live, offsetof(struct page_sum, live));
	pins_block(&w->pins, window, block);
}

/* Most windows that are searched are free. */
static bool has_cells(const struct waterfall *w)
{
	const uint32_t *values = w->values;
	uint32_t any = 0;

	for (uint32_t i = 0; i < live_cells_count(&w->cells); i += 8)
		any |= values[i] | values[i + 1] | values[i + 2] | values[i + 3] | values[i + 4] |
		       values[i + 5] | values[i + 6] | values[i + 7];
	return any != 0;
}

/* The first cell from `from` on in which a block begins; their number if there is none. */
static uint32_t next_head(const struct waterfall *w, uint32_t from)
{
	uint32_t count = live_cells_count(&w->cells);

	while (from < count && !live_cells_is_head(&w->cells, w->values[from]))
		from++;
	return from;
}

/* The granule of the first block that begins in the window; 0 = none does. */
static uint64_t first_block(struct waterfall *w, const struct waterfall_table *table,
			    uint64_t window)
{
	uint32_t first;

	if (!live_cells_read(&w->cells, table->top, window, w->values))
		return 0;
	first = next_head(w, 0);
	return first < live_cells_count(&w->cells)
		       ? window + ((uint64_t)first << w->source.memory->granule_log2)
		       : 0;
}

/* The last block of a window whose cells are in w->values, if any. */
static bool find_last(struct waterfall *w, uint64_t window, uint64_t next,
		      struct live_cells_block *block)
{
	const struct live_cells_bounds bounds = {.next = next, .limit = w->mapping.end};
	uint32_t log2 = w->source.memory->granule_log2;

	for (uint32_t i = live_cells_count(&w->cells); i-- > 0;) {
		const struct live_cells_head head = {&w->values[i], window + ((uint64_t)i << log2)};

		if (live_cells_is_head(&w->cells, w->values[i]))
			return live_cells_block(&w->cells, &head, &bounds, block);
	}
	return false;
}

/* Finds the block that reaches from before into the window, back to where the table was read last. */
static void find_before(struct waterfall *w, struct waterfall_table *table, uint64_t window)
{
	const uint64_t span = UINT64_C(1) << LIVE_CELLS_SPAN_LOG2;
	uint64_t at = window, next;

	if (table->block.end > window || at <= table->searched)
		return;
	next = first_block(w, table, window);
	while (at > table->searched) {
		at -= LIVE_CELLS_WINDOW;
		if (!live_cells_place(&w->cells, table->top, at)) {
			at &= ~(span - 1);
			continue;
		}
		if (!live_cells_read(&w->cells, table->top, at, w->values))
			break;
		if (has_cells(w) && find_last(w, at, next, &table->block))
			break;
	}
}

/* Of glibc's blocks one that is no mapping of its own says that there are free chunks too. */
static void note_block(struct waterfall *w, const struct live_cells_block *block)
{
	if (!block->is_mapped)
		w->is_managed = true;
}

/* The blocks whose cells are in w->values. */
static void examine_cells(struct waterfall *w, struct waterfall_table *table, uint64_t window,
			  struct page_sum *pages)
{
	uint32_t log2 = w->source.memory->granule_log2, count = live_cells_count(&w->cells), next;
	struct live_cells_bounds bounds = {.limit = w->mapping.end};

	for (uint32_t i = next_head(w, 0); i < count; i = next) {
		const struct live_cells_head head = {&w->values[i], window + ((uint64_t)i << log2)};

		next = next_head(w, i + 1);
		if (head.addr >= w->mapping.end)
			break;
		bounds.before = table->block.end;
		bounds.next = next < count ? window + ((uint64_t)next << log2) : 0;
		if (!live_cells_block(&w->cells, &head, &bounds, &table->block))
			continue;
		note_block(w, &table->block);
		add_block(w, table, window, pages);
	}
}

static void examine_table(struct waterfall *w, struct waterfall_table *table, uint64_t window,
			  struct page_sum *pages)
{
	find_before(w, table, window);
	table->searched = window + LIVE_CELLS_WINDOW;
	if (table->block.end > window)
		add_block(w, table, window, pages);
	if (!live_cells_read(&w->cells, table->top, window, w->values) ||
	    next_head(w, 0) == live_cells_count(&w->cells))
		return;
	if (w->source.memory->granule_log2 == LIVE_CELLS_SLACK_LOG2)
		live_cells_read_ahead(&w->cells, window);
	examine_cells(w, table, window, pages);
}

static void add_page(struct waterfall *w, const struct page_sum *page, uint32_t number)
{
	struct waterfall_sums *sums = &w->sums;
	uint32_t used = page->used < WATERFALL_PAGE ? page->used : WATERFALL_PAGE;
	uint32_t inherited = page->inherited < WATERFALL_PAGE - used ? page->inherited
								     : WATERFALL_PAGE - used;
	uint32_t live = page->live < used ? page->live : used;

	if (used == 0 && inherited == 0) {
		sums->free += WATERFALL_PAGE;
		return;
	}
	sums->live += live;
	sums->rounding += used - live;
	sums->inherited += inherited;
	sums->fragments += WATERFALL_PAGE - used - inherited;
	pins_page(&w->pins, number, WATERFALL_PAGE - used - inherited, inherited);
}

/* resident: a bit for each page. */
static void examine_window(struct waterfall *w, uint64_t window, uint32_t resident)
{
	struct page_sum pages[WATERFALL_WINDOW_PAGES];

	memset(pages, 0, sizeof(pages));
	pins_begin_window(&w->pins, resident);
	for (uint32_t i = 0; i < w->table_count; i++)
		examine_table(w, &w->tables[i], window, pages);
	for (uint32_t i = 0; i < WATERFALL_WINDOW_PAGES; i++) {
		if (!(resident >> i & 1))
			continue;
		w->examined_pages++;
		add_page(w, &pages[i], i);
	}
}

/* --- a mapping ------------------------------------------------------------------------------- */

/* splitmix64's finalizer. */
static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

static void choose_stride(struct waterfall *w)
{
	uint64_t stride = w->source.expected / (w->source.examine + 1) + 1;
	uint64_t enough = w->mapping.rss / (WINDOWS_MIN * LIVE_CELLS_WINDOW) + 1;

	if (w->result.examined < PATIENCE * w->source.examine && enough < stride)
		stride = enough;
	w->stride = stride;
}

static bool is_chosen(struct waterfall *w)
{
	uint64_t number = w->windows++;

	return number % w->stride == mix(w->mapping.start + number / w->stride) % w->stride;
}

/* Without shared pages one that is not exclusively mapped is the kernel's page of zeros, which is in no resident set. */
static bool is_resident(const struct waterfall *w, uint64_t entry)
{
	return entry & PRESENT && (entry & EXCLUSIVE || w->mapping.shared > 0);
}

/* Finds the range that addr lies in, or the next one. */
static bool find_range(struct waterfall *w, uint64_t addr)
{
	if (!w->source.range)
		return false;
	if (w->range.end <= addr && !w->source.range(w->source.context, addr, &w->range))
		w->range = (struct waterfall_range){UINT64_MAX, UINT64_MAX, 0};
	return w->range.start != UINT64_MAX;
}

static void tell(struct waterfall *w, uint64_t pages)
{
	w->known_pages += pages;
	if (w->source.resident)
		w->source.resident(w->source.context, w->range.owner, pages * WATERFALL_PAGE);
}

static bool is_known(struct waterfall *w, uint64_t addr)
{
	return find_range(w, addr) && w->range.start <= addr;
}

static void add_window(struct waterfall *w, uint64_t window, const uint64_t *entries)
{
	uint32_t resident = 0;

	for (uint32_t i = 0; i < WATERFALL_WINDOW_PAGES; i++) {
		uint64_t addr = window + i * (uint64_t)WATERFALL_PAGE;

		if (addr < w->mapping.start || addr >= w->mapping.end || !is_resident(w, entries[i]))
			continue;
		if (addr < w->stack_end)
			w->stack_pages++;
		else if (is_known(w, addr))
			tell(w, 1);
		else
			resident |= 1u << i;
	}
	w->other_pages += (uint32_t)__builtin_popcount(resident);
	if (resident && is_chosen(w))
		examine_window(w, window, resident);
}

static void scan_pages(struct waterfall *w)
{
	uint64_t addr = w->mapping.start & ~(uint64_t)(LIVE_CELLS_WINDOW - 1);
	uint64_t count, seen, all = w->mapping.rss / WATERFALL_PAGE;

	for (; addr < w->mapping.end; addr += WATERFALL_BATCH * (uint64_t)WATERFALL_PAGE) {
		count = (w->mapping.end - addr) / WATERFALL_PAGE;
		if (count > WATERFALL_BATCH)
			count = WATERFALL_BATCH;
		memset(w->entries, 0, sizeof(w->entries));
		if (!w->source.pages(w->source.context, addr / WATERFALL_PAGE, w->entries, count))
			return;
		for (uint32_t i = 0; i < count; i += WATERFALL_WINDOW_PAGES)
			add_window(w, addr + i * (uint64_t)WATERFALL_PAGE, &w->entries[i]);
		seen = w->stack_pages + w->known_pages + w->other_pages;
		if (seen >= all)
			return;
	}
}

/* True if a block may have begun in [start, end) at any time. */
static bool has_leaf(struct waterfall *w)
{
	const uint64_t span = UINT64_C(1) << LIVE_CELLS_SPAN_LOG2;

	for (uint32_t i = 0; i < w->table_count; i++)
		for (uint64_t addr = w->mapping.start & ~(span - 1); addr < w->mapping.end;
		     addr += span)
			if (live_cells_place(&w->cells, w->tables[i].top, addr))
				return true;
	return false;
}

/* True if a block began in the mapping at some time: then its cells were written to. */
static bool was_used(struct waterfall *w)
{
	const uint64_t step = WATERFALL_PAGE / sizeof(uint32_t)
			      << w->source.memory->granule_log2; /* of addresses, for a page of cells */
	uint64_t place, entry;

	for (uint64_t addr = w->mapping.start & ~(step - 1); addr < w->mapping.end; addr += step) {
		place = live_cells_place(&w->cells, w->tables[0].top, addr);
		if (!place)
			addr |= (UINT64_C(1) << LIVE_CELLS_SPAN_LOG2) - step;
		else if (w->source.pages(w->source.context, place / WATERFALL_PAGE, &entry, 1) &&
			 entry & EXCLUSIVE)
			return true;
	}
	return false;
}

/* part of whole pages, as bytes of the mapping's resident set that `pages` of it have. */
static uint64_t scale(uint64_t bytes, uint64_t pages, uint64_t whole)
{
	return bytes / whole * pages + bytes % whole * pages / whole;
}

static void forget(struct waterfall *w)
{
	w->stack_pages = w->known_pages = w->other_pages = w->examined_pages = w->windows = 0;
	w->sums = (struct waterfall_sums){0};
	for (uint32_t i = 0; i < w->table_count; i++) {
		w->tables[i].searched = w->mapping.start & ~(uint64_t)(LIVE_CELLS_WINDOW - 1);
		memset(&w->tables[i].block, 0, sizeof(w->tables[i].block));
	}
}

/* Other allocators than glibc's, whose heaps we know, map what they please. */
static bool keeps_free_pages(struct waterfall *w, enum format_rss_line line)
{
	return w->is_managed ||
	       (line != FORMAT_RSS_FILES && w->stack_end == 0 &&
		w->source.memory->allocator != FORMAT_ALLOCATOR_GLIBC && was_used(w));
}

/* Divides pages of the resident set as the examined ones are. */
static void divide(struct waterfall *w, uint64_t pages, enum format_rss_line line)
{
	uint64_t *lines = w->result.lines, rest = pages * WATERFALL_PAGE;
	const struct {
		enum format_rss_line line;
		uint64_t bytes;
	} parts[] = {
		{FORMAT_RSS_LIVE, w->sums.live},
		{FORMAT_RSS_ROUNDING, w->sums.rounding},
		{FORMAT_RSS_FRAGMENTS, w->sums.fragments},
		{FORMAT_RSS_INHERITED, w->sums.inherited},
	};

	for (unsigned i = 0; w->examined_pages && i < sizeof(parts) / sizeof(*parts); i++) {
		uint64_t part = scale(parts[i].bytes, pages, w->examined_pages);

		lines[parts[i].line] += part;
		rest -= part;
	}
	/* What rounding down left. */
	if (w->examined_pages && w->sums.free == 0)
		line = w->sums.fragments ? FORMAT_RSS_FRAGMENTS : FORMAT_RSS_LIVE;
	else if (rest && keeps_free_pages(w, line))
		line = FORMAT_RSS_KEPT;
	lines[line] += rest;
	if (w->is_arena && line == FORMAT_RSS_KEPT)
		w->result.kept_arenas += rest;
}

/* All of the mapping is one range: most are. */
static bool is_range(struct waterfall *w)
{
	return is_known(w, w->mapping.start) && w->range.end >= w->mapping.end;
}

void waterfall_heap_shared(struct waterfall *w)
{
	if (is_range(w) && w->source.resident)
		w->source.resident(w->source.context, w->range.owner, w->mapping.rss);
}

/* Part of it is.  Where little of many addresses is resident, finding out which pages would take too long. */
static bool has_range(struct waterfall *w)
{
	uint64_t size = w->mapping.end - w->mapping.start;

	return (size <= SPARSE_MAX || size / SPARSE <= w->mapping.rss) &&
	       find_range(w, w->mapping.start) && w->range.start < w->mapping.end;
}

static void look(struct waterfall *w)
{
	bool stack = w->stack_end != 0;

	forget(w);
	if (!stack && is_range(w)) {
		tell(w, w->mapping.rss / WATERFALL_PAGE);
	} else if (stack || has_leaf(w) || has_range(w)) {
		choose_stride(w);
		scan_pages(w);
	}
}

void waterfall_heap_add(struct waterfall *w, enum format_rss_line line)
{
	uint64_t rss = w->mapping.rss / WATERFALL_PAGE, all, stack = 0, known = 0;
	uint64_t fragments = w->result.lines[FORMAT_RSS_FRAGMENTS];

	look(w);
	all = w->stack_pages + w->known_pages + w->other_pages;
	if (w->stack_pages)
		stack = scale(rss, w->stack_pages, all);
	if (w->known_pages)
		known = scale(rss, w->known_pages, all);
	w->result.lines[FORMAT_RSS_STACKS] += stack * WATERFALL_PAGE;
	w->result.lines[FORMAT_RSS_MAPPED] += known * WATERFALL_PAGE;
	w->result.known += known * WATERFALL_PAGE;
	rss -= stack + known;
	w->result.heap += w->examined_pages ? rss * WATERFALL_PAGE : 0;
	w->result.examined += w->examined_pages * WATERFALL_PAGE;
	divide(w, rss, line);
	pins_end_mapping(&w->pins,
			 &(struct pins_mapping){
				 .bytes = w->result.lines[FORMAT_RSS_FRAGMENTS] - fragments,
				 .pages = rss,
				 .examined = w->examined_pages,
			 });
}
