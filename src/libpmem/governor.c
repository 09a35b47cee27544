/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * governor.c - a thread's account of time for its walks, see governor.h.
 */
#include "libpmem/governor.h"

#include <time.h>

#include "arch/arch.h"
#include "libpmem/sys.h"

enum {
	EVERY_LOG2_MAX = 10,
	DEBT_MAX = 4, /* credits: what could not be held back is not held against a calmer time */
};

_Static_assert(1 << EVERY_LOG2_MAX == GOVERNOR_EVERY_MAX, "the logarithm of it");

/* In a sandbox the time that passes, which is never less. */
static uint64_t cpu_ns(void)
{
	struct timespec time;

	if (sys_sandboxed() ||
	    sys_call(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, (long)&time, 0, 0) < 0)
		return sys_monotonic_ns();
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

void governor_settle(struct governor *governor, uint64_t cpu, uint64_t walk_ns, uint64_t share)
{
	int64_t overdrawn = governor->overdrawn_ns + (int64_t)walk_ns -
			    (int64_t)(cpu * share / 1000);

	if (overdrawn > DEBT_MAX * GOVERNOR_CREDIT_NS)
		overdrawn = DEBT_MAX * GOVERNOR_CREDIT_NS;
	governor->overdrawn_ns = overdrawn < 0 ? 0 : overdrawn;
	if (overdrawn > GOVERNOR_CREDIT_NS && governor->every < EVERY_LOG2_MAX)
		governor->every++;
	else if (overdrawn < GOVERNOR_CREDIT_NS / 2 && governor->every > 0)
		governor->every--;
}

static void look(struct governor *governor)
{
	uint64_t ticks = arch_ticks(), time = sys_monotonic_ns(), cpu = cpu_ns();
	uint64_t passed = ticks - governor->ticks;
	/* The walks' share of the ticks is theirs of the time. */
	uint64_t walk_ns = passed ? (uint64_t)((unsigned __int128)governor->spent *
					       (time - governor->time_ns) / passed)
				  : 0;

	/* From one clock to another when the sandbox closed. */
	if (walk_ns > time - governor->time_ns)
		walk_ns = time - governor->time_ns;
	if (governor->ticks && cpu >= governor->cpu_ns)
		governor_settle(governor, cpu - governor->cpu_ns, walk_ns, settings.max_overhead);
	governor->ticks = ticks;
	governor->time_ns = time;
	governor->cpu_ns = cpu;
	governor->spent = 0;
}

bool governor_takes(struct governor *governor)
{
	if (governor->seen++ % GOVERNOR_LOOK == 0)
		look(governor);
	/* Pseudo-random in the number, so that no rhythm of the program decides. */
	return (governor->seen * 0x9e3779b1u ^ 0x5bd1e995u) <= UINT32_MAX >> governor->every;
}

uint64_t governor_begin(void)
{
	return arch_ticks();
}

void governor_end(struct governor *governor, uint64_t begin)
{
	governor->spent += arch_ticks() - begin;
}

void governor_reset(struct governor *governor)
{
	*governor = (struct governor){0};
}
