/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * format.h - what a profile file (pmem.$pid.prof) holds.  doc/FORMAT.md is the normative text.
 *
 * The file is an array of blocks of FORMAT_BLOCK_SIZE bytes.  Block 0 is struct format_header and the beginning of the directory:
 * an entry for each block of the file, which says of what kind it is and which part of that kind's array it
 * holds.  The directory goes on in blocks of kind FORMAT_DIRECTORY, which header.directories names.
 * The recorder maps the file and works in it; blocks are zero until they are written.  A reader at any
 * moment, or after the process was killed, sees a consistent prefix: counts are stored (release) after what they count.  It
 * must check every index against the counts, and every count against the blocks that are there.
 *
 * Item i of a kind with items of size bytes lies in the kind's block i / n at (i % n) * size, n = FORMAT_BLOCK_SIZE / size.
 *
 * All numbers are in the byte order of the machine that wrote them (byte_order tells).  Times are nanoseconds of
 * CLOCK_MONOTONIC since start_monotonic_ns, if not said otherwise.  Sizes are bytes.  Fields marked (atomic) change
 * while the process runs.
 */
#ifndef PMEM_CORE_FORMAT_H
#define PMEM_CORE_FORMAT_H
#include <assert.h>
#include <stdatomic.h>
#include <stdint.h>

#define FORMAT_MAGIC "pmemprof" /* 8 bytes, no terminator */
#define FORMAT_BYTE_ORDER 0x01020304u

enum {
	FORMAT_VERSION = 1, /* grows with every change that an older reader would misread */
	FORMAT_BLOCK_SIZE = 16 * 1024,
	FORMAT_HEADER_SIZE = 4096,
	FORMAT_FIRST_ENTRIES = (FORMAT_BLOCK_SIZE - FORMAT_HEADER_SIZE) /
			       4,		/* of the directory, in block 0 */
	FORMAT_ENTRIES = FORMAT_BLOCK_SIZE / 4, /* in each further block of it */
	FORMAT_DIRECTORIES = 15,		/* further blocks */
	FORMAT_BLOCKS_MAX = FORMAT_FIRST_ENTRIES +
			    FORMAT_DIRECTORIES * FORMAT_ENTRIES, /* of a file: 1,008 MiB */
	FORMAT_INDEX_BITS = 24, /* directory entry: kind << FORMAT_INDEX_BITS | index in the kind's array of blocks */
	FORMAT_BUILD_ID_MAX = 20,
	FORMAT_REGION_BITS = 20, /* low bits of a pc32: offset in the region */
	FORMAT_CHUNK = 64,	 /* counters in a chunk */
	FORMAT_CLASSES = 24,	 /* of a histogram */
	FORMAT_RECENT = 256,	 /* in struct format_recent_sizes */
	FORMAT_RECENT_CLASS_SHIFT = 32,
	FORMAT_RECENT_CLASS_MASK = 31, /* above the shift */
	FORMAT_RECENT_STACK_SHIFT = 37,
	FORMAT_SIZE_SHIFT = 3, /* size class 0: up to 8 bytes, then up to 16, 32 ...; the last is open */
	FORMAT_LIFETIME_SHIFT = 10, /* lifetime class 0: up to 1,024 ns, then 2,048 ...; the last is open */
	FORMAT_LOSSES = 32,
	FORMAT_STACK_FIRST = 3, /* the first call-stack id that is not one of the fixed ones */
	FORMAT_HOOK_SHIFT = 8,
	FORMAT_NO_HOOK = 0xff,
	FORMAT_RSS_LINES = 16, /* room for lines of struct format_rss */
};

enum format_kind {
	FORMAT_UNUSED = 0, /* the block belongs to nothing (yet) */
	FORMAT_HEADER = 1,
	FORMAT_NODES = 2,    /* struct format_node, by index; 0 is the root */
	FORMAT_STACKS = 3,   /* struct format_stack, by call-stack id; 0 is not used */
	FORMAT_COUNTERS = 4, /* struct format_counter [FORMAT_CHUNK] each, by number of the chunk */
	FORMAT_WIDE = 5,     /* struct format_counter_wide */
	FORMAT_HISTOGRAMS = 6, /* struct format_histogram; 0 is not used */
	FORMAT_REGIONS = 7,    /* struct format_region; 0 is not used: names instead of code */
	FORMAT_TEXT = 8, /* NUL-terminated strings and other bytes, by offset; none crosses a block's end */
	FORMAT_MODULES = 9,    /* struct format_module; 0 is code outside of all modules (JIT) */
	FORMAT_CHUNKS = 10,    /* struct format_chunk, by number of the chunk */
	FORMAT_THREADS = 11,   /* struct format_thread */
	FORMAT_POINTS = 12,    /* struct format_point, in no order */
	FORMAT_SERIES = 13,    /* struct format_series */
	FORMAT_MARKS = 14,     /* struct format_mark */
	FORMAT_DIRECTORY = 15, /* uint32_t [FORMAT_ENTRIES]: entries of blocks FORMAT_FIRST_ENTRIES + index * FORMAT_ENTRIES and on */
	FORMAT_GIVEN = 16,     /* struct format_given: not the recorder's, see there */
	FORMAT_GIVEN_TEXT = 17,	  /* as FORMAT_TEXT, for FORMAT_GIVEN */
	FORMAT_MAPPINGS = 18,	  /* struct format_mapping, in no order */
	FORMAT_PINS = 19,	  /* struct format_pin, in no order */
	FORMAT_REALLOCS = 20,	  /* struct format_realloc, in no order */
	FORMAT_FAILURES = 21,	  /* struct format_failure, in no order */
	FORMAT_RECENT_SIZES = 22, /* struct format_recent_sizes, in no order */
	FORMAT_KINDS,
};

/* Bytes in the text.  size 0: none, or not known. */
struct format_text {
	uint32_t offset;
	uint32_t size; /* without the NUL that follows */
};

enum format_state {
	FORMAT_STATE_RECORDING = 1, /* if the process is gone: it was killed, or executed another image */
	FORMAT_STATE_ENDED = 2, /* the process ended by exit(), return from main, _exit() or quick_exit() */
	FORMAT_STATE_STOPPED = 3, /* recording stopped before the process ended: strict seccomp, or our own bug */
};

enum format_loss {
	FORMAT_LOSS_EVENTS,	  /* allocations or frees that were not recorded */
	FORMAT_LOSS_STALE_BLOCKS, /* live blocks that had been freed past the hooks */
	FORMAT_LOSS_TRUNCATED,	  /* captures whose call stack ends early: no unwind information */
	FORMAT_LOSS_SHORT_STACKS, /* captures charged to [signal handler], [truncated] or [beyond budget] */
	FORMAT_LOSS_MEMORY,    /* requests for recorder memory that failed */
	FORMAT_LOSS_LOG_BYTES, /* bytes of log that could not be written */
	FORMAT_LOSS_SAMPLES,   /* lifetime samples dropped */
	FORMAT_LOSS_MODULES,   /* modules or code regions that found no room */
	FORMAT_LOSS_INTERNAL,  /* broken assertions: bugs of pmem */
	FORMAT_LOSS_PROFILE_BYTES, /* bytes of the profile that found no room in the file: see memory_blocks */
	FORMAT_LOSS_TIMELINE, /* points or samples of the timeline that found no room */
	FORMAT_LOSS_CHILDREN, /* forked children that have events and no profile */
	FORMAT_LOSS_NOT_TAKEN, /* allocations and mappings charged to their caller alone, below [not taken]: see max_overhead */
	FORMAT_LOSS_MAPPINGS, /* calls that map or unmap memory and were not recorded */
	FORMAT_LOSS_FAILURES, /* failed allocations that found no room in FORMAT_FAILURES */
	FORMAT_LOSS_KINDS,
};

/* The allocator that the recorder passes on to. */
enum format_allocator {
	FORMAT_ALLOCATOR_UNKNOWN = 0,
	FORMAT_ALLOCATOR_GLIBC = 1,
	FORMAT_ALLOCATOR_JEMALLOC = 2,
	FORMAT_ALLOCATOR_MIMALLOC = 3,
	FORMAT_ALLOCATOR_TCMALLOC = 4,
	FORMAT_ALLOCATOR_OTHER = 5,
};

/* Code in libpmem.so to which pmem leaks sends a stopped thread, for one system call: addresses in the process (arch/errand.h). */
struct format_errand {
	uint64_t fork; /* the code begins here: a call that forks */
	uint64_t call; /* any other */
	uint64_t home; /* back */
	uint64_t end;
	uint64_t memory; /* of struct arch_errand; 0 = there is none */
};

/* Where in the process the recorder's own memory lies, for who looks into it while it runs (core/live_cells.h).  Means nothing
 * to other versions of pmem than the one in header.recorder. */
struct format_memory {
	uint64_t library_start; /* libpmem.so, as mapped */
	uint64_t library_end;
	uint64_t table;	      /* address of the live table's upper level; 0 = not known */
	uint64_t inherited;   /* of the array of tables that came with fork() */
	uint64_t side_tables; /* of the array of tables with what does not fit into the live table */
	uint32_t inherited_count;
	uint32_t granule_log2; /* bytes of the heap for each cell of the live table */
	uint32_t allocator;    /* enum format_allocator */
	uint32_t reserved;
};

/* What the resident set consists of; the sum is struct format_rss.total, but for what could not be explained. */
enum format_rss_line {
	FORMAT_RSS_LIVE,      /* of live blocks, as requested */
	FORMAT_RSS_ROUNDING,  /* what the allocator adds to them */
	FORMAT_RSS_FRAGMENTS, /* free parts of pages that also hold live blocks */
	FORMAT_RSS_KEPT,      /* pages of the allocator without a live block */
	FORMAT_RSS_INHERITED, /* blocks that the parent process had before fork() */
	FORMAT_RSS_STACKS,    /* of threads */
	FORMAT_RSS_FILES, /* the program, libraries, other mapped files, with what was changed in private copies */
	FORMAT_RSS_SHARED, /* shared memory */
	FORMAT_RSS_MAPPED, /* other anonymous memory: what the program mapped itself */
	FORMAT_RSS_OWN,	   /* the recorder's */
	FORMAT_RSS_KINDS,
};

/* The resident set at one moment. */
struct format_rss {
	_Atomic uint64_t time_ns; /* 0: none, or being written */
	_Atomic uint64_t total;	  /* as the kernel counts it: sum of Rss in /proc/PID/smaps */
	_Atomic uint64_t lines[FORMAT_RSS_LINES]; /* by enum format_rss_line */
	_Atomic uint64_t swapped;		  /* not part of total */
	_Atomic uint64_t arenas; /* of glibc's malloc, the main one too; 0 = another allocator */
	_Atomic uint64_t kept_arenas; /* the part of FORMAT_RSS_KEPT in arenas but the main one */
	_Atomic uint64_t stacks;      /* how many there are */
	_Atomic uint64_t heap;	      /* resident bytes that the live table was asked about */
	_Atomic uint64_t examined; /* the part of them that was looked at: less than heap: a sample */
	_Atomic uint64_t cost_ns; /* what the measurement took */
	_Atomic uint64_t known; /* the part of FORMAT_RSS_MAPPED that struct format_mapping tells of */
};

struct format_header {
	char magic[8]; /* written last, when the fields down to peak_bytes are complete */
	uint32_t version;
	uint32_t byte_order;
	uint32_t header_size;
	uint32_t block_size;
	uint32_t blocks_max;
	uint32_t machine;  /* EM_* of elf.h */
	char recorder[32]; /* pmem's version, NUL-terminated */
	uint32_t pid;	   /* as the process saw it */
	uint32_t parent_pid;
	uint32_t image; /* 1, or n for the nth profile of that name */
	uint32_t page_size;
	uint64_t run_id; /* PMEM_RUN_ID: the same for all processes of one `pmem run`; 0 = none */
	uint64_t start_realtime_ns; /* CLOCK_REALTIME, since 1970 */
	uint64_t start_monotonic_ns; /* CLOCK_MONOTONIC, since the machine's start: zero of the other times */
	uint64_t start_ticks; /* field 22 of /proc/PID/stat; with pid: which process it is; 0 = unknown */
	uint64_t cgroup_limit;	  /* memory limit of the cgroup at start; 0 = none or unknown */
	uint64_t address_limit;	  /* RLIMIT_AS at start; 0 = none */
	uint64_t lifetime_sample; /* one block in so many has its lifetime measured */
	uint64_t sample_bytes; /* mean bytes between sampled allocations; 0 = every allocation was recorded */
	uint32_t forked; /* 1: the process was forked by a recorded one and runs the same image */
	uint32_t max_overhead; /* share of the time that capturing call stacks may take, in tenths of a percent; 0 = no bound */
	struct format_text program; /* path of the executable */
	struct format_text command; /* arguments as in /proc/PID/cmdline: each ends in NUL; may be cut */
	struct format_text directory; /* current directory at start */
	struct format_text cgroup;    /* path in the hierarchy */
	struct format_text host;
	struct format_text refused_setting; /* NAME=value that was not understood */
	struct format_text own_malloc; /* path of the program or library whose malloc() was called in place of the recorder's */
	struct format_text own_new; /* path of the next allocator, if the program's operator new is its own: it was not seen */

	/* All below: (atomic). */
	_Atomic uint64_t peak_bytes; /* largest sum of live bytes so far */
	_Atomic uint32_t peak_epoch; /* shares with this epoch, and untouched counters, are of that peak */
	_Atomic uint32_t state;	    /* enum format_state */
	_Atomic uint64_t peak_ns;   /* a time not later than one timeline interval after the peak */
	_Atomic uint64_t update_ns; /* time of the latest point, snapshot or end */
	_Atomic uint64_t end_ns;    /* 0 while it is recorded */
	_Atomic uint64_t live_bytes_hint; /* live bytes at update_ns */

	_Atomic uint32_t
		node_count; /* nodes below it are complete; links may already lead beyond: then they end */
	_Atomic uint32_t stack_limit; /* call-stack ids below it are complete */
	_Atomic uint32_t chunk_count; /* chunks below it may exist: see struct format_chunk */
	_Atomic uint32_t wide_count;
	_Atomic uint32_t histogram_count;
	_Atomic uint32_t region_count;
	_Atomic uint32_t module_count;
	_Atomic uint32_t thread_count;
	_Atomic uint32_t point_count;  /* slots below it may hold a point */
	_Atomic uint32_t series_count; /* slots below it may hold samples */
	_Atomic uint32_t mark_count;
	_Atomic uint32_t text_size;

	_Atomic uint64_t losses[FORMAT_LOSSES]; /* by enum format_loss */
	_Atomic uint64_t inherited_freed; /* blocks freed here that a parent process had allocated */
	_Atomic uint64_t unknown_freed;	  /* frees and reallocs of addresses that were not known */
	/* Blocks of data that could not be part of the file and were kept in memory.  Not 0: what this file shows of them
	 * is the state at flushed_ns, or nothing if that is 0. */
	_Atomic uint32_t memory_blocks;
	_Atomic uint32_t file_error; /* errno of the first failure to grow the file; 0 = none */
	_Atomic uint64_t flushed_ns;
	/* The recorder's own cost. */
	_Atomic uint64_t own_bytes;   /* resident, at update_ns; 0 = not measured */
	_Atomic uint64_t snapshot_ns; /* spent in snapshots of the log */
	_Atomic uint64_t timeline_ns; /* spent in the timeline */
	_Atomic uint64_t snapshot_count;
	_Atomic uint64_t interval_ns; /* points are no further apart, but for times without events */
	/* Number in the file of the block that holds the nth further part of the directory; 0 = none yet. */
	_Atomic uint32_t directories[FORMAT_DIRECTORIES];
	/* Names of code of module 0 that the tool has added to the file of an ended process; written last. */
	_Atomic uint32_t given_count;
	struct format_memory memory; /* complete when the magic is there */
	struct format_rss rss;	     /* as measured last */
	uint64_t data_limit;	     /* RLIMIT_DATA at start; 0 = none */
	/* At the latest point; 0 = not known. */
	_Atomic uint64_t address_bytes; /* address space in use: what RLIMIT_AS counts */
	_Atomic uint64_t data_bytes; /* private writable memory: RLIMIT_DATA counts that less the stack */
	_Atomic uint32_t mapping_count; /* items of FORMAT_MAPPINGS */
	_Atomic uint32_t pin_count; /* items of FORMAT_PINS, which belong to rss; 0 = none were recorded */
	_Atomic uint64_t mapped_peak_bytes; /* most at one time, of all call stacks */
	uint64_t ranges; /* address in the process: what is mapped now (core/range_leaf.h); 0 = not known */
	_Atomic uint32_t realloc_count; /* items below it may be in use */
	_Atomic uint32_t failure_count; /* likewise */
	struct format_errand errand;
	uint64_t realloc_start; /* code of the hooks realloc() and reallocarray(): addresses in the process */
	uint64_t realloc_end;
	_Atomic uint32_t recent_count; /* items of FORMAT_RECENT_SIZES below it may be in use */
	uint32_t reserved;
};

static_assert(sizeof(struct format_memory) == 56 && sizeof(struct format_rss) == 208, "no padding");
static_assert(sizeof(struct format_header) <= FORMAT_HEADER_SIZE, "the directory follows");

/* Block 0. */
struct format_first_block {
	struct format_header header;
	char padding[FORMAT_HEADER_SIZE - sizeof(struct format_header)];
	_Atomic uint32_t
		blocks[FORMAT_FIRST_ENTRIES]; /* the directory, by number of the block in the file */
};

static_assert(sizeof(struct format_first_block) == FORMAT_BLOCK_SIZE, "block 0");

/* Names that stand for a frame without code: the pc32 of a region 0. */
enum format_special {
	FORMAT_SPECIAL_SIGNAL = 1,	  /* [signal handler] */
	FORMAT_SPECIAL_BEYOND_BUDGET = 2, /* [beyond budget] */
	FORMAT_SPECIAL_TRUNCATED = 3,	  /* [truncated] */
	FORMAT_SPECIAL_UNKNOWN = 4,	  /* [unknown module] */
	FORMAT_SPECIAL_NOT_TAKEN = 5,	  /* [not taken] */
};

/* A node of the calling-context tree.  The children of node n form a list that begins at n + 1: link is the index of
 * the next entry, or, with FORMAT_LINK_PARENT, that of the parent, which ends the list.  An entry with
 * FORMAT_LINK_STACK is not a frame but says that call stacks end at the parent; its pc32 is a call-stack id.
 * Readers need only the parents: struct format_stack leads to the leaves, and from a node the list's last
 * entry leads to its parent. */
struct format_node {
	uint32_t pc32; /* region << FORMAT_REGION_BITS | offset of (return address - 1) in it */
	_Atomic uint32_t link;
};

#define FORMAT_LINK_PARENT 0x80000000u
#define FORMAT_LINK_STACK 0x40000000u
#define FORMAT_LINK_INDEX 0x3fffffffu

enum format_stack_flag {
	FORMAT_STACK_INEXACT = 1, /* a stale block was charged to it: its figures are estimates */
};

/* A call stack: which nodes, and what is shared by all threads. */
struct format_stack {
	uint32_t node; /* of the innermost frame; 0: one of the fixed ids, see FORMAT_SPECIAL_* with the same number */
	_Atomic uint32_t
		sizes; /* 0: no blocks; FORMAT_SIZES_MANY unset: all blocks are of size class (sizes - 1) */
	_Atomic uint32_t lifetimes; /* index of the histogram of sampled lifetimes; 0 = none */
	_Atomic uint32_t
		flags; /* enum format_stack_flag | entry point (enum format_hook) << FORMAT_HOOK_SHIFT */
};

/* In sizes: bits 24 to 30 are the first class seen, bits 0 to 23 the index of a histogram with all blocks of other classes;
 * the first class has the rest of the call stack's alloc_count. */
#define FORMAT_SIZES_MANY 0x80000000u

/* The function that was called: a call stack's innermost frame. */
enum format_hook {
	FORMAT_HOOK_MALLOC,
	FORMAT_HOOK_CALLOC,
	FORMAT_HOOK_REALLOC,
	FORMAT_HOOK_REALLOCARRAY,
	FORMAT_HOOK_POSIX_MEMALIGN,
	FORMAT_HOOK_ALIGNED_ALLOC,
	FORMAT_HOOK_MEMALIGN,
	FORMAT_HOOK_VALLOC,
	FORMAT_HOOK_PVALLOC,
	/* Those that map memory: call stacks of struct format_mapping. */
	FORMAT_HOOK_MMAP,
	FORMAT_HOOK_MREMAP,
	FORMAT_HOOK_SBRK,
	FORMAT_HOOK_BRK,
	FORMAT_HOOK_COUNT,
};

/* Values of an epoch that are none. */
#define FORMAT_EPOCH_CHANGING \
	0u /* never used yet, or peak_bytes and peak_count are being written */
#define FORMAT_EPOCH_WIDE UINT32_MAX

/* What one thread allocated and freed at one call stack.  Live = alloc - free, summed over all threads: of one
 * thread alone the difference may be negative.  Read all free fields before any alloc field. */
struct format_counter {
	_Atomic uint32_t alloc_count;
	_Atomic uint32_t free_count;
	_Atomic uint32_t alloc_bytes;
	_Atomic uint32_t free_bytes;
	_Atomic uint32_t temporary_count; /* freed by this thread with no allocation of it in between */
	_Atomic uint32_t
		epoch; /* peak epoch of the last change; FORMAT_EPOCH_WIDE: goes on in wide[peak_bytes] */
	_Atomic int32_t peak_bytes; /* alloc - free when that epoch began: the share of its peak */
	_Atomic int32_t peak_count;
};

/* What a counter goes on with when a number does not fit into 32 bits. */
struct format_counter_wide {
	_Atomic uint64_t alloc_count;
	_Atomic uint64_t free_count;
	_Atomic uint64_t alloc_bytes;
	_Atomic uint64_t free_bytes;
	_Atomic uint64_t temporary_count;
	_Atomic int64_t peak_bytes;
	_Atomic int64_t peak_count;
	_Atomic uint32_t epoch; /* never FORMAT_EPOCH_WIDE */
	uint32_t reserved;
};

/* Whose counters a chunk holds: those of call-stack ids slot * FORMAT_CHUNK and on.  thread 0: not used yet. */
struct format_chunk {
	_Atomic uint64_t owner; /* (index of the struct format_thread + 1) << 32 | slot */
};

struct format_histogram {
	_Atomic uint64_t counts[FORMAT_CLASSES];
};

/* Blocks that one thread counted lately and that are not in the histograms of sizes, which all threads share, yet: each
 * id of a call stack << FORMAT_RECENT_STACK_SHIFT | size class << FORMAT_RECENT_CLASS_SHIFT | blocks, where blocks may be 0. */
struct format_recent_sizes {
	_Atomic uint64_t counts[FORMAT_RECENT];
};

/* 1 MiB of a module's code. */
struct format_region {
	uint32_t module_id;
	uint32_t chunk; /* begins at file address first_vaddr + chunk MiB; module 0: at address chunk MiB */
};

struct format_module {
	struct format_text path; /* as the loader named it; for the program the path of its file */
	uint64_t first_vaddr; /* lowest address in the file's program headers, rounded down to a page */
	_Atomic uint64_t
		bias; /* address in memory = address in the file + bias, where it lies or lay last */
	_Atomic uint64_t start; /* in memory: [start, end) */
	_Atomic uint64_t end;
	_Atomic uint64_t load_ns;   /* when a call stack first had a frame there (again) */
	_Atomic uint64_t unload_ns; /* when it was found unloaded; 0 = loaded */
	uint32_t instance; /* 0, or n if the same file was loaded n times before at the same moment */
	uint32_t build_id_size; /* 0 = none */
	uint8_t build_id[FORMAT_BUILD_ID_MAX];
	uint32_t reserved[11];
};

/* Threads that came one after another share one of these, and its counters. */
struct format_thread {
	_Atomic uint32_t tid;	 /* of the thread that has it, or had it last */
	_Atomic uint32_t owners; /* how many threads have had it */
	uint32_t level; /* n > 0: for events in signal handlers that interrupted the recorder */
	_Atomic uint32_t running;  /* 1: has an owner now */
	_Atomic uint64_t start_ns; /* first event of the last owner */
	char name[16]; /* of the last owner, at its end or at the last snapshot; NUL-terminated, "" = unknown */
	_Atomic uint64_t
		pointer; /* of the last owner: address of its control block, at its stack's end; 0 = unknown */
	uint64_t reserved[2];
};

/* The process at one moment. */
struct format_point {
	_Atomic uint64_t time_ns; /* 0: the slot is empty, or being written */
	_Atomic uint64_t live_bytes;
	_Atomic uint64_t alloc_bytes; /* since start; 0 = not known */
	_Atomic uint64_t alloc_count; /* since start; 0 = not known */
	_Atomic uint64_t rss_bytes;   /* 0 = not known */
	_Atomic uint64_t lost_events;
	_Atomic uint64_t mapped_bytes; /* struct format_mapping, sum of all: not part of live_bytes */
	_Atomic uint64_t reserved;
};

enum { FORMAT_SAMPLES = 5 };

/* One call stack at one moment: constant until its next sample. */
struct format_sample {
	_Atomic uint64_t time_ns; /* 0: empty, or being written.  The same time twice: the two are equal */
	_Atomic uint64_t live_bytes;
	_Atomic uint64_t alloc_bytes; /* since start */
};

/* Some of a call stack's samples.  Call stacks that never held much have none. */
struct format_series {
	_Atomic uint32_t stack_id; /* 0: the slot is empty */
	_Atomic uint32_t
		gaps; /* bit i: between samples[i] and the one before it in time there were others */
	struct format_sample samples[FORMAT_SAMPLES];
};

struct format_mark {
	_Atomic uint64_t time_ns; /* 0: being written */
	char text[56];		  /* UTF-8 as given by the program, NUL-terminated */
};

/* What realloc() did for one call stack: blocks that it made of other ones. */
struct format_realloc {
	_Atomic uint32_t stack_id; /* 0: the item is not in use */
	uint32_t reserved;
	_Atomic uint64_t count;
	_Atomic uint64_t moved_count;	/* of them those that got another address */
	_Atomic uint64_t copied_bytes;	/* the allocator copied, from one place to another */
	_Atomic uint64_t chained_count; /* those whose old block was of the same call stack */
	_Atomic uint64_t chained_bytes; /* these old blocks' sizes */
};

/* What one call stack asked for and did not get: a call that returned NULL, or failed with ENOMEM. */
struct format_failure {
	_Atomic uint32_t stack_id; /* 0: the item is not in use */
	uint32_t reserved;
	_Atomic uint64_t count;
	_Atomic uint64_t bytes;		/* asked for, sum; stays at UINT64_MAX */
	_Atomic uint64_t largest_bytes; /* asked for at once */
	uint64_t first_ns;		/* these two are those of the first one */
	uint64_t first_bytes;
	_Atomic uint64_t last_ns;
	uint64_t reserved1;
};

/* Free bytes of resident pages that live blocks of a call stack keep from going back to the kernel; the sum of all is
 * FORMAT_RSS_FRAGMENTS.  And the slack of these blocks: usable size less requested. */
struct format_pin {
	uint32_t stack_id; /* or FORMAT_PIN_INHERITED, FORMAT_PIN_OTHERS */
	uint32_t pages;	   /* partly free ones in which its blocks lie; others' may lie there too */
	uint64_t bytes;
	uint64_t slack; /* what size classes add to its live blocks, as far as it is resident */
};

#define FORMAT_PIN_INHERITED 0u		   /* the parent process's blocks, from before fork() */
#define FORMAT_PIN_OTHERS (UINT32_MAX - 1) /* all call stacks that found no room, together */

/* The function that a place in code of module 0 belongs to: compiled at run time, named by its compiler's map. */
struct format_given {
	uint64_t address;	     /* the return address that call stacks have */
	uint64_t start;		     /* of the function */
	struct format_text raw_name; /* in FORMAT_GIVEN_TEXT; as in the map */
	struct format_text file;     /* likewise: the source file, where the map has lines */
	uint32_t line;		     /* 0 = not known */
	uint32_t reserved;
};

/* Anonymous memory that the program mapped itself at one call stack, past the allocator: no part of the heap, its counters, its
 * totals or its peak.  Mapped now = mapped - unmapped.  Read unmapped_bytes before mapped_bytes. */
struct format_mapping {
	_Atomic uint32_t stack_id; /* 0: being made */
	uint32_t reserved;
	_Atomic uint64_t call_count;
	_Atomic uint64_t mapped_bytes;
	_Atomic uint64_t unmapped_bytes; /* also what another mapping took the place of */
	_Atomic uint64_t peak_bytes;	 /* most of this call stack's at one time */
	_Atomic uint64_t resident_bytes; /* of them, at format_rss.time_ns */
	uint64_t reserved1[2];
};

static_assert(sizeof(struct format_mapping) == 64, "an array");
static_assert(sizeof(struct format_given) == 40, "an array");
static_assert(sizeof(struct format_node) == 8 && sizeof(struct format_stack) == 16, "arrays");
static_assert(sizeof(struct format_counter) == 32, "a chunk is 2 KiB");
static_assert(sizeof(struct format_counter_wide) == 64 && sizeof(struct format_thread) == 64,
	      "arrays");
static_assert(sizeof(struct format_histogram) == 192 && sizeof(struct format_module) == 128,
	      "arrays");
static_assert(sizeof(struct format_recent_sizes) == 2048 &&
		      FORMAT_CLASSES <= FORMAT_RECENT_CLASS_MASK + 1 &&
		      FORMAT_RECENT_CLASS_MASK + 1 ==
			      1 << (FORMAT_RECENT_STACK_SHIFT - FORMAT_RECENT_CLASS_SHIFT),
	      "whole ones fill a block");
static_assert(sizeof(struct format_region) == 8 && sizeof(struct format_chunk) == 8, "arrays");
static_assert(sizeof(struct format_point) == 64 && sizeof(struct format_mark) == 64, "arrays");
static_assert(sizeof(struct format_series) == 128 && sizeof(struct format_pin) == 24 &&
		      sizeof(struct format_realloc) == 48 && sizeof(struct format_failure) == 64,
	      "arrays");

#endif
