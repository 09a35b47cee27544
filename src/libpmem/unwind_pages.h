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

/* The proved range is not where a walk begins, or proofs ended. */
void unwind_pages_begin_anew(struct unwind *unwind, uintptr_t start, uintptr_t end);

/* A walk begins at the hook frame fp, which is readable.  Proofs from before the program unmapped memory end. */
static inline void unwind_pages_begin(struct unwind *unwind, const uintptr_t *fp)
{
	uintptr_t start = (uintptr_t)fp, end = (uintptr_t)(fp + 2);

	if (__builtin_expect(start < unwind->proved_start || end > unwind->proved_end, 0) ||
	    __builtin_expect(unwind->mappings != __atomic_load_n((uint32_t *)&unwind_mappings,
								 __ATOMIC_RELAXED),
			     0))
		unwind_pages_begin_anew(unwind, start, end);
}

/* Proves the pages from the end of the proved range up to page.  False at the first that is not readable. */
bool unwind_pages_prove_up_to(struct unwind *unwind, uintptr_t page);

/* Makes the page of addr, which was read in this walk, part of the proved range. */
void unwind_pages_prove_from(struct unwind *unwind, uintptr_t addr);

/* Proves one page, which lies outside the proved range. */
bool unwind_pages_prove(struct unwind *unwind, uintptr_t page);

/* Reads the word at addr, which is a multiple of its size.  False: not readable. */
static inline bool unwind_pages_load_word(struct unwind *unwind, uintptr_t addr, uintptr_t *value)
{
	if (__builtin_expect(addr < unwind->proved_start || addr >= unwind->proved_end, 0) &&
	    !unwind_pages_prove(unwind, unwind_pages_of(addr)))
		return false;
	*value = *(const uintptr_t *)addr;
	return true;
}

/* The same of any address.  False also if it is unaligned. */
static inline bool unwind_pages_load(struct unwind *unwind, uintptr_t addr, uintptr_t *value)
{
	return (addr & (sizeof(addr) - 1)) == 0 && unwind_pages_load_word(unwind, addr, value);
}

#endif
