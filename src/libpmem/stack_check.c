/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stack_check.c - chooses how groups of checks are made, see stack_check.h.
 */
#include "libpmem/stack_check.h"

#include "libpmem/sys.h"

enum {
	TRIAL_TURNS = 16,
	TRIAL_CHECKS = 64,
	TRIAL_GROUPS = 4,
	/* Of equal speed alone, gathering leaves more of the CPU to the code around it: 16 instead of 20 ns a pair at 20
	 * frames.  Where it is slow it takes twice as long or more. */
	TRIAL_SLOWER = 4,
};

bool stack_check_gathers;

/* The least time of several turns, because the first ones wake the wide units, and others are interrupted. */
static uint64_t time_checks(const struct stack_check_group *groups)
{
	uint64_t best = UINT64_MAX, start;
	unsigned turn, i;

	for (turn = 0; turn < TRIAL_TURNS; turn++) {
		start = sys_monotonic_ns();
		for (i = 0; i < TRIAL_CHECKS && stack_check_all_hold(groups, groups + TRIAL_GROUPS);
		     i++)
			;
		start = sys_monotonic_ns() - start;
		best = start < best ? start : best;
	}
	return best;
}

void stack_check_choose(void)
{
	static struct stack_check_group groups[TRIAL_GROUPS];
	static uintptr_t words[STACK_CHECK_GROUP * TRIAL_GROUPS];
	uint64_t singly;
	uint32_t i;

	stack_check_gathers = false;
	if (!arch_can_gather())
		return;
	for (i = 0; i < STACK_CHECK_GROUP * TRIAL_GROUPS; i++)
		stack_check_set(groups, i, (uintptr_t)&words[i], 0);
	singly = time_checks(groups);
	stack_check_gathers = true;
	stack_check_gathers = time_checks(groups) < singly + singly / TRIAL_SLOWER;
}
