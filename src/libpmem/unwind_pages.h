/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unwind_pages.h - reads of a walk, only in pages that are proved readable.  For unwind.c; why: see there.
 */
#ifndef PMEM_LIBPMEM_UNWIND_PAGES_H
#define PMEM_LIBPMEM_UNWIND_PAGES_H
#include <stdbool.h>
#include <stdint.h>

#include "libpmem/unwind.h"

enum { UNWIND_PAGE = 4096 };

static inline uintptr_t unwind_pages_of(uintptr_t addr)
{
	return addr & ~(uintptr_t)(UNWIND_PAGE - 1);
}

/* A walk begins at the hook frame fp, which is readable.  Proofs from before the program unmapped memory end. */
void unwind_pages_begin(struct unwind *unwind, const uintptr_t *fp);

/* Proves the pages from the end of the proved range up to page.  False at the first that is not readable. */
bool unwind_pages_prove_up_to(struct unwind *unwind, uintptr_t page);

/* Makes the page of addr, which was read in this walk, part of the proved range. */
void unwind_pages_prove_from(struct unwind *unwind, uintptr_t addr);

/* Proves one page, which lies outside the proved range. */
bool unwind_pages_prove(struct unwind *unwind, uintptr_t page);

/* Reads the word at addr.  False: unaligned or not readable. */
static inline bool unwind_pages_load(struct unwind *unwind, uintptr_t addr, uintptr_t *value)
{
	if (__builtin_expect(
		    addr - unwind->proved_start >= unwind->proved_end - unwind->proved_start, 0) &&
	    !unwind_pages_prove(unwind, unwind_pages_of(addr)))
		return false;
	if (__builtin_expect(addr & (sizeof(addr) - 1), 0))
		return false;
	*value = *(const uintptr_t *)addr;
	return true;
}

#endif
