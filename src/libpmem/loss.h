/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * loss.h - counts what the recorder could not do, so that no partial profile passes for a full one.
 */
#ifndef PMEM_LIBPMEM_LOSS_H
#define PMEM_LIBPMEM_LOSS_H
#include <stdint.h>

enum loss {
	LOSS_EVENTS,	   /* allocations or frees that were not recorded */
	LOSS_STALE_BLOCKS, /* live-table entries whose block was freed past the hooks */
	LOSS_TRUNCATED,	   /* captures whose call stack ends early: no unwind information */
	LOSS_SHORT_STACKS, /* captures charged to [signal handler], [truncated] or [beyond budget] */
	LOSS_MEMORY,	   /* requests for recorder memory that failed */
	LOSS_LOG_BYTES,	   /* bytes of log that could not be written */
	LOSS_SAMPLES,	   /* lifetime samples dropped */
	LOSS_MODULES,	   /* modules or code regions that found no room in the table */
	LOSS_INTERNAL,	   /* broken ASSERTs: our own bugs */
	LOSS_KINDS,
};

void loss_add(enum loss kind, uint64_t count);
uint64_t loss_count(enum loss kind);

/* Lower-case name, as printed in the log. */
const char *loss_name(enum loss kind);

/* Sum of the kinds that make figures wrong or missing: LOSS_EVENTS, LOSS_LOG_BYTES, LOSS_INTERNAL. */
uint64_t loss_total(void);

void loss_fork_child(void);

#endif
