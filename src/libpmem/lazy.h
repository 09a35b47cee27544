/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lazy.h - parts of large tables, mapped when they are needed.
 *
 * A table that is as large as it may ever be takes addresses that a program under RLIMIT_AS or RLIMIT_DATA needs for itself, even
 * if its pages are never touched.  So such a table is an array of pointers to parts.  Parts are never given back.  Any thread,
 * also inside a signal handler: no lock.
 */
#ifndef PMEM_LIBPMEM_LAZY_H
#define PMEM_LIBPMEM_LAZY_H
#include <stdatomic.h>
#include <stddef.h>

#include "libpmem/sys.h"

/* The part, or NULL if nobody needed it yet. */
static inline void *lazy_find(_Atomic(void *) *part)
{
	/* Acquire: pairs with the release in lazy_part(). */
	return atomic_load_explicit(part, memory_order_acquire);
}

/* The part, of size bytes (whole pages), zeroed when it is made.  NULL: no memory. */
static inline void *lazy_part(_Atomic(void *) *part, size_t size)
{
	void *there = lazy_find(part), *made;

	if (there)
		return there;
	made = sys_map(size);
	/* Two may make it at once. */
	if (made && !atomic_compare_exchange_strong_explicit(
			    part, &there, made, memory_order_acq_rel, memory_order_acquire)) {
		sys_unmap(made, size);
		return there;
	}
	return made;
}

#endif
