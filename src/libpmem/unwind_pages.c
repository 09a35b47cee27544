/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unwind_pages.c - which pages a walk may read, see unwind_pages.h and unwind.c.
 *
 * The proved range is contiguous and holds the page of the hook's frame; the kept range is an older one, or a page
 * further out that a walk reached over a gap.
 */
#include "libpmem/unwind_pages.h"

#include <stdatomic.h>

#include "libpmem/sys.h"

enum { NEAR_PAGES = 64 }; /* between two frames that are proved one by one */

_Atomic uint32_t unwind_mappings __attribute__((aligned(64)));

__attribute__((noinline)) void unwind_pages_begin_anew(struct unwind *u, uintptr_t start,
						       uintptr_t end)
{
	uint32_t now = atomic_load_explicit(&unwind_mappings, memory_order_relaxed);

	if (u->mappings != now) {
		u->mappings = now;
		if (u->flags & UNWIND_UNCLEAN)
			u->count = 0;
		u->proved_start = u->proved_end = u->kept_start = u->kept_end = 0;
	}
	start = unwind_pages_of(start);
	end = unwind_pages_of(end - 1) + UNWIND_PAGE;
	if (start >= u->proved_start && end <= u->proved_end)
		return;
	if (u->proved_end - u->proved_start > u->kept_end - u->kept_start ||
	    u->proved_start > u->kept_start) {
		u->kept_start = u->proved_start;
		u->kept_end = u->proved_end;
	}
	u->proved_start = start;
	u->proved_end = end;
}

/* In a sandbox there are no probes: what was not proved before stays unproved. */
static bool probe(uintptr_t page)
{
	return !sys_sandboxed() && sys_call(SYS_rt_sigprocmask, -1, (long)page, 0, 8) == -EINVAL;
}

bool unwind_pages_prove_up_to(struct unwind *u, uintptr_t page)
{
	while (u->proved_end <= page) {
		if (u->proved_end == u->kept_start && u->kept_end > u->kept_start)
			u->proved_end = u->kept_end;
		else if (probe(u->proved_end))
			u->proved_end += UNWIND_PAGE;
		else
			return false;
	}
	return true;
}

__attribute__((noinline)) bool unwind_pages_prove(struct unwind *u, uintptr_t page)
{
	if (page >= u->proved_end && page - u->proved_end < NEAR_PAGES * UNWIND_PAGE &&
	    unwind_pages_prove_up_to(u, page))
		return true;
	if (page >= u->kept_start && page < u->kept_end)
		return true;
	if (!probe(page))
		return false;
	if (page != u->kept_end)
		u->kept_start = page;
	u->kept_end = page + UNWIND_PAGE;
	return true;
}

void unwind_pages_prove_from(struct unwind *u, uintptr_t addr)
{
	if (addr >= u->proved_start && addr < u->proved_end)
		return;
	u->kept_start = u->proved_start;
	u->kept_end = u->proved_end;
	u->proved_start = unwind_pages_of(addr);
	u->proved_end = u->proved_start + UNWIND_PAGE;
}
