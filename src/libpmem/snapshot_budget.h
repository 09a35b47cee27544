/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * snapshot_budget.h - how much of the program's time, and of the log, snapshots may take.
 *
 * PMEM_SNAPSHOT_SHARE tenths of a percent of the time since start, or SNAPSHOT_CREDIT_NS if that is more: a
 * short run gets its snapshots too.  And SNAPSHOT_CREDIT_BYTES of text, with PMEM_LOG_RATE bytes for each second since start.
 */
#ifndef PMEM_LIBPMEM_SNAPSHOT_BUDGET_H
#define PMEM_LIBPMEM_SNAPSHOT_BUDGET_H
#include <stdbool.h>
#include <stdint.h>

enum {
	SNAPSHOT_CREDIT_NS = 10000000,
	SNAPSHOT_CREDIT_BYTES = 1 << 20,
	SNAPSHOT_STACK_NS = 1000, /* about what a call stack takes, collected and written */
};

/* A snapshot of so many call stacks begins; a slice of it took time_ns; so many bytes of its text were written. */
void snapshot_budget_begin(uint32_t stacks);
void snapshot_budget_spend(uint64_t time_ns);
void snapshot_budget_write(uint64_t bytes);

/* True if another snapshot, of so many call stacks, fits in after uptime_ns: it will take as long as the last one, and
 * SNAPSHOT_STACK_NS for each call stack that is new since; and so does the text so far. */
bool snapshot_budget_allows(uint64_t uptime_ns, uint32_t stacks);

/* Time in all snapshots so far. */
uint64_t snapshot_budget_spent(void);

/* Bytes of text that a snapshot may take, 0 = no limit: two of the largest fit into one generation of the log. */
uint64_t snapshot_budget_text(void);

void snapshot_budget_fork_child(void);

#endif
