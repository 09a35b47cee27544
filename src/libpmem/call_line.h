/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * call_line.h - a call stack on one line: its innermost frames, by ELF symbols.
 *
 * Under LOCK_SNAPSHOT only, which the names are under.
 */
#ifndef PMEM_LIBPMEM_CALL_LINE_H
#define PMEM_LIBPMEM_CALL_LINE_H
#include <stdint.h>

#include "libpmem/text.h"

/* " insert < handle_request < worker". */
void call_line_put(struct text *text, uint32_t id);

#endif
