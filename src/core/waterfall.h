/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * waterfall.h - what the resident set of a process consists of (struct format_rss).
 *
 * The same measurement is made by the recorder in its own process and by the tool in another one: how memory is reached is the
 * caller's.  Freestanding, allocates nothing: struct waterfall is some 50 KiB that the caller maps, zeroed but for source
 * (and pins, if it is to say who pins what).
 *
 * Mappings are told apart by /proc/PID/smaps; in anonymous ones each resident page (/proc/PID/pagemap) by the live table.  In a
 * large heap a sample of windows of LIVE_CELLS_WINDOW is looked at, so that the time grows slowly with the heap.
 */
#ifndef PMEM_CORE_WATERFALL_H
#define PMEM_CORE_WATERFALL_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/format.h"
#include "core/live_cells.h"
#include "core/pins.h"
#include "core/smaps.h"

enum {
	WATERFALL_PAGE = 4096, /* the only size of pages that we know */
	WATERFALL_BATCH = 512, /* pages asked for at once */
	WATERFALL_TABLES = 9,  /* live tables: the process's, and inherited ones */
	WATERFALL_WINDOW_PAGES = LIVE_CELLS_WINDOW / WATERFALL_PAGE,
};

/* Memory that the program mapped itself. */
struct waterfall_range {
	uint64_t start;
	uint64_t end;
	uint32_t owner; /* for waterfall_source.resident */
};

struct waterfall_source {
	live_cells_copy *program; /* see struct live_cells */
	live_cells_copy *recorder;
	/* Copies the next bytes of smaps; see struct smaps_reader. */
	long (*maps)(void *context, void *buffer, size_t size);
	/* Copies entries of pagemap. */
	bool (*pages)(void *context, uint64_t first, uint64_t *entries, size_t count);
	/* The end of the lowest thread's stack in [start, end); 0 = there is none. */
	uint64_t (*stack_end)(void *context, uint64_t start, uint64_t end);
	/* The first range that ends after addr; addr grows.  False: there is none.  NULL: they are not known. */
	bool (*range)(void *context, uint64_t addr, struct waterfall_range *range);
	/* Told of resident bytes in a range.  NULL: not wanted. */
	void (*resident)(void *context, uint32_t owner, uint64_t bytes);
	void *context;
	const struct format_memory *memory;
	const char *profile_name; /* last part of the profile's path; "" = it has none */
	uint64_t expected;	  /* resident set, roughly */
	uint64_t examine;	  /* bytes of the heap to look at, roughly; all if it is smaller */
};

struct waterfall_result {
	uint64_t total;
	uint64_t lines[FORMAT_RSS_KINDS];
	uint64_t swapped;
	uint64_t arenas;
	uint64_t kept_arenas;
	uint64_t stacks;
	uint64_t heap;
	uint64_t examined;
	uint64_t known; /* the part of FORMAT_RSS_MAPPED in ranges */
};

/* A live table, and how far it has been read in this mapping. */
struct waterfall_table {
	uint64_t top;
	uint64_t searched;	       /* blocks that begin before are known */
	struct live_cells_block block; /* the last one of them; end 0 = none */
};

/* What is known of the pages of a mapping, in bytes; of the examined ones only. */
struct waterfall_sums {
	uint64_t live;
	uint64_t rounding;
	uint64_t fragments;
	uint64_t inherited;
	uint64_t free; /* pages without a block */
};

struct waterfall {
	struct waterfall_source source;
	struct waterfall_result result;
	/* Of the mapping: */
	struct smaps_mapping mapping;
	uint64_t previous_start;
	uint64_t previous_end;
	uint32_t previous_flags;
	bool previous_anonymous;
	bool is_arena;
	bool is_managed;    /* an allocator keeps free pages here */
	uint64_t stack_end; /* pages below it are a stack's */
	uint64_t stack_pages;
	uint64_t known_pages; /* in ranges that the program mapped itself */
	uint64_t other_pages;
	uint64_t examined_pages;
	uint64_t windows; /* resident ones so far */
	uint64_t stride;  /* one of so many is examined */
	struct waterfall_sums sums;
	struct waterfall_range
		range; /* the first one that ends after what was looked at last; end 0: not asked yet */
	struct pins pins;
	struct waterfall_table tables[WATERFALL_TABLES];
	uint32_t table_count;
	struct live_cells cells;
	struct smaps_reader reader;
	uint64_t entries[WATERFALL_BATCH];
	uint32_t values[LIVE_CELLS_MAX + LIVE_CELLS_TAIL];
};

/* Measures into waterfall->result.  False: smaps or pagemap cannot be read. */
bool waterfall_measure(struct waterfall *waterfall);

/* What the lines do not explain; negative: they say more than there is. */
int64_t waterfall_unexplained(const struct waterfall_result *result);

#endif
