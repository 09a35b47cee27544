/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * waterfall.h - what this process's resident set consists of, for the profile (core/waterfall.h).
 */
#ifndef PMEM_LIBPMEM_WATERFALL_H
#define PMEM_LIBPMEM_WATERFALL_H

/* Tells the profile where the recorder's memory lies.  Once there is a live table, also in a forked child. */
void waterfall_init(void);

/* Measures, at the end of the process.  Not in a sandbox, nor where only a sample of blocks is known; without /proc nothing is recorded.  Other threads may go on: nothing is
 * read in a way that could fail but for the recorder's own memory. */
void waterfall_record(void);

#endif
