/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * real_musl.h - the functions of musl's allocator that call other ones by their public names.
 */
#ifndef PMEM_LIBPMEM_REAL_MUSL_H
#define PMEM_LIBPMEM_REAL_MUSL_H
#include "libpmem/real.h"

/* Where they are musl's, replaces in *found the functions through which each block would be counted twice; with another C
 * library or another allocator nothing changes.  Once, before found is used. */
void real_musl_unnest(struct real *found);

#endif
