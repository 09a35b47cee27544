/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * areas.c - see areas.h.
 *
 * First the list of mappings, then, mapping by mapping, the blocks in it and what is hidden of it, at last what remains.
 */
#include "leaks/areas.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/smaps.h"
#include "leaks/collect.h"

enum {
	ARENA_LOG2 = 26, /* heaps of glibc's arenas are aligned to their size (malloc/arena.c, HEAP_MAX_SIZE) */
	ARENA_HEADER_MAX = 128, /* sizeof(struct heap_info), in all versions */
	CONTROL_BLOCK_ALIGN = 64,
	THREAD_VARIABLES = 64 * 1024, /* before its control block, at most */
};

#define ARENA_SIZE (UINT64_C(1) << ARENA_LOG2)
#define SEARCH_MAX \
	(UINT64_C(64) << 20) /* of a mapping, for the control block of a thread that has ended */
#define OWN_FLAGS ((uint32_t)SMAPS_NORESERVE | SMAPS_RANDOM)

enum kind {
	KIND_NONE,
	KIND_DATA,	/* variables of a module */
	KIND_LIBC,	/* variables of glibc, whose malloc is in use */
	KIND_ANONYMOUS, /* may be a heap */
	KIND_SHARED,
};

struct mapping {
	uint64_t start;
	uint64_t end;
	enum kind kind;
	bool is_brk;	  /* "[heap]" */
	bool is_stack;	  /* of the main thread */
	bool is_guarded;  /* an inaccessible mapping comes before */
	bool is_reserved; /* MAP_NORESERVE, as glibc's arenas */
	/* Of the one that is looked at: */
	uint64_t stack_end; /* where a thread's stack at its beginning ends; 0 = there is none */
	uint64_t arena_start;
	uint64_t arena_end;
	bool has_chunks; /* blocks in a heap of which not more is known */
};

struct finder {
	const struct areas_source *source;
	struct areas *areas;
	struct areas_ranges hidden;
	struct mapping *mappings;
	uint32_t count;
	uint32_t room;
	struct mapping *mapping; /* looked at */
	bool no_memory;
};

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

static bool add_range(struct areas_ranges *ranges, uint64_t start, uint64_t end, enum kind kind)
{
	struct areas_range *items = ranges->items;

	if (start >= end)
		return true;
	if (ranges->count == ranges->room) {
		ranges->room = ranges->room ? 2 * ranges->room : 64;
		items = realloc(items, ranges->room * sizeof(*items));
		if (!items)
			return false;
		ranges->items = items;
	}
	items[ranges->count++] = (struct areas_range){start, end, kind == KIND_SHARED,
						      kind == KIND_LIBC};
	return true;
}

static void hide(struct finder *finder, uint64_t start, uint64_t end)
{
	if (!add_range(&finder->hidden, start, end, KIND_ANONYMOUS))
		finder->no_memory = true;
}

/* What an allocator has. */
static void hide_heap(struct finder *finder, uint64_t start, uint64_t end)
{
	hide(finder, start, end);
	if (!add_range(&finder->areas->heaps, start, end, KIND_ANONYMOUS))
		finder->no_memory = true;
}

/* --- the list of mappings -------------------------------------------------------------------- */

struct reading {
	struct finder *finder;
	struct smaps_reader reader;
	struct smaps_mapping now;
	struct smaps_mapping before;
	bool after_allocator; /* before is the data of the allocator's module */
};

static long read_maps(void *context, void *buffer, size_t size)
{
	ssize_t got;

	do
		got = read(*(const int *)context, buffer, size);
	while (got < 0 && errno == EINTR);
	return got;
}

static bool is_own(const struct reading *reading)
{
	const struct areas_source *source = reading->finder->source;
	const struct smaps_mapping *now = &reading->now;

	if (now->start >= source->location->library_start &&
	    now->start < source->location->library_end)
		return true;
	if (now->path[0] == 0 || now->path[0] == '[')
		return (now->flags & OWN_FLAGS) == OWN_FLAGS;
	return now->flags & SMAPS_SHARED && source->profile_name[0] &&
	       strcmp(smaps_name(now), source->profile_name) == 0;
}

static bool is_anonymous(const struct smaps_mapping *mapping)
{
	return mapping->path[0] == 0 || begins(mapping->path, "[heap]") ||
	       begins(mapping->path, "[anon:") || begins(mapping->path, "[stack");
}

static bool is_shared_memory(const struct smaps_mapping *mapping)
{
	return mapping->path[0] == 0 || begins(mapping->path, "/dev/shm/") ||
	       begins(mapping->path, "/dev/zero") || begins(mapping->path, "/memfd:") ||
	       begins(mapping->path, "/SYSV") || begins(mapping->path, "[anon_shmem");
}

/* Other allocators than glibc's keep the addresses of large blocks in variables of their own. */
static bool is_of_allocator(const struct reading *reading)
{
	const char *name = smaps_name(&reading->now);

	return reading->finder->source->location->allocator != FORMAT_ALLOCATOR_GLIBC &&
	       (strstr(name, "jemalloc") || strstr(name, "mimalloc") || strstr(name, "tcmalloc"));
}

static bool follows(const struct reading *reading)
{
	return reading->before.end == reading->now.start;
}

static enum kind kind_of(struct reading *reading)
{
	const struct smaps_mapping *now = &reading->now;
	bool after_allocator = reading->after_allocator && follows(reading);

	reading->after_allocator = false;
	if (!(now->flags & SMAPS_READABLE) || is_own(reading))
		return KIND_NONE;
	if (now->flags & SMAPS_SHARED)
		return now->flags & SMAPS_WRITABLE && is_shared_memory(now) ? KIND_SHARED
									    : KIND_NONE;
	if (is_anonymous(now))
		return after_allocator ? KIND_NONE : KIND_ANONYMOUS;
	if (now->path[0] == '[')
		return KIND_NONE;
	if (!(now->flags & SMAPS_WRITABLE))
		return KIND_NONE;
	reading->after_allocator = is_of_allocator(reading);
	if (reading->after_allocator)
		return KIND_NONE;
	return begins(smaps_name(now), "libc.so") || begins(smaps_name(now), "libc-") ? KIND_LIBC
										      : KIND_DATA;
}

/* Variables that the loader made read-only come before those that can be written. */
static void take_back(struct reading *reading, struct mapping *before)
{
	const uint32_t access = SMAPS_READABLE | SMAPS_WRITABLE | SMAPS_EXECUTABLE | SMAPS_SHARED;

	if (follows(reading) && (reading->before.flags & access) == SMAPS_READABLE &&
	    reading->before.path[0] == '/' && strcmp(reading->before.path, reading->now.path) == 0)
		before->kind = KIND_DATA;
}

static bool add_mapping(struct reading *reading)
{
	const uint32_t access = SMAPS_READABLE | SMAPS_WRITABLE | SMAPS_EXECUTABLE | SMAPS_SHARED;
	const struct smaps_mapping *now = &reading->now;
	struct finder *finder = reading->finder;
	struct mapping *mappings = finder->mappings;

	if (finder->count == finder->room) {
		finder->room = finder->room ? 2 * finder->room : 256;
		mappings = realloc(mappings, finder->room * sizeof(*mappings));
		if (!mappings)
			return false;
		finder->mappings = mappings;
	}
	mappings[finder->count++] = (struct mapping){
		.start = now->start,
		.end = now->end,
		.kind = kind_of(reading),
		.is_brk = begins(now->path, "[heap]"),
		.is_stack = begins(now->path, "[stack"),
		.is_guarded = follows(reading) && !(reading->before.flags & access) &&
			      reading->before.path[0] == 0,
		.is_reserved = now->flags & SMAPS_NORESERVE,
	};
	if (finder->count > 1 && (mappings[finder->count - 1].kind == KIND_DATA ||
				  mappings[finder->count - 1].kind == KIND_LIBC))
		take_back(reading, &mappings[finder->count - 2]);
	reading->before = *now;
	return true;
}

static bool read_mappings(struct finder *finder, struct error *err)
{
	struct reading *reading = calloc(1, sizeof(*reading));
	char path[64];
	bool ok;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/smaps", (int)finder->source->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || !reading) {
		error_set_errno(err, "%s", path);
		if (fd >= 0)
			close(fd);
		free(reading);
		return false;
	}
	reading->finder = finder;
	reading->reader.read = read_maps;
	reading->reader.context = &fd;
	ok = true;
	while (ok && smaps_next(&reading->reader, &reading->now))
		ok = add_mapping(reading);
	ok = ok && !reading->reader.failed && finder->count > 0;
	if (!ok)
		error_set(err, "%s cannot be read", path);
	close(fd);
	free(reading);
	return ok;
}

/* --- stacks ---------------------------------------------------------------------------------- */

static bool is_in(const struct mapping *mapping, uint64_t addr)
{
	return addr - mapping->start < mapping->end - mapping->start;
}

/* The thread whose control block comes first in the mapping; NULL: none has its own there. */
static const struct stop_thread *owner(const struct finder *finder)
{
	const struct stop *stop = finder->source->stop;
	const struct stop_thread *found = NULL;

	for (uint32_t i = 0; i < stop->count; i++) {
		uint64_t at = arch_registers_thread(&stop->threads[i].registers);

		if (is_in(finder->mapping, at) &&
		    (!found || at < arch_registers_thread(&found->registers)))
			found = &stop->threads[i];
	}
	return found;
}

static uint64_t page_end(uint64_t addr)
{
	return (addr | (MEMORY_PAGE - 1)) + 1;
}

static uint64_t find_in_page(struct memory *memory, uint64_t page)
{
	const unsigned char *bytes = memory_page(memory, page);
	uint64_t words[3];

	for (size_t at = 0; bytes && at + sizeof(words) <= MEMORY_PAGE; at += CONTROL_BLOCK_ALIGN) {
		memcpy(words, bytes + at, sizeof(words));
		if (arch_control_block_at(page + at, words))
			return page + at;
	}
	return 0;
}

/* The control block of a thread that has ended: the C library keeps its stack for another.  0: there is none. */
static uint64_t find_ended(const struct finder *finder)
{
	struct memory *memory = finder->source->memory;
	uint64_t end = finder->mapping->end, found;
	bool present[MEMORY_BATCH];

	if (end - finder->mapping->start > SEARCH_MAX)
		end = finder->mapping->start + SEARCH_MAX;
	for (uint64_t at = finder->mapping->start; at < end;
	     at += (uint64_t)MEMORY_BATCH * MEMORY_PAGE) {
		size_t count = (end - at) / MEMORY_PAGE;

		count = count < MEMORY_BATCH ? count : MEMORY_BATCH;
		if (!memory_present(memory, at, count, present))
			return 0;
		for (size_t i = 0; i < count; i++) {
			found = present[i] ? find_in_page(memory, at + i * MEMORY_PAGE) : 0;
			if (found)
				return found;
		}
	}
	return 0;
}

/* Hides what lies below the stack pointer. */
static void hide_below(struct finder *finder, uint64_t sp)
{
	if (is_in(finder->mapping, sp))
		hide(finder, finder->mapping->start, (sp - ARCH_RED_ZONE) & ~UINT64_C(7));
}

static void find_main_stack(struct finder *finder)
{
	const struct stop *stop = finder->source->stop;

	finder->mapping->stack_end = finder->mapping->end;
	for (uint32_t i = 0; i < stop->count; i++)
		if (stop->threads[i].tid == stop->pid)
			hide_below(finder, arch_registers_sp(&stop->threads[i].registers));
}

static void find_stack(struct finder *finder)
{
	struct mapping *mapping = finder->mapping;
	const struct stop_thread *thread;
	uint64_t ended;

	if (mapping->is_stack) {
		find_main_stack(finder);
		return;
	}
	if (!mapping->is_guarded)
		return;
	thread = owner(finder);
	if (thread) {
		mapping->stack_end = page_end(arch_registers_thread(&thread->registers));
		hide_below(finder, arch_registers_sp(&thread->registers));
		return;
	}
	ended = find_ended(finder);
	if (!ended)
		return;
	/* The control block has what the thread returned, for who joins it. */
	mapping->stack_end = page_end(ended);
	hide(finder, mapping->start, ended);
}

/* --- heaps ----------------------------------------------------------------------------------- */

/* The size of the heap of an arena at addr, which its header has; 0: there is none. */
static uint64_t arena_size(const struct finder *finder, uint64_t addr)
{
	uint64_t head[4]; /* arena, previous heap, size, size that was ever accessible */
	const uint64_t mask = ARENA_SIZE - 1;

	if (!memory_read(finder->source->memory, addr, head, sizeof(head)) || !head[0] ||
	    (head[0] & mask) < sizeof(head) || (head[0] & mask) > ARENA_HEADER_MAX || !head[2] ||
	    head[2] > ARENA_SIZE || head[3] > ARENA_SIZE || (head[2] | head[3]) % MEMORY_PAGE ||
	    ((head[0] & ~mask) == addr) != (head[1] == 0))
		return 0;
	/* What was given back of it may be accessible still. */
	return head[3] > head[2] ? head[3] : head[2];
}

static void find_arenas(struct finder *finder)
{
	struct mapping *mapping = finder->mapping;
	uint64_t at = (mapping->start + ARENA_SIZE - 1) & ~(ARENA_SIZE - 1), size;

	for (; mapping->is_reserved && at < mapping->end; at += ARENA_SIZE) {
		size = arena_size(finder, at);
		if (!size)
			continue;
		if (size > mapping->end - at)
			size = mapping->end - at;
		if (!mapping->arena_end)
			mapping->arena_start = at;
		mapping->arena_end = at + size;
		hide_heap(finder, at, at + size);
	}
}

/* A mapping of glibc's for one block has nothing else in it; other blocks say that what lies between them is free. */
static void note_block(void *context, const struct live_cells_block *block)
{
	struct finder *finder = context;
	struct mapping *mapping = finder->mapping;

	if (block->is_mapped)
		hide(finder, block->start & ~(uint64_t)(MEMORY_PAGE - 1), page_end(block->end - 1));
	else if (block->addr < mapping->arena_start || block->addr >= mapping->arena_end)
		mapping->has_chunks = true;
}

/* A block in memory that is no heap's otherwise, as variables. */
static bool is_heap(const struct mapping *mapping)
{
	return mapping->is_brk || (mapping->has_chunks && !mapping->is_stack);
}

/* A heap from start on, but for variables of threads: the kernel joins what the loader mapped for the main thread with what comes after. */
static void hide_rest(struct finder *finder, uint64_t start)
{
	const struct stop *stop = finder->source->stop;
	const struct mapping *mapping = finder->mapping;

	for (uint32_t i = 0; i < stop->count; i++) {
		uint64_t at = arch_registers_thread(&stop->threads[i].registers);

		if (stop->threads[i].tid != stop->pid || !is_in(mapping, at) || at < start)
			continue;
		if (at - start > THREAD_VARIABLES)
			hide_heap(finder, start, (at - THREAD_VARIABLES) & ~UINT64_C(7));
		start = page_end(at);
	}
	hide_heap(finder, start, mapping->end);
}

static bool look_into(struct finder *finder, struct collect *collect, struct error *err)
{
	struct mapping *mapping = finder->mapping;

	find_stack(finder);
	if (finder->source->location->allocator == FORMAT_ALLOCATOR_GLIBC)
		find_arenas(finder);
	if (!collect_add(collect, mapping->start, mapping->end, err))
		return false;
	if (is_heap(mapping))
		hide_rest(finder, mapping->stack_end ? mapping->stack_end : mapping->start);
	return true;
}

static bool look_into_all(struct finder *finder, struct blocks *blocks, struct error *err)
{
	struct collect *collect = calloc(1, sizeof(*collect));
	bool ok;

	if (!collect)
		return error_set(err, "no memory to read the live table");
	collect->found = note_block;
	collect->context = finder;
	collect->blocks = blocks;
	ok = collect_begin(collect, finder->source->memory, finder->source->location, err);
	for (uint32_t i = 0; ok && i < finder->count; i++) {
		finder->mapping = &finder->mappings[i];
		if (finder->mapping->kind == KIND_ANONYMOUS)
			ok = look_into(finder, collect, err);
	}
	free(collect);
	return ok &&
	       (blocks_finish(blocks) || error_set(err, "no memory for %u blocks", blocks->count));
}

/* --- what remains ---------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	const struct areas_range *first = a, *second = b;

	if (first->start != second->start)
		return first->start < second->start ? -1 : 1;
	return first->end < second->end ? -1 : first->end > second->end;
}

static bool add_roots(struct finder *finder)
{
	struct areas_ranges *roots = &finder->areas->roots;
	const struct areas_ranges *hidden = &finder->hidden;
	uint32_t h = 0;

	for (uint32_t i = 0; i < finder->count; i++) {
		const struct mapping *mapping = &finder->mappings[i];
		uint64_t at = mapping->start;

		if (mapping->kind == KIND_NONE)
			continue;
		for (; h < hidden->count && hidden->items[h].start < mapping->end; h++) {
			if (!add_range(roots, at, hidden->items[h].start, KIND_ANONYMOUS))
				return false;
			if (hidden->items[h].end > at)
				at = hidden->items[h].end;
		}
		if (!add_range(roots, at, mapping->end, mapping->kind))
			return false;
	}
	return true;
}

bool areas_find(const struct areas_source *source, struct areas *areas, struct blocks *blocks,
		struct error *err)
{
	struct finder finder = {.source = source, .areas = areas};
	bool ok = read_mappings(&finder, err) && look_into_all(&finder, blocks, err);

	if (ok && finder.hidden.count)
		qsort(finder.hidden.items, finder.hidden.count, sizeof(*finder.hidden.items),
		      compare);
	if (ok && (finder.no_memory || !add_roots(&finder)))
		ok = error_set(err, "no memory for the process's mappings");
	free(finder.hidden.items);
	free(finder.mappings);
	return ok;
}

void areas_free(struct areas *areas)
{
	free(areas->roots.items);
	free(areas->heaps.items);
	*areas = (struct areas){0};
}
