/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * snapshot_lines.h - the lines of a snapshot above and below its entries.  Format: doc/LOG.md.
 *
 * Called by snapshot.c under LOCK_SNAPSHOT only.
 */
#ifndef PMEM_LIBPMEM_SNAPSHOT_LINES_H
#define PMEM_LIBPMEM_SNAPSHOT_LINES_H
#include <stdbool.h>
#include <stdint.h>

#include "libpmem/snapshot_entry.h"
#include "libpmem/text.h"

struct snapshot_facts {
	uint32_t sequence;
	uint64_t churn;
	uint64_t live;
	uint64_t uptime_ns;
	uint64_t spent_ns; /* in snapshots, before this one */
	bool final;
	bool last_words; /* they were said just before */
};

/* "# time=...", "[  1]====", "churn=..." and the blank line. */
void snapshot_lines_head(struct text *text, const struct snapshot_facts *facts);

/* "# rest: ..." if anything in *total is not in *shown, and "# end [  1]". */
void snapshot_lines_tail(struct text *text, uint32_t sequence, const struct snapshot_sums *total,
			 const struct snapshot_sums *shown);

void snapshot_lines_fork_child(void);

#endif
