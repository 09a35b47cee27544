/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * own_malloc.h - whether the program has a malloc() that is not ours, which we do not see.
 *
 * LD_PRELOAD comes after the program itself: a malloc() that it exports is the one that everybody calls.  The same holds for a library
 * that is preloaded before ours.
 */
#ifndef PMEM_LIBPMEM_OWN_MALLOC_H
#define PMEM_LIBPMEM_OWN_MALLOC_H

/* Looks for one in the search order; once, at start, after real_resolve(). */
void own_malloc_init(void);

/* Path of the program or library that has it; "" = there is none. */
const char *own_malloc_path(void);

/* Path of the next allocator if it has its own operator new(), which calls nobody's malloc(), and the program imports one; "" =
 * it has none. */
const char *own_malloc_new_path(void);

/* Notes both in the log, and allocators that the program's symbol table names as far as that was read (names.h): at the log's
 * begin, as not every program has an end that we see, and after the last snapshot. */
void own_malloc_note(void);

#endif
