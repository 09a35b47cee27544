/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mark.c - moments that the program gave a name, see mark.h.
 *
 * A mark is an event: in a forked child it begins the recording.  It needs no lock; the slot is taken by
 * compare-and-swap, and its time is written last.
 */
#include "libpmem/mark.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "core/format.h"
#include "libpmem/loss.h"
#include "libpmem/store.h"
#include "libpmem/sys.h"
#include "libpmem/thread.h"

enum {
	TEXT_MAX = sizeof(((struct format_mark *)0)->text) - 1,
	SEQUENCE_MAX = 4, /* bytes of a character in UTF-8 */
};

/* Bytes of text that are kept.  What is not UTF-8 is cut anywhere. */
static size_t kept_size(const char *text)
{
	size_t size = strnlen(text, TEXT_MAX + 1), end = TEXT_MAX;

	if (size <= TEXT_MAX)
		return size;
	/* text[end] begins a character unless it is 10xxxxxx. */
	while (((unsigned char)text[end] & 0xc0) == 0x80) {
		if (TEXT_MAX - end >= SEQUENCE_MAX - 1)
			return TEXT_MAX;
		end--;
	}
	return end;
}

void mark_put(const char *text)
{
	struct format_header *head = store_head();
	uint64_t now_ns = sys_monotonic_ns(), start_ns = head->start_monotonic_ns;
	struct format_mark *mark = NULL;
	uint32_t index;

	if (atomic_load_explicit(&head->mark_count, memory_order_relaxed) < MARK_COUNT_MAX)
		mark = store_take(FORMAT_MARKS, sizeof(*mark), &head->mark_count, &index);
	if (!mark) {
		loss_add(FORMAT_LOSS_TIMELINE, 1);
		return;
	}
	memcpy(mark->text, text, kept_size(text));
	/* Release: the text; a reader acquires. */
	atomic_store_explicit(&mark->time_ns, now_ns > start_ns ? now_ns - start_ns : 1,
			      memory_order_release);
}

__attribute__((visibility("default"))) void pmemprof_mark(const char *text)
{
	struct thread *thread = text ? thread_enter() : NULL;

	if (!thread)
		return;
	mark_put(text);
	thread_leave(thread);
}
