/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rss.h - the resident set of this process, through a descriptor opened at start.
 *
 * Any thread may call, also inside a signal handler: the descriptor is under LOCK_RSS, which is only ever tried.
 */
#ifndef PMEM_LIBPMEM_RSS_H
#define PMEM_LIBPMEM_RSS_H
#include <stdint.h>

/* Opens /proc/self/statm: later the program may have changed its root, or hidden /proc. */
void rss_init(void);

/* Bytes; 0 = unknown.  While another thread is asking: what was last known. */
uint64_t rss_bytes(void);

/* What the kernel counts against RLIMIT_AS and, with the stack, against RLIMIT_DATA. */
struct rss_sizes {
	uint64_t address_bytes;
	uint64_t data_bytes;
};

/* As they were when rss_bytes() last asked; 0 = unknown. */
struct rss_sizes rss_sizes(void);

/* The inherited descriptor tells of the parent: opens the child's own. */
void rss_fork_child(void);

#endif
