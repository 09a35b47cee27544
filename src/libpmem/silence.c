/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * silence.c - large events that end a time without any, see silence.h.
 */
#include "libpmem/silence.h"

#include "libpmem/live_table.h"
#include "libpmem/timeline.h"

void silence_before(uint64_t bytes)
{
	if (bytes >= SILENCE_LARGE)
		timeline_look_back(&(struct timeline_event){0});
}

void silence_after(const struct thread *thread, uintptr_t block)
{
	struct live_block live, stale;

	if (thread->churn_left > -SILENCE_LARGE || !timeline_was_silent())
		return;
	/* Only a look at it: nobody else knows of the block yet. */
	if (!live_table_take(block, &live))
		return;
	live_table_put(&live, &stale);
	timeline_look_back(&(struct timeline_event){live.stack_id, live.size});
}
