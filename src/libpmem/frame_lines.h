/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frame_lines.h - frames of the log that were written lately, as text.
 *
 * Most call stacks of a snapshot share their outer frames, so a frame is put into words once and copied then.  Bounded: when
 * the room is used up, all are forgotten.  Under LOCK_SNAPSHOT.
 */
#ifndef PMEM_LIBPMEM_FRAME_LINES_H
#define PMEM_LIBPMEM_FRAME_LINES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libpmem/text.h"

/* Appends the text of the frame pc32 when its code lay at address.  False: not known. */
bool frame_lines_copy(struct text *text, uint32_t pc32, uintptr_t address);

/* Remembers what was appended to text from start on. */
void frame_lines_keep(const struct text *text, size_t start, uint32_t pc32, uintptr_t address);

/* Forgets all, in a forked child: names and modules begin anew. */
void frame_lines_fork_child(void);

#endif
