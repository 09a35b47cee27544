/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * headroom.h - how much memory the limits on this process leave: the cgroup's, RLIMIT_AS, RLIMIT_DATA.
 *
 * Raw system calls.  Under the caller's lock.
 */
#ifndef PMEM_LIBPMEM_HEADROOM_H
#define PMEM_LIBPMEM_HEADROOM_H
#include <stdbool.h>
#include <stdint.h>

enum headroom_kind { HEADROOM_CGROUP, HEADROOM_ADDRESS, HEADROOM_DATA, HEADROOM_KINDS };

struct headroom {
	enum headroom_kind kind;
	uint64_t limit;
	uint64_t used; /* as the limit counts it */
};

/* Opens what tells the cgroup's use.  After facts_fill(). */
void headroom_init(void);

/* The limit of which the largest part is used.  Where that seems to be percent or more it is looked at closely: pages of files that the
 * kernel can drop at once do not count, nor what RLIMIT_DATA leaves out.  False: there is no limit, or nothing is known. */
bool headroom_find(uint64_t percent, struct headroom *found);

/* "the cgroup's limit" and so on. */
const char *headroom_words(enum headroom_kind kind);

/* After facts_fill() of the child. */
void headroom_fork_child(void);

#endif
