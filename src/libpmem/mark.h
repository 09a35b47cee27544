/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mark.h - moments that the program gave a name, kept in the store.
 *
 * The program sees include/pmemprof.h, which declares the same function as a weak symbol.
 */
#ifndef PMEM_LIBPMEM_MARK_H
#define PMEM_LIBPMEM_MARK_H

enum { MARK_COUNT_MAX = 16384 }; /* more are counted as FORMAT_LOSS_TIMELINE */

/* The same inside an event. */
void mark_put(const char *text);

/* Any thread, also inside a signal handler. */
void pmemprof_mark(const char *text);

#endif
