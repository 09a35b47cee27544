/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * run_verdict.h - one sentence: whether the heap grows, and who makes it grow or holds it.
 */
#ifndef PMEM_CMD_RUN_VERDICT_H
#define PMEM_CMD_RUN_VERDICT_H
#include <stdbool.h>

#include "profile/profile.h"

enum { RUN_VERDICT_SIZE = 512 };

struct run_verdict {
	char text[RUN_VERDICT_SIZE];
	/* That the size is about free memory that stays resident, with what returns it; "" = it is not. */
	char retained[2 * RUN_VERDICT_SIZE];
	bool grows; /* the heap does, or a site in it: text is the more urgent one */
	char failed[RUN_VERDICT_SIZE]; /* what was asked for and not given; "" = nothing */
	char limit[RUN_VERDICT_SIZE]; /* when the growth reaches a limit; "" = it does not grow, or has none */
};

/* No newlines. */
void run_verdict(const struct profile *profile, struct run_verdict *verdict);

/* The site that maps more and more memory itself (profile->mapped), where nobody of the heap grows: "map_more (server.c:6) maps 3.4 MiB/min
 * since ..., steady ...", and the limit that is reached then.  False: none does, or somebody of the heap grows. */
bool run_verdict_mapped(const struct profile *profile, struct run_verdict *verdict);

/* Bytes a minute by which the process's heap, or that of a profile of mappings, grows or grew until its exit; 0: it did not. */
int64_t run_verdict_rate(const struct profile *profile);

/* For a line on one of many processes: "growing 3.4 MiB/min: log_error (server.c:6)".  False: it does not grow, or no site does. */
bool run_verdict_growth(const struct profile *profile, char text[RUN_VERDICT_SIZE]);

#endif
