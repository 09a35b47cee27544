/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * failures.h - what the program asked for and did not get, for each call stack.
 *
 * Items in the store (FORMAT_FAILURES), a bounded number: what fails is rare, and comes from few places.  Any thread, also inside a signal
 * handler: no lock.
 */
#ifndef PMEM_LIBPMEM_FAILURES_H
#define PMEM_LIBPMEM_FAILURES_H
#include <stddef.h>
#include <stdint.h>

enum { FAILURES_MAX = 256 };

/* A call for size bytes failed for want of memory. */
void failures_count(uint32_t stack_id, size_t size);

/* Over all call stacks; the first one's stack_id is 0 if nothing failed. */
struct failures_sum {
	uint64_t count;
	uint64_t bytes;
	uint32_t first_id;
	uint64_t first_ns;
	uint64_t first_bytes;
};
void failures_sum(struct failures_sum *sum);

#endif
