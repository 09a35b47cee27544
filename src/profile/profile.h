/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * profile.h - one profile in memory: the state of one process at one moment, checked.
 *
 * profile_open() copies what the file (of a running process, or left by an ended one) holds, in the order that keeps every
 * call stack consistent (alloc >= free), and checks every index: what follows may trust this struct.  What the
 * file's damage made unreadable is left out and named in damage.  Immutable afterwards.
 */
#ifndef PMEM_PROFILE_PROFILE_H
#define PMEM_PROFILE_PROFILE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "core/format.h"

struct profile_counts {
	uint64_t alloc_bytes;
	uint64_t alloc_count;
	uint64_t free_bytes;
	uint64_t free_count;
	uint64_t temporary_count;
	int64_t peak_bytes; /* share of the process's peak */
	int64_t peak_count;
	uint64_t foreign_count; /* of free_count: by other threads than those that allocated; at least */
};

static inline uint64_t profile_live_bytes(const struct profile_counts *counts)
{
	return counts->alloc_bytes - counts->free_bytes;
}

static inline uint64_t profile_live_count(const struct profile_counts *counts)
{
	return counts->alloc_count - counts->free_count;
}

struct profile_module {
	const char *path; /* "" = code outside of all modules (JIT) */
	const uint8_t *build_id;
	size_t build_id_size;
	uint32_t instance;
	uint64_t bias;
	uint64_t start;
	uint64_t end;
	uint64_t load_ns;
	uint64_t unload_ns; /* 0 = loaded */
};

/* A place in the code: the return address of a call.  Or a special name ("[truncated]"). */
struct profile_location {
	const char *special; /* NULL = code */
	uint32_t module;     /* index */
	uint64_t offset; /* return address in the terms of the module's file; without a module the address itself */
	uint64_t address; /* return address in memory, where the module lies or lay last */
};

/* Nodes: parents come in any order; node 0 is the root and has no location. */
struct profile_node {
	uint32_t parent;
	uint32_t location; /* index; equal places have equal indexes */
};

/* What realloc() did: blocks that it made of other ones. */
struct profile_realloc {
	uint64_t count;
	uint64_t moved_count; /* to another address */
	uint64_t copied_bytes;
	uint64_t chained_count; /* the old block was of the same call stack */
	uint64_t chained_bytes; /* what those old blocks had */
};

/* There may be a million of them, and most passes over a profile are passes over these: no member without need. */
struct profile_stack {
	struct profile_counts counts;
	uint32_t node; /* of the innermost frame */
	/* These three are asked for by profile_sizes() and so on.  0 = none */
	uint32_t sizes;	    /* as in struct format_stack */
	uint32_t lifetimes; /* number in profile.histograms */
	uint32_t reallocs;  /* number in profile.reallocs */
	uint8_t hook;	    /* enum format_hook, or FORMAT_NO_HOOK for a special one */
	bool inexact;	    /* its figures are estimates */
	uint32_t number;    /* call-stack id in the file */
};

/* What one call stack asked for and did not get. */
struct profile_failure {
	struct profile_stack stack; /* without figures: it may have no event */
	uint64_t count;
	uint64_t bytes; /* asked for in all, as far as that is a number */
	uint64_t largest_bytes;
	uint64_t first_bytes; /* by the first call */
	uint64_t first_ns;
	uint64_t last_ns;
};

struct profile_thread {
	uint32_t tid;
	uint32_t owners; /* how many threads shared this line */
	uint32_t level;
	uint64_t pointer; /* an address at the end of its stack; 0 = not known */
	bool running;
	char name[16];
	struct profile_counts counts; /* live may be negative: see free_bytes > alloc_bytes */
};

struct profile_point {
	uint64_t time_ns;
	uint64_t live_bytes;
	uint64_t alloc_bytes; /* 0 = not known */
	uint64_t alloc_count; /* 0 = not known */
	uint64_t rss_bytes;   /* 0 = not known */
	uint64_t lost_events;
	uint64_t mapped_bytes; /* no part of live_bytes */
};

struct profile_sample {
	uint64_t time_ns;
	uint64_t live_bytes;
	uint64_t alloc_bytes;
	bool gap; /* between it and the one before there were others, which were dropped; else nothing changed until it */
};

/* The samples of one call stack, by time, without duplicates. */
struct profile_series {
	uint32_t stack; /* index in stacks */
	uint32_t count;
	const struct profile_sample *samples;
};

struct profile_mark {
	uint64_t time_ns;
	const char *text;
};

struct given_names;
struct stack_id_prefix;

struct profile {
	const char *path; /* of the file */
	uint64_t file_bytes;
	struct format_header header; /* as read; its texts are below */
	bool is_live;		     /* its process runs, and records here */
	const char *program;	     /* path; "" = unknown */
	const char *program_name;    /* last part of it */
	const char *command;	     /* arguments, NUL after each */
	size_t command_size;
	const char *directory;
	const char *cgroup;
	const char *host;
	const char *refused_setting;
	const char *own_new; /* path of the next allocator, if C++ code called its own operator new; "" = it has none */
	const char *own_malloc; /* path of what has a malloc() that came before the recorder's; "" = nothing */
	uint64_t duration_ns;		/* from start to end, or to the latest sign of life */
	struct profile_counts totals;	/* sum of all stacks */
	struct profile_module *modules; /* 0: code outside of all modules */
	uint32_t module_count;
	struct profile_location *locations;
	uint32_t location_count;
	struct profile_node *nodes;
	uint32_t node_count;
	struct profile_stack *stacks; /* those with any event */
	uint32_t stack_count;
	struct profile_thread *threads;
	uint32_t thread_count;
	struct profile_point *points; /* by time */
	uint32_t point_count;
	struct profile_series *series;
	uint32_t series_count;
	struct profile_mark *marks; /* by time */
	uint32_t mark_count;
	/* What the program maps itself (mmap), as if that were the heap: its call stacks, their series, sums and points, on the same nodes
	 * and locations.  Live bytes are those mapped now; blocks, sizes and temporary allocations there are none; a call stack's
	 * peak is its own. */
	const struct profile *mapped;
	bool is_mapped;		     /* it is such a one; then also: */
	const struct profile *whole; /* that it is part of */
	const uint32_t *records; /* by index of the call stack: its number among the file's FORMAT_MAPPINGS */
	const uint64_t *resident; /* likewise: its resident bytes at header.rss.time_ns */
	const struct format_histogram *histograms; /* of sizes and lifetimes, as in the file; 0 is not used */
	const struct profile_realloc *reallocs; /* 0 is not used */
	struct format_pin *pins;		/* as recorded at the end */
	uint32_t pin_count;
	struct profile_failure *failures; /* by the time of the first one */
	uint32_t failure_count;
	struct stack_id_prefix **id_prefixes; /* stack_id.h's; NULL = ids take longer */
	struct given_names *given; /* names that came with it: given_names.h; NULL = none */
	char damage[256]; /* "" = none; else what is missing or wrong: the profile is partial */
	uint32_t damage_count;	  /* how many findings there were */
	uint32_t damage_unlisted; /* how many of them are not in the text */
	uint32_t cut_blocks; /* that the file ends before: a copy that was not finished; other damage follows from that */
};

/* True if the program maps memory itself. */
static inline bool profile_maps(const struct profile *profile)
{
	return profile->mapped && profile->mapped->stack_count > 0;
}

/* False: the file is no profile, of a version that this program does not know, or cannot be read. */
bool profile_open(const char *path, struct profile **profile, struct error *err);
void profile_close(struct profile *profile);

/* How many of a call stack's blocks were of which size class, for its counts.alloc_count as it is now.  False: it has none. */
bool profile_sizes(const struct profile *profile, const struct profile_stack *stack,
		   uint64_t counts[FORMAT_CLASSES]);

/* How many sampled blocks of it lived how long.  False: none. */
bool profile_lifetimes(const struct profile *profile, const struct profile_stack *stack,
		       uint64_t counts[FORMAT_CLASSES]);

/* NULL: none. */
static inline const struct profile_realloc *profile_reallocs(const struct profile *profile,
							     const struct profile_stack *stack)
{
	return stack->reallocs ? &profile->reallocs[stack->reallocs] : NULL;
}

/* What the findings in damage mean: "the file is cut off", "the file could not grow" or "the file is damaged". */
const char *profile_damage_words(const struct profile *profile);

enum { PROFILE_DAMAGE_SIZE = 512 };

/* That, and the findings that do not follow from others, for a report.  Only if there are any. */
const char *profile_damage_text(const struct profile *profile, char text[PROFILE_DAMAGE_SIZE]);

/* "malloc" and so on. */
const char *profile_hook_name(uint32_t hook);

/* "events" and so on: the names of the log's lost lines. */
const char *profile_loss_name(uint32_t loss);

/* Of a loss that leaves sums right what it counts, for a person: "lifetimes not measured"; NULL: it is none of these. */
const char *profile_blemish_words(uint32_t loss);

/* Sum of the losses that make figures wrong or missing: events, internal, profile bytes. */
uint64_t profile_losses(const struct profile *profile);

#endif
