/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * store_reset.h - forgets what a test counted in the profile's header.
 */
#ifndef PMEM_TESTS_UNIT_STORE_RESET_H
#define PMEM_TESTS_UNIT_STORE_RESET_H
#include <string.h>

#include "libpmem/store.h"

static inline void store_reset(void)
{
	memset(store_head(), 0, sizeof(*store_head()));
}

#endif
