/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * assert.h - states what only our own bug can break.
 *
 * In a build with PMEM_DEBUG a broken ASSERT() ends the program by SIGILL.  Otherwise it is counted (FORMAT_LOSS_INTERNAL)
 * and recording stops for good: the program goes on as if there were no recorder.
 */
#ifndef PMEM_LIBPMEM_ASSERT_H
#define PMEM_LIBPMEM_ASSERT_H
#include "config.h"
#include "libpmem/loss.h"
#include "libpmem/process.h"

static inline void assert_failed(void)
{
	if (PMEM_DEBUG)
		__builtin_trap();
	loss_add(FORMAT_LOSS_INTERNAL, 1);
	process_stop();
}

#define ASSERT(x) (__builtin_expect(!(x), 0) ? assert_failed() : (void)0)

#endif
