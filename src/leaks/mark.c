/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mark.c - see mark.h.
 *
 * Blocks are looked at in generations: what those of one lead to is the next.  A generation that is too large for its list is found by its flag, block
 * after block in the order of addresses, so that memory is read in this order too, and with it what it leads to further on.
 */
#include "leaks/mark.h"

#include <stdlib.h>
#include <string.h>

#include "base/output.h"

enum {
	PENDING_MAX = 1 << 16,
	WORD = sizeof(uint64_t),
	BUFFER_SIZE = 256 * 1024,
	PAGES = BUFFER_SIZE / MEMORY_PAGE,
	LARGE = 64 * 1024, /* blocks that are not read page by page */
};

#define SEEN (BLOCKS_REACHED | BLOCKS_IGNORED)

/* What is done with a block that is pointed to. */
struct visit {
	struct mark *mark;
	unsigned flag;
	uint32_t self; /* pointers of a block to itself do not count; BLOCKS_NONE: it is no block */
	bool has_chunks; /* glibc's variables, of which malloc's lead to chunks */
	bool watches;	 /* for words of mark->watch */
};

bool mark_begin(struct mark *mark, struct memory *memory, struct blocks *blocks, struct error *err)
{
	*mark = (struct mark){.memory = memory, .blocks = blocks, .watch.count = 0};
	mark->pending = malloc(PENDING_MAX * sizeof(*mark->pending));
	mark->spare = malloc(PENDING_MAX * sizeof(*mark->spare));
	mark->buffer = malloc(BUFFER_SIZE);
	mark->watch.places = malloc(MARK_PLACES * sizeof(*mark->watch.places));
	if (mark->pending && mark->spare && mark->buffer && mark->watch.places)
		return true;
	mark_end(mark);
	return error_set(err, "no memory to search for pointers");
}

void mark_end(struct mark *mark)
{
	free(mark->pending);
	free(mark->spare);
	free(mark->buffer);
	free(mark->watch.places);
	mark->watch.places = NULL;
	mark->pending = mark->spare = NULL;
	mark->buffer = NULL;
}

/* --- words ----------------------------------------------------------------------------------- */

static void push(struct mark *mark, uint32_t number)
{
	mark->blocks->items[number].flags |= BLOCKS_PENDING;
	if (mark->count < PENDING_MAX)
		mark->pending[mark->count] = number;
	mark->count++;
}

/* new T[0] of a class with a destructor: a word with the number 0, and the pointer leads behind it. */
static uint32_t find_empty_array(const struct mark *mark, uint64_t addr)
{
	uint32_t number = blocks_find(mark->blocks, addr - WORD);
	const struct block *block;
	uint64_t cookie;

	if (number == BLOCKS_NONE)
		return BLOCKS_NONE;
	block = &mark->blocks->items[number];
	if (block->addr != addr - WORD || block_size(block) != WORD ||
	    !memory_read(mark->memory, block->addr, &cookie, WORD) || cookie)
		return BLOCKS_NONE;
	return number;
}

static uint32_t find(const struct mark *mark, uint64_t word)
{
	uint32_t number = blocks_find(mark->blocks, word);

	return number == BLOCKS_NONE && word % (2 * WORD) == WORD ? find_empty_array(mark, word)
								  : number;
}

/* A chunk of glibc's malloc begins 8 bytes before the block in front of it may end: what leads there is malloc's own list of free chunks. */
static bool is_next_chunk(const struct block *block, uint64_t word)
{
	return word % (2 * WORD) == 0 && word != block->addr &&
	       block->addr + block_size(block) - word <= WORD;
}

static void visit(const struct visit *visit, uint64_t word)
{
	struct mark *mark = visit->mark;
	uint32_t number = find(mark, word);
	struct block *block;

	if (number == BLOCKS_NONE || number == visit->self)
		return;
	block = &mark->blocks->items[number];
	if (block->flags & (SEEN | visit->flag) || (visit->has_chunks && is_next_chunk(block, word)))
		return;
	block->flags |= visit->flag;
	if (visit->flag != BLOCKS_INDIRECT)
		push(mark, number);
}

static void scan_words(const struct visit *how, const void *bytes, size_t size)
{
	const struct blocks *blocks = how->mark->blocks;
	/* One behind the last block may be a pointer behind an empty array. */
	const uint64_t first = blocks->first, span = blocks->span + WORD;
	const char *at = bytes, *end = at + size / WORD * WORD;
	uint64_t word;

	for (; at < end; at += WORD) {
		memcpy(&word, at, WORD);
		if (word - first < span)
			visit(how, word);
	}
}

/* Where, at at and on, words of the watched range are. */
static void watch_words(struct mark_watch *watch, uint64_t at, const void *bytes, size_t size)
{
	const char *words = bytes;
	uint64_t word;

	for (size_t i = 0; i + WORD <= size && watch->count < MARK_PLACES; i += WORD) {
		memcpy(&word, words + i, WORD);
		if (word - watch->start < watch->size)
			watch->places[watch->count++] = at + i;
	}
}

static void scan_memory(const struct visit *how, uint64_t at, const void *bytes, size_t size)
{
	scan_words(how, bytes, size);
	if (how->watches)
		watch_words(&how->mark->watch, at, bytes, size);
}

/* --- memory ---------------------------------------------------------------------------------- */

static void scan_large(const struct visit *how, uint64_t at, uint64_t end)
{
	struct mark *mark = how->mark;

	while (at < end) {
		size_t size = end - at < BUFFER_SIZE ? end - at : BUFFER_SIZE;

		if (memory_read(mark->memory, at, mark->buffer, size))
			scan_memory(how, at, mark->buffer, size);
		at += size;
	}
}

static void scan_small(const struct visit *how, uint64_t at, uint64_t end)
{
	while (at < end) {
		uint64_t inside = at % MEMORY_PAGE, size = MEMORY_PAGE - inside;
		const unsigned char *page = memory_page(how->mark->memory, at);

		if (size > end - at)
			size = end - at;
		if (page)
			scan_memory(how, at, page + inside, size);
		at += size;
	}
}

/* The aligned words in [at, end). */
static void scan_range(const struct visit *how, uint64_t at, uint64_t end)
{
	at = (at + WORD - 1) & ~(uint64_t)(WORD - 1);
	end &= ~(uint64_t)(WORD - 1);
	if (at >= end)
		return;
	how->mark->scanned += end - at;
	if (end - at >= LARGE)
		scan_large(how, at, end);
	else
		scan_small(how, at, end);
}

static void scan_block(const struct visit *how, uint32_t number)
{
	const struct block *block = &how->mark->blocks->items[number];

	scan_range(how, block->addr, block->addr + block_size(block));
}

/* Looks at a block that is pending, if it is still. */
static void take(const struct visit *how, uint32_t number)
{
	struct block *block = &how->mark->blocks->items[number];

	if (!(block->flags & BLOCKS_PENDING))
		return;
	block->flags &= (uint8_t)~BLOCKS_PENDING;
	scan_block(how, number);
}

static void take_listed(const struct visit *how)
{
	struct mark *mark = how->mark;
	uint32_t *list = mark->pending, count = mark->count;

	mark->pending = mark->spare;
	mark->spare = list;
	mark->count = 0;
	for (uint32_t i = 0; i < count; i++)
		take(how, list[i]);
}

/* What is found pending behind the place where it looks is for the next time. */
static void take_all(const struct visit *how)
{
	struct mark *mark = how->mark;

	mark->count = 0;
	memory_read_ahead(mark->memory, true);
	for (uint32_t i = 0; i < mark->blocks->count; i++)
		take(how, i);
	memory_read_ahead(mark->memory, false);
}

/* Looks at all pending blocks, and those that become it. */
static void drain(struct mark *mark, unsigned flag)
{
	const struct visit how = {mark, flag, BLOCKS_NONE, false, false};

	while (mark->count)
		if (mark->count <= PENDING_MAX)
			take_listed(&how);
		else
			take_all(&how);
}

/* --- roots ----------------------------------------------------------------------------------- */

/* Runs of pages that hold anything. */
static void scan_batch(const struct visit *how, uint64_t start, size_t count, const bool *present)
{
	for (size_t i = 0, run; i < count; i += run) {
		run = 1;
		if (!present[i])
			continue;
		while (i + run < count && present[i + run] && run < PAGES)
			run++;
		scan_large(how, start + i * MEMORY_PAGE, start + (i + run) * MEMORY_PAGE);
		how->mark->scanned += run * MEMORY_PAGE;
	}
}

static void scan_root(const struct visit *how, const struct areas_range *root)
{
	uint64_t at = (root->start + MEMORY_PAGE - 1) & ~(uint64_t)(MEMORY_PAGE - 1);
	uint64_t end = root->end & ~(uint64_t)(MEMORY_PAGE - 1);
	bool (*is_present)(const struct memory *, uint64_t, size_t,
			   bool *) = root->is_shared ? memory_present_shared : memory_present;
	bool present[MEMORY_BATCH];
	size_t count;

	if (at >= end) {
		scan_range(how, root->start, root->end);
		return;
	}
	scan_range(how, root->start, at);
	scan_range(how, end, root->end);
	for (; at < end; at += count * MEMORY_PAGE) {
		count = (end - at) / MEMORY_PAGE < MEMORY_BATCH ? (end - at) / MEMORY_PAGE
								: MEMORY_BATCH;
		if (is_present(how->mark->memory, at, count, present))
			scan_batch(how, at, count, present);
	}
}

/* A stack that lies in a block, as the program's coroutines may have it. */
static void scan_stack_in_block(const struct visit *how, const struct stop_thread *thread)
{
	uint64_t sp = arch_registers_sp(&thread->registers);
	uint32_t number = blocks_find(how->mark->blocks, sp);
	const struct block *block;

	if (number == BLOCKS_NONE)
		return;
	block = &how->mark->blocks->items[number];
	scan_range(how, sp - ARCH_RED_ZONE, block->addr + block_size(block));
}

void mark_roots(struct mark *mark, const struct areas *areas, const struct stop *stop)
{
	struct visit how = {mark, BLOCKS_REACHED, BLOCKS_NONE, false, true};

	for (uint32_t i = 0; i < stop->count; i++) {
		const struct stop_thread *thread = &stop->threads[i];

		scan_words(&how, &thread->registers, sizeof(thread->registers));
		scan_words(&how, thread->more, thread->more_count * WORD);
		scan_stack_in_block(&how, thread);
		drain(mark, BLOCKS_REACHED);
	}
	for (uint32_t i = 0; i < areas->roots.count; i++) {
		how.has_chunks = areas->roots.items[i].is_libc;
		scan_root(&how, &areas->roots.items[i]);
		drain(mark, BLOCKS_REACHED);
		output_progress("searching for pointers", i + 1, areas->roots.count);
	}
	/* What the parent process left is in use as long as it is there. */
	for (uint32_t i = 0; i < mark->blocks->count; i++)
		if ((mark->blocks->items[i].flags & (BLOCKS_FOREIGN | BLOCKS_REACHED)) ==
		    BLOCKS_FOREIGN)
			mark_from(mark, i, BLOCKS_REACHED);
	output_progress_end();
}

void mark_range(struct mark *mark, uint64_t start, uint64_t end)
{
	const struct visit how = {mark, BLOCKS_REACHED, BLOCKS_NONE, false, false};

	scan_range(&how, start, end);
	drain(mark, BLOCKS_REACHED);
}

void mark_from(struct mark *mark, uint32_t block, unsigned flag)
{
	mark->blocks->items[block].flags |= flag & 127;
	push(mark, block);
	drain(mark, flag);
}

void mark_indirect(struct mark *mark)
{
	struct visit how = {mark, BLOCKS_INDIRECT, BLOCKS_NONE, false, false};

	for (uint32_t i = 0; i < mark->blocks->count; i++) {
		if (mark->blocks->items[i].flags & SEEN)
			continue;
		how.self = i;
		scan_block(&how, i);
	}
}
