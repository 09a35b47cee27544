/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * clock.h - finds the kernel's own clock_gettime() in the vDSO.
 *
 * The C library's name may be the program's, or another preloaded library's, by interposition: theirs may
 * allocate, change errno or not be ready yet.
 */
#ifndef PMEM_LIBPMEM_CLOCK_H
#define PMEM_LIBPMEM_CLOCK_H

/* Sets sys_vdso_clock; once, while there is one thread.  Without a vDSO system calls are made. */
void clock_init(void);

#endif
