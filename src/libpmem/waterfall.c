/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * waterfall.c - see waterfall.h.
 *
 * The program's memory is read through /proc/self/mem: another thread may unmap it at any moment, which then is a short read.
 */
#include "libpmem/waterfall.h"

#include <string.h>

#include "config.h"
#include "core/waterfall.h"
#include "libpmem/live_map.h"
#include "libpmem/mappings.h"
#include "libpmem/real.h"
#include "libpmem/rss.h"
#include "libpmem/settings.h"
#include "libpmem/side_table.h"
#include "libpmem/store.h"
#include "libpmem/sys.h"

/* The library as it is mapped (ld's documentation, and the ELF header of the first segment). */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

enum { PINS_LOG2_MAX = 15 }; /* 2 MiB, for the time that it takes */

/* Everything in one mapping of its own. */
struct measurement {
	struct waterfall waterfall; /* first: its context */
	struct format_memory own;   /* not the profile's, which others may be able to write to */
	int maps;
	int pages;
	int memory;
};

static void find_own(struct format_memory *own)
{
	*own = (struct format_memory){
		.library_start = (uintptr_t)__ehdr_start,
		.library_end = (uintptr_t)_end,
		.table = (uintptr_t)live_map.top,
		.inherited = (uintptr_t)live_map_inherited_place(),
		.side_tables = (uintptr_t)side_table_place(),
		.inherited_count = live_map_inherited_count(),
		.granule_log2 = live_map.granule_log2,
		.allocator = real.allocator,
	};
}

void waterfall_init(void)
{
	find_own(&store_head()->memory);
	store_head()->ranges = (uintptr_t)mappings_place();
}

/* --- how memory is reached -------------------------------------------------------------------- */

static bool copy_program(void *context, uint64_t addr, void *buffer, size_t size)
{
	const struct measurement *m = context;

	return sys_pread(m->memory, buffer, size, (off_t)addr) == (ssize_t)size;
}

/* Never unmapped while the process has one live table.  Inherited ones go when a child forks again: not here. */
static bool copy_recorder(void *context, uint64_t addr, void *buffer, size_t size)
{
	(void)context;
	memcpy(buffer, (const void *)(uintptr_t)addr, size);
	return true;
}

static long read_maps(void *context, void *buffer, size_t size)
{
	const struct measurement *m = context;
	ssize_t got;

	do
		got = sys_read(m->maps, buffer, size);
	while (got == -EINTR);
	return got;
}

static bool read_pages(void *context, uint64_t first, uint64_t *entries, size_t count)
{
	const struct measurement *m = context;
	size_t size = count * sizeof(*entries);

	return sys_pread(m->pages, entries, size, (off_t)(first * sizeof(*entries))) ==
	       (ssize_t)size;
}

static uint64_t stack_end(void *context, uint64_t start, uint64_t end)
{
	uint32_t count = atomic_load_explicit(&store_head()->thread_count, memory_order_acquire);
	const struct format_thread *thread;
	uint64_t pointer, lowest = 0;

	(void)context;
	for (uint32_t i = 0; i < count; i++) {
		thread = store_item(FORMAT_THREADS, sizeof(*thread), i);
		pointer = thread ? atomic_load_explicit(&thread->pointer, memory_order_relaxed) : 0;
		if (pointer >= start && pointer < (lowest ? lowest : end))
			lowest = pointer;
	}
	return lowest ? (lowest | (WATERFALL_PAGE - 1)) + 1 : 0;
}

static bool next_range(void *context, uint64_t addr, struct waterfall_range *range)
{
	(void)context;
	return mappings_next(addr, range);
}

static void add_resident(void *context, uint32_t owner, uint64_t bytes)
{
	(void)context;
	mappings_add_resident(owner, bytes);
}

/* --- the measurement -------------------------------------------------------------------------- */

static int open_proc(const char *path)
{
	return sys_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NOCTTY, 0);
}

static void close_all(const struct measurement *m)
{
	if (m->maps >= 0)
		sys_close(m->maps);
	if (m->pages >= 0)
		sys_close(m->pages);
	if (m->memory >= 0)
		sys_close(m->memory);
}

static bool open_all(struct measurement *m)
{
	m->maps = open_proc("/proc/self/smaps");
	m->pages = m->maps >= 0 ? open_proc("/proc/self/pagemap") : -1;
	m->memory = m->pages >= 0 ? open_proc("/proc/self/mem") : -1;
	if (m->memory >= 0)
		return true;
	close_all(m);
	return false;
}

static const char *profile_name(void)
{
	const char *slash = strrchr(store_path(), '/');

	return slash ? slash + 1 : store_path();
}

static bool measure(struct measurement *m)
{
	bool done;

	if (!open_all(m))
		return false;
	find_own(&m->own);
	m->waterfall.source = (struct waterfall_source){
		.program = copy_program,
		.recorder = copy_recorder,
		.maps = read_maps,
		.pages = read_pages,
		.stack_end = stack_end,
		.range = next_range,
		.resident = add_resident,
		.context = m,
		.memory = &m->own,
		.profile_name = profile_name(),
		.expected = rss_bytes(),
		.examine = PMEM_RSS_EXAMINE,
	};
	mappings_clear_resident();
	done = waterfall_measure(&m->waterfall);
	close_all(m);
	return done;
}

static void set(_Atomic uint64_t *field, uint64_t value)
{
	atomic_store_explicit(field, value, memory_order_relaxed);
}

/* Returns how many; 0: there is no room for all. */
static uint32_t put_pins(const struct pins *pins)
{
	uint32_t count = 0, size = pins->slots ? 1u << pins->log2 : 0;
	struct format_pin *pin;

	for (uint32_t i = 0; i < size; i++) {
		const struct pin *from = &pins->slots[i];

		if (!from->key)
			continue;
		pin = store_place(FORMAT_PINS, sizeof(*pin), count);
		if (!pin)
			return 0;
		count++;
		*pin = (struct format_pin){
			.stack_id = pins_stack(from),
			.pages = from->pages < UINT32_MAX ? (uint32_t)from->pages : UINT32_MAX,
			.bytes = from->bytes,
			.slack = from->slack,
		};
	}
	return count;
}

static void put(const struct waterfall *waterfall, uint64_t cost_ns)
{
	const struct waterfall_result *result = &waterfall->result;
	struct format_rss *rss = &store_head()->rss;

	set(&rss->time_ns, 0);
	/* Release: readers that see what follows see the 0 too. */
	atomic_thread_fence(memory_order_release);
	set(&rss->total, result->total);
	for (uint32_t i = 0; i < FORMAT_RSS_KINDS; i++)
		set(&rss->lines[i], result->lines[i]);
	set(&rss->swapped, result->swapped);
	set(&rss->arenas, result->arenas);
	set(&rss->kept_arenas, result->kept_arenas);
	set(&rss->stacks, result->stacks);
	set(&rss->heap, result->heap);
	set(&rss->examined, result->examined);
	atomic_store_explicit(&store_head()->pin_count, put_pins(&waterfall->pins),
			      memory_order_relaxed);
	set(&rss->cost_ns, cost_ns);
	set(&rss->known, result->known);
	/* Release: all of it. */
	atomic_store_explicit(&rss->time_ns, store_time(), memory_order_release);
}

static size_t whole_pages(size_t size)
{
	return (size + WATERFALL_PAGE - 1) & ~(size_t)(WATERFALL_PAGE - 1);
}

void waterfall_record(void)
{
	uint32_t stacks = atomic_load_explicit(&store_head()->stack_limit, memory_order_relaxed);
	uint64_t begin_ns = sys_monotonic_ns();
	struct measurement *m;
	struct pins *pins;
	size_t size;

	if (sys_sandboxed() || settings.sample)
		return;
	m = sys_map(whole_pages(sizeof(*m)));
	if (!m)
		return;
	pins = &m->waterfall.pins;
	pins->log2 = pins_log2(stacks, PINS_LOG2_MAX);
	size = whole_pages(sizeof(*pins->slots) << pins->log2);
	/* Without them all else is known. */
	pins->slots = sys_map(size);
	if (measure(m))
		put(&m->waterfall, sys_monotonic_ns() - begin_ns);
	if (pins->slots)
		sys_unmap(pins->slots, size);
	sys_unmap(m, whole_pages(sizeof(*m)));
}
