/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * record_calls.c - of record.h what is no block's beginning or end: call stacks of other calls, calls that failed, what a reallocation
 * made of a block.
 */
#include "libpmem/failures.h"
#include "libpmem/live_table.h"
#include "libpmem/process.h"
#include "libpmem/reallocs.h"
#include "libpmem/record.h"
#include "libpmem/record_parts.h"
#include "libpmem/sample.h"

uint32_t record_stack(struct thread *thread, const uintptr_t *fp, enum format_hook hook)
{
	if (thread->mark != process_mark_now())
		record_refresh(thread);
	if (sample_is_on())
		record_forget_mappings();
	return governor_is_on() ? record_capture_timed(thread, fp, hook)
				: unwind_capture(&thread->unwind, fp, hook);
}

uint32_t record_caller(struct thread *thread, const uintptr_t *fp, enum format_hook hook)
{
	if (thread->mark != process_mark_now())
		record_refresh(thread);
	return tree_not_taken_id(modules_encode(fp[1]), hook);
}

__attribute__((noinline, cold)) void *record_failed(size_t size, const uintptr_t *fp,
						    enum format_hook hook)
{
	struct thread *thread = size ? thread_enter() : NULL;

	if (!thread)
		return NULL;
	failures_count(record_stack(thread, fp, hook), size);
	thread_leave(thread);
	return NULL;
}

void record_reallocated(const struct live_block *taken, bool is_mapping, void *block, size_t size)
{
	struct thread *thread = sample_is_on() ? NULL : thread_enter();
	struct reallocs_event event = {.old_stack_id = taken->stack_id,
				       .old_size = taken->size,
				       .size = size,
				       .moved = (uintptr_t)block != taken->addr};

	if (!thread)
		return;
	event.stack_id = live_table_stack((uintptr_t)block);
	/* Between two mappings pages are moved (mremap(2)). */
	event.copied = event.moved && !(is_mapping && live_is_mapping((uintptr_t)block));
	if (event.stack_id)
		reallocs_count(&event);
	thread_leave(thread);
}
