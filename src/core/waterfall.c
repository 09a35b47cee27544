/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * waterfall.c - see waterfall.h: which mapping is what.  Pages of heaps: waterfall_heap.c.
 *
 * The recorder's anonymous mappings are known by two flags that no other has together (sys_map() in libpmem/sys.h).
 */
#include "core/waterfall.h"

#include <string.h>

#include "core/waterfall_heap.h"

enum {
	GUARD_MAX = 1 << 20, /* of a stack whose thread is not known */
	ARENA_LOG2 = 26, /* heaps of glibc's arenas are aligned to their size (malloc/arena.c, HEAP_MAX_SIZE) */
	ARENA_HEADER_MAX = 128, /* sizeof(struct heap_info), in all versions */
	PATH_PREFIXES = 4,
};

#define OWN_FLAGS ((uint32_t)SMAPS_NORESERVE | SMAPS_RANDOM)
#define ARENA_SIZE (UINT64_C(1) << ARENA_LOG2)

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* --- mappings that are one thing as a whole -------------------------------------------------- */

static bool is_own(const struct waterfall *w)
{
	const struct smaps_mapping *mapping = &w->mapping;
	const struct format_memory *memory = w->source.memory;

	if (mapping->start >= memory->library_start && mapping->start < memory->library_end)
		return true;
	if (mapping->path[0] == 0 || mapping->path[0] == '[')
		return (mapping->flags & OWN_FLAGS) == OWN_FLAGS;
	return mapping->flags & SMAPS_SHARED && w->source.profile_name[0] &&
	       strcmp(smaps_name(mapping), w->source.profile_name) == 0;
}

static bool is_shared_memory(const struct smaps_mapping *mapping)
{
	static const char *const prefixes[PATH_PREFIXES] = {"/dev/shm/", "/dev/zero",
							    "/memfd:", "/SYSV"};

	for (int i = 0; i < PATH_PREFIXES; i++)
		if (mapping->flags & SMAPS_SHARED && begins(mapping->path, prefixes[i]))
			return true;
	return begins(mapping->path, "[anon_shmem");
}

/* FORMAT_RSS_MAPPED: anonymous memory, to be looked into. */
static enum format_rss_line line_of(const struct waterfall *w)
{
	const struct smaps_mapping *mapping = &w->mapping;

	if (is_own(w))
		return FORMAT_RSS_OWN;
	if (is_shared_memory(mapping))
		return FORMAT_RSS_SHARED;
	if (mapping->path[0] == 0 || begins(mapping->path, "[heap]") ||
	    begins(mapping->path, "[anon:"))
		return FORMAT_RSS_MAPPED;
	return begins(mapping->path, "[stack") ? FORMAT_RSS_STACKS : FORMAT_RSS_FILES;
}

/* --- anonymous ones -------------------------------------------------------------------------- */

static bool is_after_previous(const struct waterfall *w)
{
	return w->previous_end == w->mapping.start;
}

/* Variables of the module whose initialised ones come before. */
static bool is_bss(const struct waterfall *w)
{
	return is_after_previous(w) && !w->previous_anonymous && w->mapping.path[0] == 0 &&
	       (w->previous_flags & (SMAPS_WRITABLE | SMAPS_SHARED)) == SMAPS_WRITABLE;
}

/* The beginning of a heap: its arena, which lies behind the header of the arena's first heap; and sizes. */
static bool is_heap_at(struct waterfall *w, uint64_t addr, bool *is_first)
{
	uint64_t head[4]; /* arena, previous heap, size, size that was ever accessible */
	const uint64_t mask = ARENA_SIZE - 1;

	if (!w->source.program(w->source.context, addr, head, sizeof(head)))
		return false;
	*is_first = (head[0] & ~mask) == addr;
	return head[0] && (head[0] & mask) >= sizeof(head) && (head[0] & mask) <= ARENA_HEADER_MAX &&
	       head[2] && head[2] <= ARENA_SIZE && head[3] <= ARENA_SIZE &&
	       (head[2] | head[3]) % WATERFALL_PAGE == 0 && *is_first == (head[1] == 0);
}

static void find_arenas(struct waterfall *w)
{
	uint64_t addr = (w->mapping.start + ARENA_SIZE - 1) & ~(ARENA_SIZE - 1);
	bool is_first;

	if (addr != w->mapping.start || !(w->mapping.flags & SMAPS_NORESERVE))
		return;
	for (; addr < w->mapping.end; addr += ARENA_SIZE) {
		if (!is_heap_at(w, addr, &is_first))
			return;
		w->is_arena = true;
		w->result.arenas += is_first;
	}
}

/* A stack ends where its thread's control block lies, and begins behind an inaccessible mapping. */
static enum format_rss_line find_stack(struct waterfall *w)
{
	const uint32_t access = SMAPS_READABLE | SMAPS_WRITABLE | SMAPS_EXECUTABLE | SMAPS_SHARED;

	if (!is_after_previous(w) || w->previous_flags & access || !w->previous_anonymous)
		return FORMAT_RSS_MAPPED;
	w->stack_end = w->source.stack_end(w->source.context, w->mapping.start, w->mapping.end);
	if (w->stack_end) {
		w->result.stacks++;
		return FORMAT_RSS_MAPPED;
	}
	return w->previous_end - w->previous_start <= GUARD_MAX ? FORMAT_RSS_STACKS
								: FORMAT_RSS_MAPPED;
}

static void add_anonymous(struct waterfall *w)
{
	enum format_rss_line line = FORMAT_RSS_MAPPED;

	w->is_arena = false;
	w->is_managed = false;
	w->stack_end = 0;
	if (w->source.memory->allocator == FORMAT_ALLOCATOR_GLIBC) {
		find_arenas(w);
		w->is_managed = w->is_arena || begins(w->mapping.path, "[heap]");
	}
	if (is_bss(w))
		line = FORMAT_RSS_FILES;
	else if (!w->is_managed)
		line = find_stack(w);
	w->result.stacks += line == FORMAT_RSS_STACKS;
	waterfall_heap_add(w, line);
}

static void add_mapping(struct waterfall *w)
{
	enum format_rss_line line = line_of(w);

	w->result.total += w->mapping.rss;
	w->result.swapped += w->mapping.swap;
	if (w->mapping.rss > 0 && line == FORMAT_RSS_MAPPED)
		add_anonymous(w);
	else
		w->result.lines[line] += w->mapping.rss;
	if (line == FORMAT_RSS_SHARED)
		waterfall_heap_shared(w);
	w->result.stacks += line == FORMAT_RSS_STACKS;
	w->previous_start = w->mapping.start;
	w->previous_end = w->mapping.end;
	w->previous_flags = w->mapping.flags;
	w->previous_anonymous = w->mapping.path[0] == 0;
}

bool waterfall_measure(struct waterfall *w)
{
	w->reader.read = w->source.maps;
	w->reader.context = w->source.context;
	w->result.arenas = w->source.memory->allocator == FORMAT_ALLOCATOR_GLIBC;
	if (!waterfall_heap_begin(w))
		return false;
	while (smaps_next(&w->reader, &w->mapping))
		add_mapping(w);
	return !w->reader.failed && w->result.total > 0;
}

int64_t waterfall_unexplained(const struct waterfall_result *result)
{
	uint64_t sum = 0;

	for (int i = 0; i < FORMAT_RSS_KINDS; i++)
		sum += result->lines[i];
	return (int64_t)(result->total - sum);
}
