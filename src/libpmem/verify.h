/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * verify.h - the verification build: every capture compared with a plain full walk by call frame
 * information, and a sample with backtrace(3), an unwinder that shares nothing with ours.
 *
 * Nothing of it is left in a build without PMEM_VERIFY.
 */
#ifndef PMEM_LIBPMEM_VERIFY_H
#define PMEM_LIBPMEM_VERIFY_H
#include <stdint.h>

#include "config.h"
#include "libpmem/text.h"
#include "libpmem/thread.h"

#if PMEM_VERIFY

/* Loads what backtrace(3) loads at its first call; in the constructor. */
void verify_init(void);

/* Compares call stack stack_id, captured at the hook frame fp, with other walks. */
void verify_capture(struct thread *thread, const uintptr_t *fp, uint32_t stack_id);

/* Appends a line "# verify ..." with the numbers so far. */
void verify_report(struct text *text);

#else

static inline void verify_init(void)
{
}

static inline void verify_capture(struct thread *thread, const uintptr_t *fp, uint32_t stack_id)
{
	(void)thread, (void)fp, (void)stack_id;
}

static inline void verify_report(struct text *text)
{
	(void)text;
}

#endif
#endif
