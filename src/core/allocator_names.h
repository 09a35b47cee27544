/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * allocator_names.h - functions whose being part of a program says that it has an allocator of its own.
 *
 * What such an allocator serves it takes from the kernel: libpmem.so, which stands for the C library's malloc(), does not see it.
 * A set of names is a mask: bit i is the table's row i.
 */
#ifndef PMEM_CORE_ALLOCATOR_NAMES_H
#define PMEM_CORE_ALLOCATOR_NAMES_H
#include <stddef.h>
#include <stdint.h>

enum { ALLOCATOR_NAMES_TEXT = 160 }; /* holds all of them */

/* The bit of a function of that name; 0: it is none of these. */
uint32_t allocator_names_bit(const char *name);

/* The bit of Go's allocator. */
uint32_t allocator_names_go(void);

/* "malloc, free", of the first of the set at most four; "" for an empty one. */
const char *allocator_names_text(uint32_t set, char text[ALLOCATOR_NAMES_TEXT]);

#endif
