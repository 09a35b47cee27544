/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * errand.h - code that nobody here calls: `pmem leaks` sends a stopped thread there (arch/errand.h).
 */
#ifndef PMEM_LIBPMEM_ERRAND_H
#define PMEM_LIBPMEM_ERRAND_H
#include "core/format.h"

/* Where the code and its memory are. */
void errand_describe(struct format_errand *errand);

#endif
