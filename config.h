/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * config.h - compile-time configuration of libpmem.so.
 *
 * Every option marked (env) can be overridden at run time by the environment variable of the same
 * name; numbers there take the suffixes k, m and g (powers of 1024).  PMEM_OUT, where the files go and
 * what they are called, and PMEM_RUN_ID exist at run time only: pmem(1).
 */
#ifndef PMEM_CONFIG_H
#define PMEM_CONFIG_H

/* Bytes allocated + freed since the previous snapshot that trigger the next one. (env) */
#ifndef PMEM_CHURN_THRESH
#define PMEM_CHURN_THRESH (1024 * 1024)
#endif

/* Size in bytes at which the log is renamed to .1 and begun anew, 4 KiB or more; 0 = never. (env) */
#ifndef PMEM_LOG_MAX
#define PMEM_LOG_MAX (64 * 1024 * 1024)
#endif

/* Bytes of text one snapshot may take; what is left out is summed up in "# rest"; 0 = no limit. (env) */
#ifndef PMEM_LOG_SNAPSHOT_MAX
#define PMEM_LOG_SNAPSHOT_MAX (8 * 1024 * 1024)
#endif

/* Bytes of text of all snapshots for each second since the start, after a first 1 MiB; while there are more the next one waits;
 * 0 = no bound. (env) */
#ifndef PMEM_LOG_RATE
#define PMEM_LOG_RATE (256 * 1024)
#endif

/* Share of the process's time that snapshots may take, in tenths of a percent; 0 = 10 ms in all, and
 * the final snapshot. (env) */
#ifndef PMEM_SNAPSHOT_SHARE
#define PMEM_SNAPSHOT_SHARE 10
#endif

/* Milliseconds between two points of the timeline, 1 or more; of a long run older points are thinned out;
 * 0 = no timeline. (env) */
#ifndef PMEM_TIMELINE_MS
#define PMEM_TIMELINE_MS 250
#endif

/* 1 = write the text log, 0 = record only. (env) */
#ifndef PMEM_LOG
#define PMEM_LOG 1
#endif

/* 1 = write the profile (pmem.PID.prof, or as PMEM_OUT says), 0 = no file. (env) */
#ifndef PMEM_PROFILE
#define PMEM_PROFILE 1
#endif

/* Largest .symtab (with its string table, in bytes) that is read to name functions in the log. (env) */
#ifndef PMEM_SYMTAB_MAX
#define PMEM_SYMTAB_MAX (32 * 1024 * 1024)
#endif

/* Mean bytes between the allocations that are recorded, 1 KiB to 1 GiB: all figures are estimates then; 0 = every allocation
 * is recorded, and all figures are exact. (env) */
#ifndef PMEM_SAMPLE
#define PMEM_SAMPLE 0
#endif

/* Share of the program's CPU time that capturing call stacks may take, in tenths of a percent, after its first 25 ms in each thread; beyond
 * it a new call stack is often charged to its caller alone, below [not taken].  Bytes and counts stay exact.  0 = no bound. (env) */
#ifndef PMEM_MAX_OVERHEAD
#define PMEM_MAX_OVERHEAD 0
#endif

/* Nodes of the calling-context tree, 1024 or more; beyond it new call stacks keep their last 8 frames. (env) */
#ifndef PMEM_MAX_NODES
#define PMEM_MAX_NODES (4 * 1024 * 1024)
#endif

/* 1 = also record the children that the program forks and what it and they execute, 0 = this process
 * image only. (env) */
#ifndef PMEM_CHILDREN
#define PMEM_CHILDREN 1
#endif

/* Record only programs whose name (last part of the path) matches this shell pattern; "" = all. (env) */
#ifndef PMEM_ONLY
#define PMEM_ONLY ""
#endif

/* Percent of a limit on memory (the cgroup's, RLIMIT_AS, RLIMIT_DATA) at which the call stacks that grew most are named on stderr
 * and in the log, once in a process; 0 = never. (env) */
#ifndef PMEM_LAST_WORDS
#define PMEM_LAST_WORDS 90
#endif

/* Where the kernel tells of cgroups; others are for tests. */
#ifndef PMEM_CGROUP_ROOT
#define PMEM_CGROUP_ROOT "/sys/fs/cgroup"
#endif
#ifndef PMEM_CGROUP_FILE
#define PMEM_CGROUP_FILE "/proc/self/cgroup"
#endif

/* Bytes of the heap that are looked at when the resident set is divided at the end of the process; of a larger heap a sample. */
#ifndef PMEM_RSS_EXAMINE
#define PMEM_RSS_EXAMINE (8 << 20)
#endif

/* One block in this many, on average, carries its time of birth, for estimates of lifetimes. */
#ifndef PMEM_LIFETIME_SAMPLE
#define PMEM_LIFETIME_SAMPLE 256
#endif

/* 1 = compare every captured call stack with a plain full walk, and a sample with backtrace(3). Slow. */
#ifndef PMEM_VERIFY
#define PMEM_VERIFY 0
#endif

/* 1 = ASSERT() aborts the program; 0 = it stops recording. For tests of libpmem itself. */
#ifndef PMEM_DEBUG
#define PMEM_DEBUG 0
#endif

#endif
